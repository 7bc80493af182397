"""Reductions with the corner cases of ONNX: empty arrays, integers, the last of equal elements."""

import math
from typing import Any

from ..._array import casting, manipulation, reduction, searching
from ..._array.creation import one_hot
from ..._core.dispatch import xp_of
from ..._core.shapes import normal_axis
from ..._core.typing import Array
from ...functional._layout import along
from .numbers import accumulate, limits_of

Axes = int | tuple[int, ...] | None


def integer_mean(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The mean of integers, rounded towards zero to one of their type."""
    kind = casting.dtype(x)
    total = reduction.sum(x, axis=axis, keepdims=keepdims)
    count = max(1, math.prod(x.shape) // max(1, math.prod(total.shape)))
    return casting.astype(xp_of(x).truncate_divide(total, count), kind, copy=False)


def running(
    x: Array, /, *, axis: int, by: str, exclusive: bool = False, reverse: bool = False
) -> Any:
    """The "sum" or "prod" up to each element along an axis: without itself, or from the end, if
    asked for.

    >>> import numpy as np
    >>> running(np.array([1.0, 2.0, 4.0]), axis=0, by="sum", exclusive=True, reverse=True)
    array([6., 4., 0.])
    """
    fn = reduction.cumulative_sum if by == "sum" else reduction.cumulative_prod
    axis = normal_axis(axis, len(x.shape))
    x = manipulation.flip(x, axis=axis) if reverse else x
    y = fn(x, axis=axis, dtype=casting.dtype(x), include_initial=exclusive)
    y = y[(slice(None),) * axis + (slice(0, -1),)] if exclusive else y
    return manipulation.flip(y, axis=axis) if reverse else y


def last_place(x: Array, /, *, axis: int, keepdims: bool = False, is_largest: bool) -> Any:
    """Where the largest, or smallest, element is along an axis: the last of equal ones."""
    find = searching.argmax if is_largest else searching.argmin
    axis = normal_axis(axis, len(x.shape))
    return x.shape[axis] - 1 - find(manipulation.flip(x, axis=axis), axis=axis, keepdims=keepdims)


def hardmax(x: Array, /, *, axis: int = -1) -> Any:
    """One at the first largest element along an axis, zero elsewhere."""
    axis = normal_axis(axis, len(x.shape))
    chosen = one_hot(searching.argmax(x, axis=axis), x.shape[axis], axis=axis, dtype="float32")
    return casting.astype(chosen, casting.dtype(x), copy=False)


def extreme_or_limit(
    x: Array, /, *, axis: Axes = None, keepdims: bool = False, is_largest: bool
) -> Any:
    """The largest, or smallest, element; of none, the lowest, or highest, number of the type."""
    shape = tuple(x.shape)
    axes: Any = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = [normal_axis(a, len(shape)) for a in axes]
    if all([shape[a] != 0 for a in axes]):
        fn = reduction.max if is_largest else reduction.min
        return fn(x, axis=axis, keepdims=keepdims)
    xp = xp_of(x)
    limit = limits_of(str(casting.dtype(x)))[0 if is_largest else 1]
    sizes = [1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes]
    return xp.full(tuple(sizes), limit, dtype=x.dtype, device=xp.device(x))


def running_extreme(x: Array, /, *, axis: int, is_largest: bool) -> tuple[Any, Any]:
    """The largest, or smallest, element so far along an axis, and where it last stood.

    >>> import numpy as np
    >>> running_extreme(np.array([1.0, 3.0, 2.0, 3.0]), axis=0, is_largest=True)
    (array([1., 3., 3., 3.]), array([0, 1, 1, 3]))
    """
    axis = normal_axis(axis, len(x.shape))
    xp = xp_of(x)
    values = accumulate(x, axis=axis, by="max" if is_largest else "min")
    places = xp.arange(x.shape[axis], device=xp.device(x))
    places = along(xp, places, (axis,), len(x.shape))
    stands = xp.logical_or(x == values, xp.logical_and(x != x, values != values))  # nan too
    standing = xp.where(stands, places, xp.zeros_like(places))
    return values, accumulate(standing, axis=axis, by="max")
