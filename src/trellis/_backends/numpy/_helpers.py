"""Helpers of this backend: the promotion table on native types, and bfloat16 through float32.

bfloat16 comes from ml_dtypes. Its element-wise functions are complete. Sums of many numbers, and
functions for which NumPy has no bfloat16 loop, are computed in float32 and rounded once.
"""

from typing import Any

import ml_dtypes
import numpy as np

from ..._core import dtypes
from ..._core.errors import ArgumentTypeError

BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
FLOAT32: np.dtype[Any] = np.dtype("float32")
NATIVE: dict[str, np.dtype[Any]] = {
    name: BFLOAT16 if name == "bfloat16" else np.dtype(name) for name in ("bool", *dtypes.NUMERIC)
}
_names = {dtype: name for name, dtype in NATIVE.items()}
_promoted = {(NATIVE[a], NATIVE[b]): NATIVE[c] for (a, b), c in dtypes.PROMOTION.items()}
# The standard's integers and bool. bfloat16 has the kind "V" in NumPy.
INTEGERS = "iub"
_numbers = (bool, int, float, complex)


def default_float() -> np.dtype[Any]:
    return NATIVE[str(dtypes.default_dtype())]


def default_complex() -> np.dtype[Any]:
    return NATIVE[str(dtypes.default_complex())]


def name_of(dtype: Any) -> str:
    """`dtype.name`, which NumPy composes anew in each call."""
    return _names.get(dtype) or str(dtype.name)


def promote(a: Any, b: Any) -> np.dtype[Any]:
    """The common native type of both, by the library's promotion table."""
    try:
        return _promoted[a, b]
    except KeyError:
        return NATIVE[dtypes.promote_or_raise(a.name, b.name)]


def cast(x: Any, dtype: Any) -> Any:
    """The array, NumPy scalar or traced array in another type; itself where it has that type."""
    return x if x.dtype == dtype else x.astype(dtype)


def floating(x: Any) -> Any:
    """Integers and bools in the default float, everything else as it is."""
    return x.astype(default_float()) if x.dtype.kind in INTEGERS else x


def pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two arguments, one of which may be a Python number, in their common type."""
    if type(x2) in _numbers:
        return _beside(x1, x2)
    if type(x1) in _numbers:
        x2, x1 = _beside(x2, x1)
        return x1, x2
    _refuse_others(x1, x2)
    if x1.dtype is x2.dtype:
        return x1, x2
    dtype = promote(x1.dtype, x2.dtype)
    return cast(x1, dtype), cast(x2, dtype)


def floating_pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    """`pair` for formulas that need floats."""
    x1, x2 = pair(x1, x2)
    return (
        floating(x1) if hasattr(x1, "dtype") else x1,
        floating(x2) if hasattr(x2, "dtype") else x2,
    )


def common(xs: Any) -> list[Any]:
    """Several arrays, and Python numbers among them, in the common type of all."""
    dtype = None
    for x in xs:
        if type(x) not in _numbers:
            _refuse_others(x)
            dtype = x.dtype if dtype is None else promote(dtype, x.dtype)
    numbers = [x for x in xs if type(x) in _numbers]
    if dtype is None:
        dtype = NATIVE[dtypes.of_numbers(tuple(numbers))]
    for number in numbers:
        dtype = NATIVE[dtypes.with_scalar(name_of(dtype), number)]
    return [of_number(x, dtype) if type(x) in _numbers else cast(x, dtype) for x in xs]


def _beside(x: Any, number: Any) -> tuple[Any, Any]:
    if x.dtype.kind in "fc":
        return x, number  # NumPy's promotion of Python numbers is that of the table
    dtype = NATIVE[dtypes.with_scalar(name_of(x.dtype), number)]
    return cast(x, dtype), of_number(number, dtype)


def of_number(number: Any, dtype: Any) -> Any:
    """An array of a Python number; an integer that the type cannot hold raises."""
    try:
        return np.asarray(number, dtype)
    except OverflowError:
        raise dtypes.refuse_value(number, dtype.name) from None


def _refuse_others(*xs: Any) -> None:
    for x in xs:
        if not hasattr(x, "dtype"):
            raise ArgumentTypeError(
                f"Expected an array or a Python number, got {x!r} of type {type(x).__name__}. "
                "Write trellis.asarray(...) around lists and other objects first."
            )


def is_bfloat16(x: Any) -> bool:
    return bool(x.dtype.kind == "V")


def widened(x: Any) -> Any:
    """bfloat16 in float32, everything else as it is."""
    return x.astype(FLOAT32) if x.dtype.kind == "V" else x


def rounded(x: Any) -> Any:
    """A result of float32 arithmetic as bfloat16."""
    return x.astype(BFLOAT16)
