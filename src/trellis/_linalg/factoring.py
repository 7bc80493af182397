"""Triangular factors of matrices, with exchanged rows."""

from typing import Any

from .._array.control import scan
from .._array.products import matmul
from .._core.dispatch import xp_of, xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_array
from .._core.typing import A, Array, Backend
from .checks import check_matrices
from .solving import solve_triangular


def lu_factor(a: A, /) -> tuple[A, Array]:
    """Both factors of `lu` in one matrix, and for each column the row that came to the diagonal.

    They are what `lu_solve` takes, for many right sides that are not known at once. Columns are
    done one after the other; torch.compile unrolls the loop.

    >>> import numpy as np, trellis
    >>> trellis.linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    (array([[4.  , 4.  ],
           [0.25, 1.  ]]), array([1, 1], dtype=int32))
    """
    try:
        check_matrices("lu_factor", a)
        both, pivots, _ = _factored(xp_of(a), a)
        return both, pivots
    except Exception as error:
        return explain(error, lu_factor)


def lu(a: A, /) -> tuple[A, A, A]:
    """p, l and u with a = p @ l @ u: a permutation, a lower triangle with ones in its diagonal, and
    an upper triangle.

    Each column's largest number comes to the diagonal. Derivatives are those of the order of rows
    that was found.

    >>> import numpy as np, trellis
    >>> p, l, u = trellis.linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> u
    array([[4., 4.],
           [0., 1.]])
    """
    try:
        check_matrices("lu", a)
        xp = xp_of(a)
        both, _, order = _factored(xp, a)
        rows, columns = int(a.shape[-2]), int(a.shape[-1])
        least = min(rows, columns)
        places = xp.arange(rows, dtype="int32", device=xp.device(a))
        # Column j of p has its one in the row that came to place j.
        is_one = xp.expand_dims(places, axis=-1) == xp.expand_dims(order, axis=-2)
        p = xp.astype(is_one, xp.dtype_name(a.dtype))
        one = xp.eye(rows, least, dtype=a.dtype, device=xp.device(a))
        below = xp.tril(both[..., :, :least], k=-1) + one
        return p, below, xp.triu(both[..., :least, :])
    except Exception as error:
        return explain(error, lu)


def lu_solve(lu_and_piv: tuple[A, Array], b: A, /) -> A:
    """The solution x of a @ x = b, where the first argument is `lu_factor(a)`.

    >>> import numpy as np, trellis
    >>> factors = trellis.linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> trellis.linalg.lu_solve(factors, np.array([5.0, 12.0]))
    array([1., 2.])
    """
    try:
        if not isinstance(lu_and_piv, (tuple, list)) or len(lu_and_piv) != 2:
            raise ShapeError("lu_solve() expects the pair that lu_factor() returned.")
        both, pivots = lu_and_piv
        check_matrices("lu_solve", both, is_square=True)
        check_array(pivots)
        xp = xp_of_all(both, pivots, b)
        size = int(both.shape[-1])
        places = xp.arange(size, dtype="int32", device=xp.device(both))
        stack = tuple([int(n) for n in pivots.shape[:-1]])
        order = xp.broadcast_to(places, (*stack, size))

        def exchange(order: Any, given: Any) -> tuple[Any, Any]:
            here, other = given
            return _swapped(xp, order, here, xp.astype(other, "int32")), here

        order, _ = scan(exchange, order, (places, xp.moveaxis(pivots, -1, 0)))
        chosen = xp.expand_dims(order, axis=-1) == places
        turned = matmul(xp.astype(chosen, xp.dtype_name(b.dtype)), b)
        first = solve_triangular(both, turned, lower=True, unit_diagonal=True)
        return solve_triangular(both, first)
    except Exception as error:
        return explain(error, lu_solve)


def _swapped(xp: Backend, order: Any, here: Any, other: Any) -> Any:
    """A row of numbers with the ones in two places exchanged."""
    places = xp.arange(int(order.shape[-1]), dtype="int32", device=xp.device(order))
    is_here, is_other = places == here, places == xp.expand_dims(other, axis=-1)
    zero = xp.zeros_like(order)
    first = xp.sum(xp.where(is_here, order, zero), axis=-1, keepdims=True)
    second = xp.sum(xp.where(is_other, order, zero), axis=-1, keepdims=True)
    # Sums of int32 may be int64.
    first, second = xp.astype(first, "int32"), xp.astype(second, "int32")
    return xp.where(is_here, second, xp.where(is_other, first, order))


def _factored(xp: Backend, a: Any) -> tuple[Any, Any, Any]:
    """Both factors in one, the exchanges, and the order of rows they give."""
    rows, columns = int(a.shape[-2]), int(a.shape[-1])
    device = xp.device(a)
    down = xp.arange(rows, dtype="int32", device=device)
    across = xp.arange(columns, dtype="int32", device=device)
    stack = tuple([int(n) for n in a.shape[:-2]])
    order = xp.broadcast_to(down, (*stack, rows))
    zero = xp.zeros_like(a)

    def step(state: Any, k: Any) -> tuple[Any, Any]:
        matrix, order = state
        is_column = across == k
        column = xp.sum(xp.where(is_column, matrix, zero), axis=-1)
        sizes = xp.where(down >= k, xp.abs(column), -1.0)
        pivot = xp.astype(xp.argmax(sizes, axis=-1), "int32")
        is_here = xp.expand_dims(down == k, axis=-1)
        is_pivot = xp.expand_dims(down == xp.expand_dims(pivot, axis=-1), axis=-1)
        here = xp.sum(xp.where(is_here, matrix, zero), axis=-2, keepdims=True)
        best = xp.sum(xp.where(is_pivot, matrix, zero), axis=-2, keepdims=True)
        matrix = xp.where(is_here, best, xp.where(is_pivot, here, matrix))
        column = xp.sum(xp.where(is_column, matrix, zero), axis=-1, keepdims=True)
        diagonal = xp.sum(xp.where(is_column, best, xp.zeros_like(best)), axis=-1, keepdims=True)
        is_zero = diagonal == 0
        factors = column / xp.where(is_zero, xp.ones_like(diagonal), diagonal)
        is_below = xp.expand_dims(down > k, axis=-1)
        factors = xp.where(xp.logical_or(is_zero, xp.logical_not(is_below)), 0 * column, factors)
        reduced = matrix - factors * xp.where(across > k, best, xp.zeros_like(best))
        matrix = xp.where(xp.logical_and(is_below, is_column), factors, reduced)
        return (matrix, _swapped(xp, order, k, pivot)), pivot

    steps = xp.arange(min(rows, columns), dtype="int32", device=device)
    (matrix, order), pivots = scan(step, (a, order), steps)
    return matrix, xp.moveaxis(pivots, 0, -1), order
