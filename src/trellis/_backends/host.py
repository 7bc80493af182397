"""Running a function on the host: arrays are converted to NumPy and back, and so are gradients."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.dispatch import load
from .._core.dtypes import COMPLEX, FLOATING
from .._core.host_fallback import check_host
from .array_api import FFT, Linalg, Native
from .interface import Backend, ListFn, Natives, Random
from .shared.promotion import held

_DIFFERENTIABLE = frozenset(FLOATING + COMPLEX)
_PROTOCOLS: dict[str, Any] = {"": Backend, "fft": FFT, "linalg": Linalg, "random": Random}


def on_host(key: str, backend: Any) -> Callable[..., Any]:
    """The NumPy backend's function of that dotted name, for arrays of another backend.

    Arrays are converted to NumPy and back; it has derivatives of every order.
    `trellis.set_host_fallback(False)` refuses it.

    >>> import numpy as np, trellis, trellis.backend
    >>> svd = trellis.backend.on_host("linalg.svd", trellis.namespace("numpy"))
    >>> svd(np.eye(2)).S
    array([1., 1.])
    """
    found: Any = load("numpy")
    for part in key.split("."):
        found = getattr(found, part)

    @functools.wraps(found)
    def call(*args: Any, **kwargs: Any) -> Any:
        check_host(key, backend.NAME)
        device = kwargs.pop("device", None)
        return _Call(found, args, kwargs, backend, device).run()

    call.__signature__ = _signature(key)  # type: ignore[attr-defined]
    return call


def _signature(key: str) -> inspect.Signature:
    """The signature in the interface."""
    room, _, name = key.rpartition(".")
    method = getattr(_PROTOCOLS[room], name)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return inspect.Signature(parameters)


class _Call:
    """One call, with its arrays separated from its other arguments."""

    def __init__(self, fn: Any, args: Any, kwargs: Any, backend: Any, device: Any):
        self._fn, self._xp = fn, backend
        self._host: Any = load("numpy")
        self._kinds = tuple({type(native) for native in backend.TYPES.values()})
        self._arrays: Natives = []
        self._args = self._parted(args)
        self._kwargs = self._parted(kwargs)
        self._device = device
        if device is None and self._arrays:
            self._device = backend.device(self._arrays[0])

    def run(self) -> Any:
        xp = self._xp
        places = [
            i for i, x in enumerate(self._arrays) if xp.dtype_name(x.dtype) in _DIFFERENTIABLE
        ]
        fixed = [None if i in places else xp.to_numpy(x) for i, x in enumerate(self._arrays)]
        kept: list[Any] = []  # the structure of the result, and its parts without derivatives

        def fn(given: list[Any]) -> list[Any]:
            arrays = list(fixed)
            for i, x in zip(places, given, strict=True):
                arrays[i] = x
            result = self._fn(*_joined(self._args, arrays), **_joined(self._kwargs, arrays))
            found: list[Any] = []
            kept[:] = [_taken_apart(result, found, self._host.ARRAY_TYPES)]
            return found

        if places:
            results = self._hosted(fn)([self._arrays[i] for i in places])
        else:
            results = [self._back(y) for y in fn([])]
        return _joined(kept[0], results, self._back)

    def _hosted(self, fn: ListFn) -> ListFn:
        """A function of NumPy arrays as one of the backend's arrays. Its derivative is such a
        function too, so derivatives of every order exist."""
        host, xp = self._host, self._xp

        def plain(xs: Natives) -> Natives:
            return [self._back(y) for y in fn([xp.to_numpy(x) for x in xs])]

        def rule(xs: Natives, ys: Natives, upstream: list[Native | None]) -> Natives:
            count = len(xs)
            used = [i for i, g in enumerate(upstream) if g is not None]

            def pulled(both: list[Any]) -> list[Any]:
                _, _, pull = host.vjp(lambda leaves: (fn(leaves), None), both[:count])
                cotangents: list[Any] = [None] * len(upstream)
                for i, g in zip(used, both[count:], strict=True):
                    cotangents[i] = g
                return pull(cotangents)  # type: ignore[no-any-return]

            return self._hosted(pulled)([*xs, *[upstream[i] for i in used]])

        return xp.custom_vjp(plain, rule)  # type: ignore[no-any-return]

    def _back(self, y: Any) -> Native:
        return self._xp.from_numpy(held(self._xp, np.asarray(y)), device=self._device)

    def _parted(self, nest: Any) -> Any:
        """The pytree with numbered placeholders for its arrays, and with NumPy's data types."""
        if isinstance(nest, self._xp.ARRAY_TYPES):
            self._arrays.append(nest)
            return _Place(len(self._arrays) - 1)
        if isinstance(nest, self._kinds) and not isinstance(nest, str):
            return self._host.as_dtype(self._xp.dtype_name(nest))
        return _mapped(self._parted, nest)


class _Place:
    """A placeholder for an array in the structure of arguments or results."""

    def __init__(self, number: int):
        self.number = number


class _Constant(_Place):
    """An array of a result that has no derivative."""

    def __init__(self, value: Any):
        self.value = value


def _mapped(fn: Callable[[Any], Any], nest: Any) -> Any:
    if isinstance(nest, tuple):
        items = [fn(item) for item in nest]
        return type(nest)(*items) if hasattr(nest, "_fields") else tuple(items)
    if isinstance(nest, list):
        return [fn(item) for item in nest]
    return {k: fn(item) for k, item in nest.items()} if isinstance(nest, dict) else nest


def _taken_apart(nest: Any, found: list[Any], types: Any) -> Any:
    """The structure of a result; its floats and complex numbers go into `found`."""
    if isinstance(nest, types):
        if nest.dtype.name not in _DIFFERENTIABLE:
            return _Constant(nest)
        found.append(nest)
        return _Place(len(found) - 1)
    return _mapped(lambda item: _taken_apart(item, found, types), nest)


def _joined(nest: Any, arrays: list[Any], back: Callable[[Any], Native] | None = None) -> Any:
    if isinstance(nest, _Constant):
        return nest.value if back is None else back(nest.value)
    if isinstance(nest, _Place):
        return arrays[nest.number]
    return _mapped(lambda item: _joined(item, arrays, back), nest)
