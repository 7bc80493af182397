"""Sums, products, extremes and moments, on NumPy."""

from typing import Any

import numpy as np

from .casting import _default_float, as_dtype

__all__ = [
    "all",
    "any",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "logsumexp",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def _floating(x: Any) -> Any:
    """Integers take the default float where a formula needs floats."""
    return np.astype(x, _default_float()) if x.dtype.kind in "iub" else x


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    return np.cumulative_prod(x, axis=axis, dtype=as_dtype(dtype), include_initial=include_initial)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    return np.cumulative_sum(x, axis=axis, dtype=as_dtype(dtype), include_initial=include_initial)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.max(x, axis=axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.min(x, axis=axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.mean(_floating(x), axis=axis, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return np.prod(x, axis=axis, dtype=as_dtype(dtype), keepdims=keepdims)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return np.sum(x, axis=axis, dtype=as_dtype(dtype), keepdims=keepdims)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return np.std(_floating(x), axis=axis, correction=correction, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return np.var(_floating(x), axis=axis, correction=correction, keepdims=keepdims)


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.all(x, axis=axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.any(x, axis=axis, keepdims=keepdims)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    parts = [part for part in (prepend, x, append) if part is not None]
    return np.diff(np.concat(tuple(parts), axis=axis) if len(parts) > 1 else x, n=n, axis=axis)


def logsumexp(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    from ._tape import stop

    x = _floating(x)
    peak = stop(np.max(x, axis=axis, keepdims=True))
    peak = np.where(np.isfinite(peak), peak, np.zeros((), dtype=peak.dtype))
    total = np.log(np.sum(np.exp(x - peak), axis=axis, keepdims=keepdims))
    return total + (peak if keepdims else np.reshape(peak, total.shape))
