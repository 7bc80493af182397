"""MLX's data types by name, and the library's promotion for its arrays."""

from typing import Any

import mlx.core as mx
import numpy as np

from trellis.backend import (
    COMPLEX,
    FLOATING,
    default_dtype,
    fitted,
    name_of,
    promote_or_raise,
    result_name,
    with_scalar,
)
from trellis.errors import ArgumentTypeError, DtypeError

array = mx.array
NAMES_OF_TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64"),
)
TYPES: dict[str, Any] = {
    name: mx.bool_ if name == "bool" else getattr(mx, name) for name in NAMES_OF_TYPES
}
NAMES = {native: name for name, native in TYPES.items()}
FLOATS = frozenset([TYPES[name] for name in FLOATING])
COMPLEXES = frozenset([TYPES[name] for name in COMPLEX if name in TYPES])
INEXACT = FLOATS | COMPLEXES
UNSIGNED = frozenset([mx.uint8, mx.uint16, mx.uint32, mx.uint64])
HALVES = frozenset([mx.float16, mx.bfloat16])
BOOL, F32, F64, I64, C64 = mx.bool_, mx.float32, mx.float64, mx.int64, mx.complex64


def dtype_name(dtype: Any, /) -> str:
    """The canonical name of a type of MLX or of another framework."""
    found = NAMES.get(dtype) if isinstance(dtype, mx.Dtype) else name_of(dtype)
    if found not in TYPES:
        reason = " It has no complex numbers of two float64." if found == "complex128" else ""
        raise DtypeError(f"MLX has no data type {found}.{reason} Write one of {', '.join(TYPES)}.")
    return found


def as_dtype(dtype: Any, /) -> Any:
    """The type of MLX for a name or a type of any framework; None stays None."""
    return None if dtype is None else TYPES[dtype_name(dtype)]


def as_float(x: Any) -> Any:
    """Integers and bools in the default float."""
    return x if x.dtype in INEXACT else x.astype(TYPES[str(default_dtype())])


def check_number(value: Any) -> None:
    if not isinstance(value, (bool, int, float, complex)):
        raise ArgumentTypeError(
            f"Expected an array or a Python number, got {value!r} of type {type(value).__name__}."
        )


def real_only(function: str, x: Any) -> Any:
    """The array, unless it has complex numbers."""
    if x.dtype in COMPLEXES:
        raise DtypeError(f"{function}() is for real numbers, got an array of complex ones.")
    return x


def number(value: Any, dtype: Any) -> Any:
    """A Python number as an array of that type; raises for one that does not fit."""
    check_number(value)
    found = fitted(value, NAMES[dtype])
    if isinstance(found, int) and found >= 2**63:  # MLX reads them as signed integers
        return array(np.array(found, np.uint64), dtype=dtype)
    return array(found, dtype=dtype)


def both(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two arguments, one of which may be a number, as arrays of their common type."""
    if type(x1) is array and type(x2) is array:
        a, b = x1.dtype, x2.dtype
        if a == b:
            return x1, x2
        common = TYPES[_known(promote_or_raise(NAMES[a], NAMES[b]))]
        return x1.astype(common), x2.astype(common)
    if type(x1) is array:
        common = TYPES[_known(with_scalar(NAMES[x1.dtype], x2))]
        return x1 if x1.dtype == common else x1.astype(common), number(x2, common)
    if type(x2) is array:
        b, a = both(x2, x1)
        return a, b
    common = TYPES[_known(result_name((x1, x2), as_name=dtype_name))]
    return number(x1, common), number(x2, common)


def two_floats(x1: Any, x2: Any) -> tuple[Any, Any]:
    """The same, in a float type."""
    a, b = both(x1, x2)
    return (a, b) if a.dtype in INEXACT else (as_float(a), as_float(b))


def together(xs: Any) -> list[Any]:
    """Arrays in their common type."""
    first = xs[0].dtype
    for x in xs:
        if x.dtype != first:
            common = TYPES[_known(result_name(tuple(xs), as_name=dtype_name))]
            return [y if y.dtype == common else y.astype(common) for y in xs]
    return list(xs)


def _known(name: str) -> str:
    if name not in TYPES:
        dtype_name(name)  # says so
    return name
