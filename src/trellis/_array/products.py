"""Products of arrays."""

from collections.abc import Sequence

from .._core.dispatch import xp_of, xp_of_all, xp_of_pair
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.guards import WrongKind, check_axis
from .._core.typing import A


def einsum(subscripts: str, /, *xs: A) -> A:
    """Sums of products in Einstein's notation, the letters before the arrow naming the axes.

    >>> import numpy as np, trellis
    >>> trellis.einsum("ij,j->i", np.array([[1, 2], [3, 4]]), np.array([10, 1]))
    array([12, 34])
    """
    try:
        return xp_of_all(*xs).einsum(subscripts, *xs)
    except Exception as error:
        return explain(error, einsum)


def matmul(x1: A, x2: A, /) -> A:
    """Matrix product over the last two axes; the axes before them broadcast.

    A vector on the left is a row, on the right a column; its axis is dropped from the result.

    >>> import numpy as np, trellis
    >>> trellis.matmul(np.array([[1, 2], [3, 4]]), np.array([10, 1]))
    array([12, 34])
    """
    try:
        return xp_of_pair(x1, x2).matmul(x1, x2)
    except Exception as error:
        return explain(error, matmul)


def matrix_transpose(x: A, /) -> A:
    """The last two axes exchanged.

    >>> import numpy as np, trellis
    >>> trellis.matrix_transpose(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    try:
        return xp_of(x).matrix_transpose(x)
    except Exception as error:
        return explain(error, matrix_transpose)


def tensordot(x1: A, x2: A, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> A:
    """Sum of products over `axes`: the last n of x1 with the first n of x2, or a list for each.

    >>> import numpy as np, trellis
    >>> trellis.tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    try:
        if axes is True or axes is False:
            raise WrongKind("axes must not be a bool")
        if type(axes) is int and axes < 0:
            raise ArgumentError(f"tensordot() sums over 0 axes or more, got axes={axes}.")
        if type(axes) is not int and hasattr(axes, "__iter__"):
            for part in axes:
                if not hasattr(part, "__iter__"):  # NumPy alone takes two numbers
                    raise WrongKind(f"{part!r} is not a list of axes")
        return xp_of_pair(x1, x2).tensordot(x1, x2, axes=axes)
    except Exception as error:
        return explain(error, tensordot)


def vecdot(x1: A, x2: A, /, *, axis: int = -1) -> A:
    """Dot product of vectors along `axis`; complex numbers of x1 are conjugated.

    >>> import numpy as np, trellis
    >>> trellis.vecdot(np.array([[1, 2], [3, 4]]), np.array([10, 1]))
    array([12, 34])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return xp_of_pair(x1, x2).vecdot(x1, x2, axis=axis)
    except Exception as error:
        return explain(error, vecdot)
