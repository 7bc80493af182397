"""Solving and factoring matrices with the options that LAPACK and XLA have."""

from typing import Any

from ..._core.dispatch import xp_of, xp_of_all
from ..._core.typing import Array


def triangular_solve(
    a: Array,
    b: Array,
    /,
    *,
    left_side: bool = True,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """`x` with `a @ x = b`, or `x @ a = b` with the matrix on the right, where only one triangle of
    `a` counts.

    >>> import numpy as np
    >>> triangular_solve(np.array([[2.0, 9.0], [1.0, 1.0]]), np.array([[2.0], [3.0]]))
    array([[1.],
           [2.]])
    """
    xp = xp_of_all(a, b)
    a = xp.tril(a) if lower else xp.triu(a)
    if unit_diagonal:
        n = a.shape[-1]
        eye = xp.eye(n, dtype=a.dtype, device=xp.device(a))
        a = a - a * eye + eye
    if conjugate:
        a = xp.conj(a)
    if transpose:
        a = xp.matrix_transpose(a)
    if left_side:
        return xp.linalg.solve(a, b)
    return xp.matrix_transpose(xp.linalg.solve(xp.matrix_transpose(a), xp.matrix_transpose(b)))


def symmetric_from(x: Array, /, *, lower: bool) -> Any:
    """The Hermitian matrix that has one triangle of `x`."""
    xp = xp_of(x)
    half = xp.tril(x, k=-1) if lower else xp.triu(x, k=1)
    whole = xp.tril(x) if lower else xp.triu(x)
    return whole + xp.conj(xp.matrix_transpose(half))


def lu(x: Array, /) -> tuple[Any, Any, Any]:
    """L and U in one matrix, the row that each step swapped with, and the order of rows that came
    of it. Column by column, with the largest element of each as pivot.

    >>> import numpy as np
    >>> lu(np.array([[1.0, 2.0], [4.0, 4.0]]))[0]
    array([[4.  , 4.  ],
           [0.25, 1.  ]])
    """
    xp = xp_of(x)
    rows, columns = x.shape[-2], x.shape[-1]
    int32 = xp.as_dtype("int32")
    device = xp.device(x)
    places = xp.arange(rows, dtype=int32, device=device)
    order = xp.broadcast_to(places, tuple(x.shape[:-1]))
    across = xp.arange(columns, dtype=int32, device=device)
    pivots = []
    for k in range(min(rows, columns)):
        column = xp.where(places >= k, xp.abs(x[..., :, k]), -1.0)
        best = xp.astype(xp.argmax(column, axis=-1), int32)
        pivots.append(best)
        at = xp.expand_dims(best, axis=-1)
        swapped = xp.where(places == k, at, xp.where(places == at, k, places))
        x = xp.take_along_axis(
            x, xp.broadcast_to(xp.expand_dims(swapped, axis=-1), x.shape), axis=-2
        )
        order = xp.take_along_axis(order, swapped, axis=-1)
        below = xp.expand_dims(places > k, axis=-1)
        pivot = x[..., k : k + 1, k : k + 1]
        safe = xp.where(pivot == 0, xp.ones_like(pivot), pivot)
        factor = xp.where(below, x[..., :, k : k + 1] / safe, 0.0)
        reduced = x - factor * xp.where(across > k, x[..., k : k + 1, :], 0.0)
        x = xp.where(xp.logical_and(below, across == k), factor, reduced)
    return x, xp.stack(pivots, axis=-1), order


def pivots_to_permutation(pivots: Array, size: int, /) -> Any:
    """The order of rows after the swaps of `lu`."""
    xp = xp_of(pivots)
    places = xp.arange(size, dtype=xp.as_dtype("int32"), device=xp.device(pivots))
    order = xp.broadcast_to(places, (*pivots.shape[:-1], size))
    for k in range(pivots.shape[-1]):
        at = xp.astype(pivots[..., k : k + 1], xp.as_dtype("int32"), copy=False)
        swapped = xp.where(places == k, at, xp.where(places == at, k, places))
        order = xp.take_along_axis(order, xp.broadcast_to(swapped, tuple(order.shape)), axis=-1)
    return order
