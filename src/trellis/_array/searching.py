"""Where elements are, and which."""

from typing import Literal

from .._core.dispatch import xp_of, xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_array, check_axis, check_flag
from .._core.leafwise import call_leafwise
from .._core.shapes import check_count, normal_axis, one_of
from .._core.typing import A, Scalar


def argmax(x: A, /, *, axis: int | None = None, keepdims: bool = False) -> A:
    """The index of the largest element, the first of several; of the flattened array if axis is
    None.

    >>> import numpy as np, trellis
    >>> trellis.argmax(np.array([[1, 5], [7, 3]]), axis=1)
    array([1, 0])
    """
    try:
        if axis is not None and type(axis) is not int:
            check_axis(axis)
        if keepdims is not False:
            check_flag(keepdims)
        return xp_of(x).argmax(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        explain(error, argmax)


def argmin(x: A, /, *, axis: int | None = None, keepdims: bool = False) -> A:
    """The index of the smallest element, the first of several; of the flattened array if axis is
    None.

    >>> import numpy as np, trellis
    >>> trellis.argmin(np.array([[1, 5], [7, 3]]), axis=1)
    array([0, 1])
    """
    try:
        if axis is not None and type(axis) is not int:
            check_axis(axis)
        if keepdims is not False:
            check_flag(keepdims)
        return xp_of(x).argmin(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        explain(error, argmin)


def count_nonzero(
    x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> A:
    """How many elements are not zero.

    >>> import numpy as np, trellis
    >>> trellis.count_nonzero(np.array([[0, 5], [7, 3]]), axis=1)
    array([1, 2])
    """
    try:
        if axis is not None and type(axis) is not int:
            check_axis(axis)
        if keepdims is not False:
            check_flag(keepdims)
        return xp_of(x).count_nonzero(x, axis=axis, keepdims=keepdims)
    except Exception as error:
        explain(error, count_nonzero)


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
        explain(error, nonzero)


def searchsorted(
    x1: A,
    x2: A,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: A | None = None,
) -> A:
    """Where elements of `x2` would go in the sorted vector `x1`; before or after equal ones by
    `side`.

    >>> import numpy as np, trellis
    >>> trellis.searchsorted(np.array([1, 3, 5]), np.array([3, 4]))
    array([1, 2])
    """
    try:
        if not isinstance(x1, dict):
            check_array(x1)
            if len(x1.shape) != 1:
                raise ShapeError(f"searchsorted() looks in a vector, got shape {tuple(x1.shape)}.")
        one_of("searchsorted", "side", side, ("left", "right"))
        return xp_of_all(x1, x2, sorter).searchsorted(x1, x2, side=side, sorter=sorter)
    except Exception as error:
        explain(error, searchsorted)


def topk(x: A, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[A, A]:
    """The `k` largest (or smallest) elements, best first, and their indices; ties by the lower
    index.

    >>> import numpy as np, trellis
    >>> trellis.topk(np.array([1.0, 7.0, 5.0]), 2)
    (array([7., 5.]), array([1, 2]))
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        if largest is not True:
            check_flag(largest)
        if isinstance(x, dict):
            return call_leafwise(topk, (x, k), {"axis": axis, "largest": largest})
        axis = normal_axis(axis, len(x.shape))
        check_count("topk", k, x.shape[axis])
        return xp_of(x).topk(x, k, axis=axis, largest=largest)
    except Exception as error:
        explain(error, topk)


def where(condition: A, x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Elements of `x1` where the condition holds, of `x2` elsewhere.

    >>> import numpy as np, trellis
    >>> trellis.where(np.array([True, False]), np.array([1.0, 2.0]), 0)
    array([1., 0.])
    """
    try:
        return xp_of_all(condition, x1, x2).where(condition, x1, x2)
    except Exception as error:
        explain(error, where)
