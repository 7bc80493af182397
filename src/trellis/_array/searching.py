"""Where elements are, and which."""

import math
from collections.abc import Sequence
from typing import Any, Literal

from .._core.arrays import shape_of
from .._core.dispatch import xp_of, xp_of_all
from .._core.dtypes import COMPLEX, FLOATING, default_dtype
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from .._core.explain import explain
from .._core.guards import check_array, check_over
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import check_count, normal_axis, one_of
from .._core.typing import A, Array, Backend, Scalar


def argmax(x: A, /, *, axis: int | None = None, keepdims: bool = False) -> A:
    """The index of the largest element, the first of several; of the flattened array if axis is
    None.

    >>> import numpy as np, trellis
    >>> trellis.argmax(np.array([[1, 5], [7, 3]]), axis=1)
    array([1, 0])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).argmax(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, argmax)


def argmin(x: A, /, *, axis: int | None = None, keepdims: bool = False) -> A:
    """The index of the smallest element, the first of several; of the flattened array if axis is
    None.

    >>> import numpy as np, trellis
    >>> trellis.argmin(np.array([[1, 5], [7, 3]]), axis=1)
    array([0, 1])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).argmin(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, argmin)


def count_nonzero(
    x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> A:
    """How many elements are not zero.

    >>> import numpy as np, trellis
    >>> trellis.count_nonzero(np.array([[0, 5], [7, 3]]), axis=1)
    array([1, 2])
    """
    try:
        if (axis is not None and type(axis) is not int) or keepdims is not False:
            check_over(axis, keepdims)
        return xp_of(x).count_nonzero(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, count_nonzero)


def histogram(
    x: A,
    bins: int | Sequence[float] | A,
    /,
    *,
    range: tuple[float, float] | None = None,
    weights: A | None = None,
) -> tuple[A, A]:
    """How many elements of `x` fall into each bin, and the edges of the bins, as NumPy counts them.

    `bins` is the number of equal bins between the two ends of `range` (by default the smallest and
    the largest element), or all the edges in rising order. A bin holds its lower edge, the last one
    its upper edge too; values outside, and nan, are not counted. With `weights`, which have the
    shape of `x`, each element counts as much as its weight; the counts are differentiable in them.

    >>> import numpy as np, trellis
    >>> trellis.histogram(np.array([0.0, 1.0, 1.5, 4.0]), 2)
    (array([3, 1]), array([0., 2., 4.]))
    """
    try:
        if has_nest(x, bins, weights):
            return call_leafwise(histogram, (x, bins), {"range": range, "weights": weights})
        arrays = [each for each in (x, bins, weights) if not isinstance(each, (int, list, tuple))]
        xp = xp_of_all(*arrays)
        y = _flat_floats(xp, x)
        edges = _edges(xp, y, bins, range)
        count = edges.shape[0] - 1
        is_inside = xp.logical_and(y >= edges[0], y <= edges[-1])
        place = xp.searchsorted(xp.stop_gradient(edges), xp.stop_gradient(y), side="right") - 1
        place = xp.where(is_inside, xp.clip(place, 0, count - 1), 0)
        if weights is None:
            amounts = xp.astype(is_inside, xp.arange(1).dtype)
        else:
            if tuple(weights.shape) != tuple(x.shape):
                raise ShapeError(
                    f"histogram() expects weights of the shape of x, got {tuple(weights.shape)} "
                    f"for {tuple(x.shape)}."
                )
            amounts = xp.reshape(weights, (-1,))
            amounts = xp.where(is_inside, amounts, xp.zeros_like(amounts))
        return xp.segment_sum(amounts, place, num_segments=count), edges
    except Exception as error:
        return explain(error, histogram)


def _flat_floats(xp: Backend, x: Array) -> Any:
    kind = xp.dtype_name(x.dtype)
    if kind in COMPLEX:
        raise DtypeError(f"histogram() compares real numbers, got an array of {kind}.")
    y = xp.reshape(x, (-1,))
    return y if kind in FLOATING else xp.astype(y, str(default_dtype()))


def _edges(
    xp: Backend, y: Array, bins: int | Sequence[float] | Array, ends: Sequence[float] | None
) -> Any:
    """The edges of the bins in the type of `y`."""
    is_known = isinstance(bins, (int, list, tuple)) or hasattr(bins, "shape")
    if not is_known or isinstance(bins, bool):
        raise ArgumentTypeError(
            f"histogram() expects the number of bins or an array of their edges, got {bins!r}."
        )
    if not isinstance(bins, int):
        edges = xp.asarray(bins, dtype=y.dtype, device=xp.device(y))
        if len(edges.shape) != 1 or edges.shape[0] is None or edges.shape[0] < 2:
            raise ShapeError(
                f"histogram() expects a vector of at least 2 edges, got {tuple(edges.shape)}."
            )
        if xp.is_concrete(edges) and not bool(xp.all(edges[1:] >= edges[:-1])):
            raise ArgumentError(f"histogram() expects edges in rising order, got {bins!r}.")
        return edges
    if bins < 1:
        raise ArgumentError(f"histogram() expects at least 1 bin, got {bins}.")
    low, high = _ends(xp, y, ends)
    steps = xp.arange(bins + 1, dtype=y.dtype, device=xp.device(y))
    # The last edge is the end itself, whatever the product is rounded to.
    inner = low + steps[:-1] * ((high - low) / bins)
    return xp.concat([inner, xp.reshape(high, (1,))])


def _ends(xp: Backend, y: Array, ends: Sequence[float] | None) -> tuple[Any, Any]:
    if ends is not None:
        low, high = _pair(ends)
        low, high = [xp.asarray(end, dtype=y.dtype, device=xp.device(y)) for end in (low, high)]
    elif y.shape[0] == 0:
        low, high = [xp.asarray(end, dtype=y.dtype, device=xp.device(y)) for end in (0.0, 1.0)]
    else:
        low, high = xp.min(y), xp.max(y)
        if xp.is_concrete(y) and not bool(xp.isfinite(low + high)):
            raise ArgumentError(
                "histogram() cannot find the range of an array with nan or infinities. Write "
                "range=(low, high)."
            )
    is_point = low == high
    return xp.where(is_point, low - 0.5, low), xp.where(is_point, high + 0.5, high)


def _pair(ends: Any) -> tuple[float, float]:
    try:
        low, high = [float(end) for end in ends]
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"histogram() expects range as two numbers, got {ends!r}."
        ) from None
    if not -math.inf < low <= high < math.inf:
        raise ArgumentError(
            f"histogram() expects a range of two finite numbers, the lower first, got {ends!r}."
        )
    return low, high


