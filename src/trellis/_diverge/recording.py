"""What a run of a program did, call by call: as NumPy arrays, which can be kept in a file."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._core import tree
from .._core.container import Container
from .._core.dispatch import backend_of, current_backend, load
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.files import read_arrays, write_arrays
from .._core.typing import Array, Backend
from .._random import stream as streams
from .._recording import RecordedArray, Recorder, is_function, recording
from .._recording.modules import modules_of
from ..convert.module import narrowed
from ..nn import Module

_FORMAT = "trellis recording 1"
NO_CALL = "what the program returns is no call"


@dataclass
class Call:
    """One call of a recorded run; arrays are NumPy's."""

    op: str
    public: str  # the public function that made it; empty for an operator
    group: int  # calls of one public function share the number
    where: str
    module: str
    variables: list[str]  # key paths of those among its arguments
    outputs: list[Any]
    gradients: list[Any] = field(default_factory=list)  # of its float inputs, in order
    remark: str = ""  # why there is nothing to compare
    live: Any = None  # the function and its arguments, while the run is at hand

    @property
    def name(self) -> str:
        """What a reader knows it by: the public function, and what it calls inside."""
        inner = self.op.rpartition(".")[2]
        if not self.public or self.public == inner:
            return self.op if "." in self.op else inner
        return f"{self.op} in {self.public}"


