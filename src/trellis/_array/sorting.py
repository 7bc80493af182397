"""Sorting. Equal elements keep their order unless `stable=False`, in descending order too."""

from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.guards import check_over
from .._core.typing import A


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
