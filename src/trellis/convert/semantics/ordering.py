"""Medians, searches and runs of equal numbers as torch defines them."""

from typing import Any

import trellis as t

from ..._core.typing import Array


def median(x: Array, /, *, axis: int, ignore_nan: bool = False) -> tuple[Any, Any]:
    """The lower one of the middle elements along an axis, and where it stands; the axis stays.

    nan where there is one, unless it is ignored.

    >>> import numpy as np
    >>> median(np.array([3.0, 1.0, 2.0, 4.0]), axis=0)
    (array([2.]), array([2]))
    """
    order = t.argsort(x, axis=axis)
    middle = (x.shape[axis] - 1) // 2
    if "float" in str(t.dtype(x)):
        is_number = t.logical_not(t.isnan(x))
        numbers = t.sum(t.astype(is_number, "int32"), axis=axis, keepdims=True)
        if ignore_nan:
            place = t.maximum(t.floor_divide(numbers - 1, 2), 0)
        else:  # nan comes last, after all numbers
            place = t.where(t.less(numbers, x.shape[axis]), numbers, middle)
        index = t.take_along_axis(order, place, axis=axis)
    else:
        key = (slice(None),) * (axis % len(x.shape)) + (slice(middle, middle + 1),)
        index = order[key]
    return t.take_along_axis(x, index, axis=axis), index


def searchsorted_rows(edges: Array, values: Array, /, *, side: str) -> Any:
    """Where each value belongs in the sorted row of `edges` with the same leading indices.

    >>> import numpy as np
    >>> searchsorted_rows(np.array([[1, 3], [5, 7]]), np.array([[2], [8]]), side="left")
    array([[1],
           [2]])
    """
    rows, wanted = t.expand_dims(edges, axis=-2), t.expand_dims(values, axis=-1)
    is_after = t.greater_equal(rows, wanted) if side == "left" else t.greater(rows, wanted)
    return t.sum(t.astype(t.logical_not(is_after), "int32"), axis=-1)


def runs(x: Array, /) -> tuple[Any, Any, Any]:
    """The first of each run of equal elements, the run of each element, and how long each is.

    >>> import numpy as np
    >>> runs(np.array([1, 1, 2, 1]))
    (array([1, 2, 1]), array([0, 0, 1, 2]), array([2, 1, 1]))
    """
    flat = t.reshape(x, (-1,))
    is_first = t.concat([t.ones_like(flat[:1], dtype="bool"), t.not_equal(flat[1:], flat[:-1])])
    starts = t.nonzero(is_first)[0]
    run = t.cumulative_sum(t.astype(is_first, t.dtype(starts)), axis=0) - 1
    end = t.full((1,), flat.shape[0], dtype=t.dtype(starts), backend=t.backend_of(x))
    counts = t.diff(t.concat([starts, end]))
    return t.take(flat, starts, axis=0), t.reshape(run, tuple(x.shape)), counts
