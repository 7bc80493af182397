"""One call on one backend: eager, compiled, and its derivatives."""

import contextlib
import operator
import warnings
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

import trellis
from conftest import compile_with

from .call import Call, Given, replaced

MODES = ("eager", "compiled", "gradient")


@dataclass(frozen=True)
class Leaf:
    """One array of an answer, out of its framework."""

    values: np.ndarray
    dtype: str
    backend: str


@dataclass(frozen=True)
class Answer:
    leaves: list[Leaf]
    # The pytree around the leaves, and what in it is no array.
    form: str


@dataclass(frozen=True)
class Refusal:
    error: Exception

    def __str__(self) -> str:
        first = (str(self.error).strip() or "no text").splitlines()[0]
        return f"{type(self.error).__name__}: {first[:110]}"


def outcome(call: Call, backend: str, mode: str) -> Answer | Refusal:
    """What the backend answers, or why it refuses."""
    runner = {"eager": _eager, "compiled": _compiled, "gradient": _gradient}[mode]
    with _quiet(backend):
        xp = trellis.namespace(backend)
        try:
            arrays = [xp.from_numpy(_writeable(given, backend)) for given in call.given()]
            return _answer(runner(call, backend, arrays))
        except Exception as error:  # whatever a framework raises is an outcome
            return Refusal(error)


def _writeable(given: Given, backend: str) -> np.ndarray:
    """torch keeps the strides of memory that it may write to, and copies all other."""
    array = given.array()
    if backend == "torch" and given.layout in ("transposed", "stepped"):
        array = array.copy(order="K") if given.layout == "transposed" else _stepped(array)
    return array


def _stepped(array: np.ndarray) -> np.ndarray:
    if not array.ndim:
        return array
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def _invoke(call: Call, arrays: list[Any], are_scalars: bool = False) -> Any:
    args, kwargs = replaced((call.args, call.kwargs), list(arrays))
    if are_scalars:
        kwargs = {name: _as_numpy_scalars(value) for name, value in kwargs.items()}
    fn = call.invoke or operator.attrgetter(call.op)(trellis)
    result = fn(*args, **kwargs)
    return result if call.then is None else call.then(result)


def _as_numpy_scalars(value: Any) -> Any:
    kinds = {bool: np.bool_, int: np.int64}
    if type(value) in (list, tuple):
        return type(value)([_as_numpy_scalars(item) for item in value])
    return kinds[type(value)](value) if type(value) in kinds else value


def _eager(call: Call, backend: str, arrays: list[Any]) -> Any:
    """The call itself; axes, sizes and flags of every other call are NumPy scalars.

    Only here: what torch.compile finds of NumPy in a function, it makes into tensors.
    """
    return _invoke(call, arrays, are_scalars=zlib.crc32(repr(call).encode()) % 2 == 0)


def _compiled(call: Call, backend: str, arrays: list[Any]) -> Any:
    if backend == "torch":
        import torch

        torch._dynamo.reset()
    return compile_with(backend, lambda *traced: _invoke(call, list(traced)))(*arrays)


def _gradient(call: Call, backend: str, arrays: list[Any]) -> Any:
    """The derivatives of a weighted sum of all floats of the result, by all floats of the call."""
    places = [i for i, x in enumerate(arrays) if "float" in str(trellis.dtype(x))]

    def weighted_sum(*floats: Any) -> Any:
        mixed = list(arrays)
        for place, x in zip(places, floats, strict=True):
            mixed[place] = x
        return _weighted(_invoke(call, mixed), backend)

    gradient = trellis.grad(weighted_sum, argnums=tuple(range(len(places))))
    if backend == "jax" and call.compiled:
        # Each step of an eager derivative is a program that XLA compiles by itself: one for all is
        # four times as fast.
        gradient = compile_with(backend, gradient)
    return gradient(*[arrays[place] for place in places])


def _weighted(result: Any, backend: str) -> Any:
    xp = trellis.namespace(backend)
    total = xp.zeros(())
    for leaf in trellis.tree.leaves(result):
        name = str(trellis.dtype(leaf)) if hasattr(leaf, "dtype") else ""
        parts = [leaf] if "float" in name else []
        if "complex" in name:
            parts = [trellis.real(leaf), trellis.imag(leaf)]
        for part in parts:
            shape = tuple(part.shape)
            count = int(np.prod(shape))
            weights = ((np.arange(count) * 3) % 7 + 1).reshape(shape) / 4
            real = name.replace("complex64", "float32").replace("complex128", "float64")
            weights = trellis.astype(xp.from_numpy(weights), real)
            total = trellis.add(total, trellis.sum(trellis.multiply(part, weights)))
    return total


def _answer(result: Any) -> Answer:
    leaves: list[Leaf] = []
    return Answer(leaves, _form(result, leaves))


def _form(value: Any, leaves: list[Leaf]) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_form(v, leaves)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_form(item, leaves) for item in value) + ")"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        array = np.asarray(trellis.to_numpy(value))
        leaves.append(Leaf(array, str(trellis.dtype(value)), trellis.backend_of(value)))
        return "array"
    return repr(value)


@contextlib.contextmanager
def _quiet(backend: str) -> Any:
    """64-bit types on JAX; no warnings, which NumPy gives where a call leaves a domain."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(trellis.using_backend(backend))
        if backend == "jax":
            import jax

            stack.enter_context(jax.enable_x64(True))
        yield
