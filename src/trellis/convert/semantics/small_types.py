"""Types of 2, 4, 6 and 8 bits, which only NumPy (with ml_dtypes) has; and bits read as others."""

from typing import Any

import numpy as np

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.errors import NotSupportedError
from ..._core.typing import Array

_CANONICAL = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    | {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"}
)


def numpy_dtype(name: str) -> Any:
    """NumPy's type of that name, with those of ml_dtypes among them."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))


def cast_small(x: Array, dtype: str, /, *, saturate: bool = True, round_mode: str = "up") -> Any:
    """`x` in a type of a few bits, or from one.

    Numbers beyond the largest become it if `saturate`, else what the type has for overflow.
    """
    if not isinstance(x, (np.ndarray, np.generic)):
        name = t.backend_of(x)
        raise NotSupportedError(
            f"{name} does not compute with {dtype}; convert this model to='numpy', or keep its "
            "numbers in float16 or int8."
        )
    kind = numpy_dtype(dtype)
    x = np.asarray(x)
    if dtype in _CANONICAL:
        return _from_small(x, kind)
    if "int" in dtype:
        wide = x.astype(np.int64) if x.dtype.kind in "iub" else np.trunc(x.astype(np.float64))
        return wide.astype(np.int64).astype(kind)
    return _to_small_float(x.astype(np.float32), dtype, kind, saturate, round_mode)


def bit_cast(x: Array, dtype: str, /) -> Any:
    """The bits of each element read as another type of the same size."""
    kind = numpy_dtype(dtype)
    found = np.ascontiguousarray(t.to_numpy(x)).view(kind).reshape(tuple(x.shape))
    xp = xp_of(x)
    return found if isinstance(x, np.ndarray) else xp.from_numpy(found)


def cast_like(x: Array, y: Array, /) -> Any:
    """`x` in the type of `y`."""
    return t.astype(x, t.dtype(y), copy=False)


def shifted(x: Array, y: Array, /, *, right: bool) -> Any:
    """The bits of signed integers moved; by less than 0 or more than there are, all leave.

    >>> import numpy as np
    >>> shifted(np.array([-8, 8], "int8"), np.array([1, -1], "int8"), right=True)
    array([-4,  0], dtype=int8)
    """
    kind = t.dtype(x)
    fits = (y >= 0) & (y < t.iinfo(kind).bits)
    count = t.where(fits, y, 0)
    if right:
        gone = t.where(x < 0, t.full_like(x, -1), t.zeros_like(x))
        return t.where(fits, t.bitwise_right_shift(x, count), gone)
    return t.where(fits, t.bitwise_left_shift(x, count), t.zeros_like(x))


def _from_small(x: np.ndarray, kind: np.dtype) -> Any:
    if kind.kind in "iub":
        return x.astype(np.float32).astype(kind) if x.dtype.kind == "V" else x.astype(kind)
    return x.astype(np.float32).astype(kind)


def _to_small_float(
    x: np.ndarray, name: str, kind: np.dtype, saturate: bool, round_mode: str
) -> Any:
    import ml_dtypes

    if name == "float8_e8m0fnu":
        return _to_powers(x, kind, saturate, round_mode)
    limits = ml_dtypes.finfo(kind)
    if saturate or name.startswith(("float4", "float6")):
        largest = float(limits.max)
        # Infinities are numbers beyond the largest, too; nan stays.
        clipped = np.clip(x, -largest, largest)
        return np.where(np.isnan(x), x, clipped).astype(kind)
    return x.astype(kind)


def _to_powers(x: np.ndarray, kind: np.dtype, saturate: bool, round_mode: str) -> Any:
    """Powers of two: 8 bits of exponent and nothing else."""
    with np.errstate(all="ignore"):
        size = np.abs(x.astype(np.float64))
        power = np.log2(np.where(size > 0, size, 1.0))
        power = {"up": np.ceil, "down": np.floor, "nearest": np.rint}[round_mode](power)
        power = np.where(size == 0, -127, power)
        code = np.clip(power + 127, 0, 254)
        code = np.where(np.isfinite(x), code, 254 if saturate else 255)
        code = np.where(np.isnan(x), 255, code)
    return code.astype(np.uint8).view(kind)