def nonzero(x: A, /) -> tuple[A, ...]:
    """The indices of the elements that are not zero, one array per axis.

    How many there are depends on the values, so JAX cannot compile it.

    >>> import numpy as np, trellis
    >>> trellis.nonzero(np.array([0, 5, 7]))[0]
    array([1, 2])
    """
    try:
        indices: tuple[A, ...] = xp_of(x).nonzero(x)
        return indices
    except Exception as error:
        return explain(error, nonzero)


def searchsorted(
    x1: A,
    x2: A | Scalar,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: A | None = None,
) -> A:
    """Where elements of `x2` would go in the sorted vector `x1`; before or after equal ones by
    `side`. A stack of vectors needs an equal stack of elements: each is looked for in its own.

    >>> import numpy as np, trellis
    >>> trellis.searchsorted(np.array([1, 3, 5]), np.array([3, 4]))
    array([1, 2])
    """
    try:
        if not isinstance(x1, dict):
            check_array(x1)
            if len(x1.shape) != 1 and not isinstance(x2, dict):
                return _in_stacks(xp_of_all(x1, x2, sorter), x1, x2, side, sorter)
        one_of("searchsorted", "side", side, ("left", "right"))
        xp = xp_of_all(x1, x2, sorter)
        values: Any = x2
        if isinstance(x2, (int, float)) and not isinstance(x1, dict):
            values = xp.asarray(x2, dtype=xp.result_type(x1, x2), device=xp.device(x1))
        return xp.searchsorted(x1, values, side=side, sorter=sorter)
    except Exception as error:
        return explain(error, searchsorted)


def _in_stacks(xp: Backend, x1: Any, x2: Any, side: str, sorter: Any) -> Any:
    """`searchsorted` in each of several vectors, by halving."""
    one_of("searchsorted", "side", side, ("left", "right"))
    shapes = shape_of(x1), shape_of(x2)
    if not shapes[0] or shapes[0][:-1] != shapes[1][:-1] or None in shapes[0]:
        raise ShapeError(
            "searchsorted() looks in a vector, or in stacks that differ in their last axis only, "
            f"got {shapes[0]} and {shapes[1]}."
        )
    dtype = xp.result_type(x1, x2)
    kind = xp.dtype_name(dtype)
    if kind in COMPLEX:
        raise DtypeError("searchsorted() of complex numbers, which have no order.")
    rows, values = [
        xp.stop_gradient(xp.astype(x, "uint8" if kind == "bool" else dtype)) for x in (x1, x2)
    ]
    if sorter is not None:
        check_array(sorter)
        rows = xp.take_along_axis(rows, sorter, axis=-1)
    count = shapes[0][-1]
    low = xp.zeros_like(values, dtype=xp.arange(1).dtype)
    high = low + count
    for _ in range(count.bit_length()):
        middle = xp.floor_divide(low + high, xp.zeros_like(low) + 2)
        inside = xp.clip(middle, 0, max(count - 1, 0))
        found = xp.take_along_axis(rows, inside, axis=-1)
        is_after = found < values if side == "left" else found <= values
        if kind in FLOATING:  # nan comes last
            is_nan = xp.isnan(values)
            is_last = xp.logical_not(xp.isnan(found)) if side == "left" else is_nan
            is_after = xp.logical_or(is_after, xp.logical_and(is_nan, is_last))
        is_after = xp.logical_and(is_after, low < high)
        low = xp.where(is_after, middle + 1, low)
        high = xp.where(is_after, high, middle)
    return low


def topk(x: A, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[A, A]:
    """The `k` largest (or smallest) elements, best first, and their indices; ties by the lower
    index.

    >>> import numpy as np, trellis
    >>> trellis.topk(np.array([1.0, 7.0, 5.0]), 2)
    (array([7., 5.]), array([1, 2]))
    """
    try:
        if type(axis) is not int or largest is not True:
            check_over(axis, largest)
        if isinstance(x, dict):
            return call_leafwise(topk, (x, k), {"axis": axis, "largest": largest})
        axis = normal_axis(axis, len(x.shape))
        check_count("topk", k, x.shape[axis])
        return xp_of(x).topk(x, k, axis=axis, largest=largest)
    except Exception as error:
        return explain(error, topk)


def where(condition: A, x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Elements of `x1` where the condition holds, of `x2` elsewhere.

    >>> import numpy as np, trellis
    >>> trellis.where(np.array([True, False]), np.array([1.0, 2.0]), 0)
    array([1., 0.])
    """
    try:
        return xp_of_all(condition, x1, x2).where(condition, x1, x2)
    except Exception as error:
        return explain(error, where)