@dataclass
class Recording:
    """All calls of one run, and what it was run with."""

    backend: str
    calls: list[Call]
    versions: dict[str, str] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a safetensors file with JSON in its header; nothing is pickled."""
        arrays: dict[str, Any] = {}
        described = []
        for i, call in enumerate(self.calls):
            for kind, found in (("output", call.outputs), ("gradient", call.gradients)):
                arrays |= {f"{i}/{kind}/{j}": np.asarray(x) for j, x in enumerate(found)}
            text = {k: x for k, x in vars(call).items() if k not in ("outputs", "gradients")}
            text["live"] = None
            described.append({**text, "counts": [len(call.outputs), len(call.gradients)]})
        head = {"backend": self.backend, "versions": self.versions, "calls": described}
        write_arrays(path, arrays, {"format": _FORMAT, "recording": json.dumps(head)})


def load_recording(path: str | os.PathLike[str], /) -> Recording:
    """A recording that `Recording.save` has written."""
    arrays, metadata = read_arrays(path)
    if metadata.get("format") != _FORMAT:
        raise ArgumentError(
            f"{os.fspath(path)} is not a recording of this version. `trellis diverge record` "
            "writes one."
        )
    try:
        return _rebuilt(json.loads(metadata["recording"]), arrays)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ArgumentError(
            f"{os.fspath(path)} is damaged: its header is invalid ({error!r})."
        ) from None


def _rebuilt(head: Any, arrays: Mapping[str, Any]) -> Recording:
    calls = []
    for i, text in enumerate(head["calls"]):
        outputs, gradients = text.pop("counts")
        text = {key: x for key, x in text.items() if key != "live"}
        kinds = {"op": str, "public": str, "group": int, "where": str, "module": str, "remark": str}
        wrong = [key for key, kind in kinds.items() if not isinstance(text.get(key, kind()), kind)]
        if wrong or not all([isinstance(name, str) for name in text["variables"]]):
            raise TypeError(f"call {i} is not described")
        calls.append(
            Call(
                **text,
                outputs=[arrays[f"{i}/output/{j}"] for j in range(outputs)],
                gradients=[arrays[f"{i}/gradient/{j}"] for j in range(gradients)],
            )
        )
    versions = {str(key): str(x) for key, x in head["versions"].items()}
    return Recording(str(head["backend"]), calls, versions)


def record(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    *,
    backend: str | None = None,
    gradients: bool = False,
) -> Recording:
    """Run `fn(*args)` on a framework, that of the arrays if none is named, and keep the result of
    each call.

    Arguments, variables and buffers of the modules that `fn` uses are moved there; nothing on the
    modules changes. Draws without a key begin with the same key in each recording.

    >>> import numpy as np, trellis
    >>> from trellis._diverge.recording import record
    >>> [call.op for call in record(lambda x: trellis.exp(x) + 1, (np.ones(3),)).calls]
    ['exp', 'add']
    """
    if not callable(fn):
        raise ArgumentTypeError(
            f"A recording needs a function and its arguments, got {type(fn).__name__}. "
            "Write trellis.diverge(fn, (x,)), not trellis.diverge(fn(x))."
        )
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    modules = modules_of(fn)
    arrays = [x for x in tree.leaves(list(args)) if hasattr(x, "dtype")]
    for module in modules.values():
        arrays += tree.leaves(module.v) if module.built else []
    name = backend or (backend_of(arrays[0]) if arrays else current_backend())
    listener = Listener(name, gradients)
    given = [
        listener.variables_of(chain, module, len(modules)) for chain, module in modules.items()
    ]
    inputs = [listener.brought(x) for x in args]
    with recording(listener, given), streams.stream(0):
        outputs = fn(*inputs)
    listener.finish(outputs)
    return Recording(name, listener.calls, _versions(name))


class Listener(Recorder):
    """Keeps what each call gives."""

    moves = True

    def __init__(self, name: str, with_gradients: bool):
        super().__init__(name)
        self.calls: list[Call] = []
        self._with_gradients = with_gradients
        self._last: list[Any] = []  # what the last call gave

    def variables_of(
        self, name: str, module: Module, count: int
    ) -> tuple[Module, Container, Container]:
        """The variables and buffers of a module in this framework, each with its key path."""
        prefix = f"{name}/" if count > 1 else ""
        v = tree.map_with_key_chains(lambda chain, x: self.brought(x, prefix + chain), module.v)
        buffers = tree.map_with_key_chains(
            lambda chain, x: self.brought(x, prefix + chain), module.buffers
        )
        return module, Container(v), Container(buffers)

    def brought(self, nest: object, note: str | None = None) -> Any:
        """A pytree of arrays as recorded ones of this framework."""
        if tree.is_nest(nest):
            if isinstance(nest, dict):
                return tree.map_with_key_chains(lambda chain, x: self.brought(x, chain), nest)
            return tree.map(lambda x: self.brought(x, note), nest)
        if not hasattr(nest, "dtype"):
            return nest
        return RecordedArray(moved_array(nest, self.name), self, note)

    def saw(self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
            result: object) -> Any:  # fmt: skip
        if name == "astype" and isinstance(args[0], RecordedArray) and result is args[0].native:
            return args[0]
        place = self.places.find()
        given = [x for x in tree.leaves([list(args), dict(kwargs)]) if isinstance(x, RecordedArray)]
        chains = [x.note for x in given if isinstance(x.note, str)]
        call = Call(
            name, place.public, place.call, place.where, place.module, chains, self._seen(result)
        )
        call.live = (fn, self.natives(tuple(args)), self.natives(dict(kwargs)))
        if self._with_gradients:
            call.gradients = gradients_of(self.xp, *call.live)
        self.calls.append(call)
        self._last = self._arrays(result)
        return self.recorded(result, lambda x: RecordedArray(x, self))

    def finish(self, outputs: object) -> None:
        """What the program returns, as a last step where it is not what the last call gave."""
        found = self._arrays(self.natives(outputs))
        if [id(x) for x in found] != [id(x) for x in self._last]:
            seen = [as_numpy(self.xp, x) for x in found]
            self.calls.append(Call("return", "", -1, "", "", [], seen))

    def _seen(self, nest: object) -> list[Any]:
        return [as_numpy(self.xp, x) for x in self._arrays(nest)]

    def _arrays(self, nest: object) -> list[Any]:
        found: list[Any] = []
        self.recorded(nest, lambda x: found.append(x) or x)  # type: ignore[func-returns-value]
        return found


def as_numpy(xp: Any, x: Any) -> Any:
    """The values of an array now; a copy, since programs may write into theirs."""
    return np.array(xp.to_numpy(x))


def moved_array(x: Any, name: str) -> Any:
    """An array in another framework; 64-bit integers become narrower where it has none."""
    if backend_of(x) == name:
        return x
    source: Any = load(backend_of(x))
    target: Any = load(name)
    return target.from_numpy(np.array(narrowed(source.to_numpy(x), name)))


def gradients_of(
    xp: Backend, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any]:
    """The gradients of one call by its float inputs, for the same upstream gradients everywhere."""
    slots = tree.leaves([list(args), dict(kwargs)])
    floats = [x for x in slots if _is_float(xp, x)]
    if not floats or any([is_function(x) for x in slots]):
        return []
    shape = tree.structure([list(args), dict(kwargs)])

    def run(xs: list[Any]) -> tuple[list[Any], Any]:
        left = list(xs)
        filled = [left.pop(0) if _is_float(xp, slot) else slot for slot in slots]
        new_args, new_kwargs = tree.unflatten(shape, filled)
        result = fn(*_retuple(args, new_args), **new_kwargs)
        outputs = [x for x in tree.leaves([result]) if hasattr(x, "dtype")]
        return [x for x in outputs if _is_inexact(xp, x)], None

    outputs, _, pull = xp.vjp(run, floats)
    if not outputs:
        return []
    upstream = []
    for y in outputs:
        wave = np.cos(np.arange(int(np.prod(y.shape)), dtype="float64")).reshape(tuple(y.shape))
        upstream.append(xp.astype(xp.from_numpy(wave.astype("float32")), y.dtype))
    return [as_numpy(xp, g) for g in pull(upstream)]


def _retuple(old: Any, new: Any) -> Any:
    """Named tuples among the arguments, which a pytree of lists has lost."""
    return [
        type(x)(*y) if isinstance(x, tuple) and hasattr(x, "_fields") else y
        for x, y in zip(old, new, strict=True)
    ]


def _is_float(xp: Backend, x: Array) -> bool:
    return isinstance(x, xp.ARRAY_TYPES) and _is_inexact(xp, x)


def _is_inexact(xp: Backend, x: Array) -> bool:
    return x.dtype in xp.FLOAT_DTYPES


def _versions(name: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    import trellis

    try:
        return {"trellis": trellis.__version__, name: version(name)}
    except PackageNotFoundError:
        return {"trellis": trellis.__version__}
