"""Reductions with the corner cases of ONNX: empty arrays, integers, the last of equal elements."""

from collections.abc import Callable
from typing import Any

from ..._array import casting, manipulation, reduction, searching, sorting
from ..._core.dispatch import xp_of
from ..._core.dtypes import FLOATING
from ..._core.shapes import normal_axis
from ..._core.typing import Array
from .numbers import accumulate

Axes = int | tuple[int, ...] | None


def max_or_limit(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The largest element; of none, the lowest number of the type."""
    return _extreme(reduction.max, x, axis, keepdims, is_largest=True)


def min_or_limit(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The smallest element; of none, the highest number of the type."""
    return _extreme(reduction.min, x, axis, keepdims, is_largest=False)


def integer_mean(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The mean of integers, rounded towards zero to one of their type."""
    kind = casting.dtype(x)
    total = reduction.sum(x, axis=axis, keepdims=keepdims)
    count = max(1, _size(x) // max(1, _size(total)))
    return casting.astype(xp_of(x).truncate_divide(total, count), kind, copy=False)


def running_sum(x: Array, /, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Any:
    """Sums up to each element along an axis: without itself, or from the end, if asked for.

    >>> import numpy as np
    >>> running_sum(np.array([1.0, 2.0, 4.0]), axis=0, exclusive=True, reverse=True)
    array([6., 4., 0.])
    """
    return _running(reduction.cumulative_sum, x, axis, exclusive, reverse)


def running_prod(x: Array, /, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Any:
    """Products up to each element along an axis; see `running_sum`."""
    return _running(reduction.cumulative_prod, x, axis, exclusive, reverse)


def last_argmax(x: Array, /, *, axis: int, keepdims: bool = False) -> Any:
    """Where the largest element is along an axis: the last of equal ones."""
    return _last(searching.argmax, x, axis, keepdims)


def last_argmin(x: Array, /, *, axis: int, keepdims: bool = False) -> Any:
    """Where the smallest element is along an axis: the last of equal ones."""
    return _last(searching.argmin, x, axis, keepdims)


def top_k(x: Array, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """The k largest or smallest elements along an axis and their places; of equal ones the first.

    >>> import numpy as np
    >>> top_k(np.array([3, 1, 3, 2]), 2)
    (array([3, 3]), array([0, 2]))
    """
    places = sorting.argsort(x, axis=axis, descending=largest, stable=True)
    index = (slice(None),) * normal_axis(axis, len(x.shape)) + (slice(0, k),)
    places = places[index]
    from ..._array.indexing import take_along_axis

    return take_along_axis(x, places, axis=axis), places


def hardmax(x: Array, /, *, axis: int = -1) -> Any:
    """One at the first largest element along an axis, zero elsewhere."""
    axis = normal_axis(axis, len(x.shape))
    return searching_one_hot(searching.argmax(x, axis=axis), x.shape[axis], axis, casting.dtype(x))


def searching_one_hot(places: Array, size: int, axis: int, kind: str) -> Any:
    from ..._array.creation import one_hot

    return casting.astype(one_hot(places, size, axis=axis, dtype="float32"), kind, copy=False)


def _extreme(
    fn: Callable[..., Any], x: Array, axis: Axes, keepdims: bool, *, is_largest: bool
) -> Any:
    shape = tuple(x.shape)
    axes: Any = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = [normal_axis(a, len(shape)) for a in axes]
    if all([shape[a] != 0 for a in axes]):
        return fn(x, axis=axis, keepdims=keepdims)
    xp = xp_of(x)
    kind = str(casting.dtype(x))
    if kind in FLOATING:
        limit: Any = float("-inf") if is_largest else float("inf")
    elif kind == "bool":
        limit = not is_largest
    else:
        limits = xp.iinfo(kind)
        limit = limits.min if is_largest else limits.max
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
    shape = [1] * len(x.shape)
    shape[axis] = x.shape[axis]
    places = xp.reshape(xp.arange(x.shape[axis], device=xp.device(x)), tuple(shape))
    standing = xp.where(x == values, places, xp.zeros_like(places))
    return values, accumulate(standing, axis=axis, by="max")


def _running(fn: Callable[..., Any], x: Array, axis: int, exclusive: bool, reverse: bool) -> Any:
    axis = normal_axis(axis, len(x.shape))
    kind = casting.dtype(x)
    if reverse:
        x = manipulation.flip(x, axis=axis)
    if exclusive:
        y = fn(x, axis=axis, dtype=kind, include_initial=True)
        y = y[(slice(None),) * axis + (slice(0, -1),)]
    else:
        y = fn(x, axis=axis, dtype=kind)
    return manipulation.flip(y, axis=axis) if reverse else y


def _last(fn: Callable[..., Any], x: Array, axis: int, keepdims: bool) -> Any:
    axis = normal_axis(axis, len(x.shape))
    places = fn(manipulation.flip(x, axis=axis), axis=axis, keepdims=keepdims)
    return x.shape[axis] - 1 - places


def _size(x: Array) -> int:
    total = 1
    for n in x.shape:
        total *= n
    return total
