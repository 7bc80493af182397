"""What signals are made of: their dtype, their axis, and options that are whole numbers."""

from typing import Any

from .._core.arrays import plain
from .._core.dispatch import xp_of
from .._core.dtypes import COMPLEX, FLOATING, default_dtype
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError
from .._core.guards import check_array, check_one_axis, check_rank
from .._core.shapes import normal_axis
from .._core.typing import Backend

WIDE = ("float32", "float64", "complex64", "complex128")
# The parts of complex numbers, and the complex numbers of parts.
REAL_OF = {"float32": "float32", "float64": "float64", "complex64": "float32"}
REAL_OF["complex128"] = "float64"
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


def samples(function: str, x: Any, axis: int = -1) -> tuple[Backend, Any, int]:
    """The backend of a signal, its samples in at least float32, and its axis counted from 0."""
    check_array(x)
    check_one_axis(axis)
    check_rank(function, x, 1)
    xp = xp_of(x)
    return xp, wide(function, xp, x), normal_axis(axis, len(x.shape))


def wide(function: str, xp: Backend, x: Any) -> Any:
    """`x` in float32, float64 or complex; integers in the default float."""
    kind = xp.dtype_name(x.dtype)
    if kind == "bool":
        raise DtypeError(f"{function}() computes with numbers, got an array of bool.")
    if kind in WIDE:
        return x
    if kind in COMPLEX or kind in FLOATING:
        return xp.astype(x, "float32")
    known = str(default_dtype())
    return xp.astype(x, known if known in WIDE else "float32")


def real_kind(xp: Backend, x: Any) -> str:
    """The dtype of the parts of `x`."""
    return REAL_OF[xp.dtype_name(x.dtype)]


def is_complex(xp: Backend, x: Any) -> bool:
    return "complex" in xp.dtype_name(x.dtype)


def known_length(function: str, x: Any, axis: int) -> int:
    length = x.shape[axis]
    if length is None:
        raise ArgumentError(f"{function}() needs a signal of a known length, got {tuple(x.shape)}.")
    return int(length)


def whole(function: str, name: str, value: object, least: int = 1) -> int:
    """An option that counts something."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{function}() expects an integer for {name}, got {value!r}.")
    if value < least:
        raise ArgumentError(f"{function}() expects {name} to be at least {least}, got {value}.")
    return value


def positive(function: str, name: str, value: object) -> float:
    """An option that is a number above 0."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{function}() expects a number for {name}, got {value!r}.")
    if not 0 < value < float("inf"):
        raise ArgumentError(f"{function}() expects {name} to be above 0, got {value}.")
    return float(value)
