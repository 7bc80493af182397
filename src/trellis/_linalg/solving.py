"""Equations with special matrices, the least squares of others, and how exact they can be."""

from math import inf
from typing import Any, Literal

from .._array.linalg import inv, matrix_norm, pinv, solve, svdvals
from .._core.dispatch import xp_of, xp_of_pair
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_flag
from .._core.shapes import one_of
from .._core.typing import A, Array
from .checks import check_matrices

_CONDITIONS = (None, "fro", "nuc", 1, -1, 2, -2, inf, -inf)


def solve_triangular(
    a: A, b: A, /, *, lower: bool = False, unit_diagonal: bool = False, adjoint: bool = False
) -> A:
    """The solution x of a @ x = b for a triangle `a`; the other half of `a` is not read.

    With `unit_diagonal` the diagonal counts as ones; with `adjoint` the equation is a.H @ x = b.
    Only a one-dimensional `b` is a vector; else it holds columns. It runs the framework's general
    solver on the triangle.

    >>> import numpy as np, trellis
    >>> a = np.array([[2.0, 9.0], [1.0, 4.0]])
    >>> trellis.linalg.solve_triangular(a, np.array([2.0, 9.0]), lower=True)
    array([1., 2.])
    """
    try:
        for flag in (lower, unit_diagonal, adjoint):
            check_flag(flag)
        check_matrices("solve_triangular", a, is_square=True)
        xp = xp_of_pair(a, b)
        triangle = xp.tril(a) if lower else xp.triu(a)
        if unit_diagonal:
            one = xp.eye(int(a.shape[-1]), dtype=a.dtype, device=xp.device(a))
            triangle = xp.where(one == 1, one, triangle)
        return solve(_adjoint(triangle) if adjoint else triangle, b)
    except Exception as error:
        return explain(error, solve_triangular)


def _adjoint(x: Any) -> Any:
    xp = xp_of(x)
    turned = xp.matrix_transpose(x)
    return xp.conj(turned) if "complex" in xp.dtype_name(x.dtype) else turned


def cho_solve(factor: A, b: A, /, *, upper: bool = False) -> A:
    """The solution x of a @ x = b, where `factor` is `cholesky(a)`, with the same `upper`.

    >>> import numpy as np, trellis
    >>> a = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> trellis.linalg.cho_solve(trellis.linalg.cholesky(a), np.array([8.0, 8.0]))
    array([1.5, 1. ])
    """
    try:
        check_flag(upper)
        check_matrices("cho_solve", factor, is_square=True)
        first = solve_triangular(factor, b, lower=not upper, adjoint=upper)
        return solve_triangular(factor, first, lower=not upper, adjoint=not upper)
    except Exception as error:
        return explain(error, cho_solve)


def lstsq(a: A, b: A, /, *, rtol: float | Array | None = None) -> A:
    """The x of least length among those for which the length of a @ x - b is least.

    Singular values of `a` below `rtol` times the largest count as zero, as in `pinv`. Only a
    one-dimensional `b` is a vector; else it holds columns.

    >>> import numpy as np, trellis
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> trellis.linalg.lstsq(a, np.array([1.0, 3.0, 5.0])).round(6)
    array([1., 2.])
    """
    try:
        check_matrices("lstsq", a)
        xp = xp_of_pair(a, b)
        rows = b.shape[0] if len(b.shape) == 1 else b.shape[-2]
        if rows != a.shape[-2]:
            raise ShapeError(
                f"lstsq() needs as many rows in b as in a, got {tuple(a.shape)} and "
                f"{tuple(b.shape)}."
            )
        return xp.matmul(pinv(a, rtol=rtol), b)
    except Exception as error:
        return explain(error, lstsq)


def cond(x: A, /, *, ord: float | Literal["fro", "nuc"] | None = None) -> A:
    """The condition number: by how much a relative error of `b` can grow in `solve(x, b)`.

    It is the largest singular value over the smallest one, or the norm of `x` by `ord` times that
    of its inverse; infinite for singular matrices.

    >>> import numpy as np, trellis
    >>> trellis.linalg.cond(np.array([[[2.0, 0.0], [0.0, 0.5]]]))
    array([4.])
    """
    try:
        one_of("cond", "ord", ord, _CONDITIONS)
        check_matrices("cond", x, is_square=ord not in (None, 2, -2))
        if ord in (None, 2, -2):
            values = svdvals(x)
            largest, least = values[..., 0], values[..., -1]
            above, below = (least, largest) if ord == -2 else (largest, least)
            xp = xp_of(x)
            is_zero = below == 0.0
            quotient = above / xp.where(is_zero, 1.0, below)
            found: A = xp.where(is_zero, inf if ord != -2 else 0.0, quotient)
            return found
        product: A = matrix_norm(x, ord=ord) * matrix_norm(inv(x), ord=ord)
        return product
    except Exception as error:
        return explain(error, cond)
