"""Reductions: sums, extremes, moments, and running sums."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..._core.dtypes import default_dtype
from ..._core.guards import unordered
from ..._core.shapes import check_order
from ._promotion import common
from ._types import Array
from .casting import as_dtype


def _floats(x: Array) -> Any:
    # With 64-bit types on, JAX would compute the mean of integers in float64.
    return x.astype(as_dtype(default_dtype())) if x.dtype.kind in "iub" else x


def _truth(x: Array) -> Any:
    """A cast to bool, as in jnp.any, uses only the real part of a complex number."""
    return x != 0 if x.dtype.kind == "c" else x


def all(x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    return jnp.all(_truth(x), axis, keepdims=keepdims)


def any(x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    return jnp.any(_truth(x), axis, keepdims=keepdims)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    dtype = as_dtype(dtype)
    if dtype is None:
        # Passed explicitly, because JAX does not widen small integers when the initial 1 is
        # included.
        dtype = jax.eval_shape(jnp.prod, x).dtype
    return jnp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    return jnp.cumulative_sum(x, axis=axis, dtype=as_dtype(dtype), include_initial=include_initial)


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Any:
    check_order(n)
    parts = common([part for part in (prepend, x, append) if part is not None])
    return jnp.diff(jnp.concat(parts, axis=axis) if len(parts) > 1 else x, n, axis)


def logsumexp(
    x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Any:
    return jax.scipy.special.logsumexp(_floats(x), axis=axis, keepdims=keepdims)


def _with_nan(x: Array, extreme: Any, axis: Any, keepdims: bool) -> Any:
    """XLA's kernels for large arrays leave nan out, on processors (JAX 0.10): it is looked for.

    They begin with 4,096 elements. One pass more costs less than a reduction of nan with numbers.
    """
    if x.dtype.kind not in "fV" or (isinstance(x.size, int) and x.size < 1024):
        return extreme
    return jnp.where(jnp.any(jnp.isnan(x), axis, keepdims=keepdims), jnp.nan, extreme)


def max(x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "c":
        raise unordered("max")
    return _with_nan(x, jnp.max(x, axis, keepdims=keepdims), axis, keepdims)


def mean(x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    return jnp.mean(_floats(x), axis, keepdims=keepdims)


def min(x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "c":
        raise unordered("min")
    return _with_nan(x, jnp.min(x, axis, keepdims=keepdims), axis, keepdims)


def prod(
    x: Array,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    dtype: Any = None,
    keepdims: bool = False,
) -> Any:
    return jnp.prod(x, axis, dtype=as_dtype(dtype), keepdims=keepdims)


def std(
    x: Array,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Any:
    variance = jnp.var(_floats(x), axis, correction=correction, keepdims=keepdims)
    # The square root has no derivative at 0; the gradient there is 0 here, not NaN.
    is_zero = variance == 0
    return jnp.where(is_zero, 0, jnp.sqrt(jnp.where(is_zero, 1, variance)))


def sum(
    x: Array,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    dtype: Any = None,
    keepdims: bool = False,
) -> Any:
    return jnp.sum(x, axis, dtype=as_dtype(dtype), keepdims=keepdims)


def var(
    x: Array,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Any:
    return jnp.var(_floats(x), axis, correction=correction, keepdims=keepdims)
