"""Sums, products, extremes and moments, on NumPy.

NumPy takes axis 0 and -1 for an array without axes; `normal_axes` raises for them, on all backends.
"""

import math
from typing import Any

import numpy as np

from ..._core.guards import unordered
from ..._core.shapes import check_order, normal_axes, normal_axis
from ._helpers import BFLOAT16, FLOAT32, common, default_float, is_bfloat16, rounded, widened
from .casting import as_dtype


def _floating(x: Any) -> Any:
    """Integers take the default float where a formula needs floats."""
    return x.astype(default_float()) if x.dtype.kind in "iub" else x


def _accumulates_bfloat16(x: Any, dtype: Any) -> bool:
    """Whether a sum ends in bfloat16: it runs in float32 and is rounded once."""
    return dtype == BFLOAT16 if dtype is not None else is_bfloat16(x)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    dtype = as_dtype(dtype)
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if _accumulates_bfloat16(x, dtype):
        wide = np.cumulative_prod(x.astype("f4"), axis=axis, include_initial=include_initial)
        return rounded(wide)
    return np.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    dtype = as_dtype(dtype)
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if _accumulates_bfloat16(x, dtype):
        wide = np.cumulative_sum(x.astype("f4"), axis=axis, include_initial=include_initial)
        return rounded(wide)
    return np.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "c":
        raise unordered("max")
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    return np.max(x, axis=axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "c":
        raise unordered("min")
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    return np.min(x, axis=axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if x.dtype is FLOAT32:
        return np.mean(x, axis=axis, keepdims=keepdims)
    if is_bfloat16(x):
        return rounded(np.mean(widened(x), axis=axis, keepdims=keepdims))
    return np.mean(_floating(x), axis=axis, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    dtype = as_dtype(dtype)
    if _accumulates_bfloat16(x, dtype):
        return rounded(np.prod(x.astype("f4"), axis=axis, keepdims=keepdims))
    return np.prod(x, axis=axis, dtype=dtype, keepdims=keepdims)


# What `np.sum` calls on a plain array, without its Python overhead, which is half of a call.
_np_add_reduce = np.add.reduce


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if dtype is None and x.dtype is FLOAT32:
        if type(x) is np.ndarray:
            return _np_add_reduce(x, axis=axis, keepdims=keepdims)
        return np.sum(x, axis=axis, keepdims=keepdims)
    dtype = as_dtype(dtype)
    if _accumulates_bfloat16(x, dtype):
        return rounded(np.sum(x.astype("f4"), axis=axis, keepdims=keepdims))
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if is_bfloat16(x):
        return rounded(std(widened(x), axis=axis, correction=correction, keepdims=keepdims))
    result = np.std(_floating(x), axis=axis, correction=correction, keepdims=keepdims)
    return _of_enough(result, x, axis, correction)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if is_bfloat16(x):
        return rounded(var(widened(x), axis=axis, correction=correction, keepdims=keepdims))
    result = np.var(_floating(x), axis=axis, correction=correction, keepdims=keepdims)
    return _of_enough(result, x, axis, correction)


def _of_enough(result: Any, x: Any, axis: Any, correction: float) -> Any:
    """nan, as in the standard, if there are too few elements for a variance."""
    if correction < 1 and x.size:
        return result
    count = math.prod([x.shape[a] for a in normal_axes(axis, x.ndim)])
    return result if count > correction else result * np.nan


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    return np.all(x, axis=axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    return np.any(x, axis=axis, keepdims=keepdims)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    axis = normal_axis(axis, x.ndim)
    check_order(n)
    parts = common([part for part in (prepend, x, append) if part is not None])
    return np.diff(np.concat(tuple(parts), axis=axis) if len(parts) > 1 else x, n=n, axis=axis)


def logsumexp(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    from ._tape import stop

    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if is_bfloat16(x):
        return rounded(logsumexp(widened(x), axis=axis, keepdims=keepdims))
    x = _floating(x)
    # The sum of no elements is 0, and its logarithm -inf. For complex numbers the real part
    # decides.
    peak = np.max(np.real(stop(x)), axis=axis, keepdims=True, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, np.zeros((), dtype=peak.dtype))
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(x - peak), axis=axis, keepdims=keepdims))
    return total + (peak if keepdims else np.reshape(peak, total.shape))
