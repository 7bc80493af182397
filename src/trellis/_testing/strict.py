"""Arrays that must not be written to, and must not become NumPy arrays unasked, while a test runs.

What turns an array into one of NumPy is found where NumPy does it: in `np.asarray` and `np.array`,
in NumPy's ufuncs and functions, and in `__array__`. Trellis and the framework itself may do so
(`trellis.to_numpy` is how a program asks for it), the code under test may not.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

from .._core import tree as trees
from .._core.dispatch import load

# `np.float64(2) * x` asks the ufunc first once its class has `__array_ufunc__`; this is the method
# that NumPy would have left the call to.
_REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__",
    "power": "__rpow__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "equal": "__eq__",
    "not_equal": "__ne__",
}
# Functions that look at a shape or a type, and at no element.
_LOOK_ONLY = ("shape", "ndim", "size", "result_type", "can_cast", "iscomplexobj", "isrealobj")
_CONVERTERS = ("asarray", "array", "asanyarray", "ascontiguousarray")


class Inputs:
    """What a test gave to the code under test, to be compared at its end."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, np.ndarray, Callable[[Any], np.ndarray]]] = []

    def keep(self, x: Any, backend: str) -> Any:
        """Note what `x` holds; NumPy's arrays become read-only, so that the write itself fails."""
        xp = load(backend)
        if backend == "numpy":
            x = np.array(x)
            x.setflags(write=False)
        self._made.append((x, np.array(xp.to_numpy(x)), xp.to_numpy))
        return x

    def check(self) -> None:
        """Fail if one of them was written to."""
        for x, before, to_numpy in self._made:
            after = np.asarray(to_numpy(x))
            if before.tobytes() != np.ascontiguousarray(after).tobytes():
                pytest.fail(
                    "an array of make_array was written to: it held "
                    f"{_short(before)}, and holds {_short(after)}. Write "
                    "trellis.at(x, i).set(value), which returns a new array.",
                    pytrace=False,
                )


def forbid_transfers(backend: str, patch: pytest.MonkeyPatch) -> None:
    """From now on, NumPy does not convert arrays of `backend` for the code under test."""
    if backend == "numpy":
        return
    xp = load(backend)
    cls = type(xp.asarray(0.0))
    # Their own package, and that of the functions beside them: keras, jaxlib.
    free = {"trellis", backend, cls.__module__.partition(".")[0], "keras", "_pytest"}

    original = cls.__array__

    def check(what: str) -> None:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and _package(frame) in ("numpy", __name__):
            frame = frame.f_back
        if frame is not None and _package(frame) not in free:
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            raise AssertionError(
                f"{what} got an array of {backend}, in {place}: NumPy works on a copy of it, "
                "without its gradient and its device. Write the function of trellis of that name, "
                "or trellis.to_numpy(x) where a NumPy array is meant."
            )

    def of_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        # Comparisons make an array without axes of a NumPy scalar.
        is_number = isinstance(inputs[0], np.generic | np.ndarray) and inputs[0].shape == ()
        is_reflected = is_number and len(inputs) == 2 and inputs[1] is self
        if is_reflected and method == "__call__" and ufunc.__name__ in _REFLECTED and not options:
            return getattr(type(self), _REFLECTED[ufunc.__name__])(self, inputs[0][()])
        check(f"np.{ufunc.__name__}")
        return getattr(ufunc, method)(*[_native(x, cls, xp) for x in inputs], **options)

    def of_function(self: Any, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function.__name__ not in _LOOK_ONLY:
            check(f"np.{function.__name__}")
        plain, named = trees.map(lambda x: _native(x, cls, xp), (tuple(args), dict(options)))
        return function(*plain, **named)

    def of_array(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
        check("__array__")
        return np.array(original(self), dtype, copy=copy)

    patch.setattr(cls, "__array_ufunc__", of_ufunc, raising=False)
    patch.setattr(cls, "__array_function__", of_function, raising=False)
    patch.setattr(cls, "__array__", of_array, raising=False)
    for name in _CONVERTERS:
        patch.setattr(np, name, _watched(getattr(np, name), name, cls, check))


def _watched(convert: Any, name: str, cls: type, check: Callable[[str], None]) -> Any:
    def watched(*args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], cls):
            check(f"np.{name}")
        return convert(*args, **options)

    return watched


def _native(x: Any, cls: type, xp: Any) -> Any:
    return xp.to_numpy(x) if isinstance(x, cls) else x


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__", "")
    return __name__ if name == __name__ else str(name).partition(".")[0]


def _short(x: np.ndarray) -> str:
    return np.array2string(x, threshold=6, edgeitems=2, max_line_width=100).replace("\n", "")
