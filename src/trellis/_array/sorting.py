"""Sorting. Equal elements keep their order unless `stable=False`, in descending order too."""

from typing import Any

from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.guards import check_over, check_within
from .._core.leafwise import call_leafwise
from .._core.shapes import normal_axis
from .._core.typing import A


def argpartition(x: A, kth: int, /, axis: int | None = -1) -> A:
    """The indices that `partition` an array; of the flattened one if axis is None.

    >>> import numpy as np, trellis
    >>> trellis.argpartition(np.array([30, 10, 20]), 1)[:1]
    array([1])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(argpartition, (x, kth), {"axis": axis})
        flat, place = _along("argpartition", x, kth, axis)
        return xp_of(x).argsort(flat, axis=place)
    except Exception as error:
        return explain(error, argpartition)


def argsort(x: A, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> A:
    """The indices that sort an array along `axis`.

    >>> import numpy as np, trellis
    >>> trellis.argsort(np.array([3, 1, 2]))
    array([1, 2, 0])
    """
    try:
        if type(axis) is not int or descending is not False or stable is not True:
            check_over(axis, descending, stable)
        return xp_of(x).argsort(x, axis=axis, descending=descending, stable=stable)
    except Exception as error:
        return explain(error, argsort)


def partition(x: A, kth: int, /, axis: int | None = -1) -> A:
    """The elements with the one that sorting would put at `kth` in its place, no larger ones before
    it and no smaller ones after it. Here the others are sorted too, so that the result is the same
    on every backend. With None as axis the array is flattened first.

    >>> import numpy as np, trellis
    >>> trellis.partition(np.array([30, 10, 20]), 1)[1].item()
    20
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(partition, (x, kth), {"axis": axis})
        flat, place = _along("partition", x, kth, axis)
        return xp_of(x).sort(flat, axis=place)
    except Exception as error:
        return explain(error, partition)


def _along(name: str, x: Any, kth: int, axis: int | None) -> tuple[Any, int]:
    """The array and the axis that are sorted."""
    check_over(axis)
    check_within(kth)
    flat = xp_of(x).reshape(x, (-1,)) if axis is None else x
    place = 0 if axis is None else normal_axis(axis, len(x.shape))
    count = flat.shape[place]
    if count is not None and not -count <= kth < count:
        raise ArgumentError(f"{name}() expects kth below the {count} elements, got {kth}.")
    return flat, place


def sort(x: A, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> A:
    """The elements sorted along `axis`.

    >>> import numpy as np, trellis
    >>> trellis.sort(np.array([3, 1, 2]), descending=True)
    array([3, 2, 1])
    """
    try:
        if type(axis) is not int or descending is not False or stable is not True:
            check_over(axis, descending, stable)
        return xp_of(x).sort(x, axis=axis, descending=descending, stable=stable)
    except Exception as error:
        return explain(error, sort)
