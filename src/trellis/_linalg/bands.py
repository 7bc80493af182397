"""Equations with banded matrices, in a time that grows with the size and not with its cube."""

from collections.abc import Sequence
from math import nan
from typing import Any

from .._array.control import scan
from .._core.arrays import plain
from .._core.dispatch import xp_of_pair
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.shapes import broadcast_shapes
from .._core.typing import A, Backend
from .checks import check_matrices


def solve_banded(l_and_u: Sequence[int], ab: A, b: A, /) -> A:
    """The solution x of a @ x = b for a matrix with `l` diagonals below the main one and `u` above.

    `ab` holds the diagonals as SciPy has them, the uppermost first: ab[u + i - j, j] is a[i, j];
    what lies outside of the matrix is not read. (1, 1) is a tridiagonal matrix. Only a
    one-dimensional `b` is a vector; else it holds columns. Rows are exchanged as in `solve`; the
    solutions of singular matrices are nan. It is a loop over rows, which torch.compile unrolls.

    >>> import numpy as np, trellis
    >>> ab = np.array([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]])
    >>> trellis.linalg.solve_banded((1, 1), ab, np.array([6.0, 12.0, 14.0])).round(6)
    array([1., 2., 3.])
    """
    try:
        below, above = _counts(l_and_u)
        check_matrices("solve_banded", ab)
        xp = xp_of_pair(ab, b)
        size = int(ab.shape[-1])
        if ab.shape[-2] != below + above + 1:
            raise ShapeError(
                f"solve_banded() with l={below} and u={above} needs {below + above + 1} diagonals "
                f"in ab, got shape {tuple(ab.shape)}."
            )
        is_vector = len(b.shape) == 1
        columns = xp.expand_dims(b, axis=-1) if is_vector else b
        if columns.shape[-2] != size:
            raise ShapeError(
                f"solve_banded() needs as many rows in b as columns in ab, got {tuple(ab.shape)} "
                f"and {tuple(b.shape)}."
            )
        kind = xp.result_type(ab, columns)
        stack = broadcast_shapes(tuple(ab.shape[:-2]), tuple(columns.shape[:-2]))
        diagonals = xp.astype(ab, kind, copy=False)
        diagonals = xp.broadcast_to(diagonals, (*stack, *[int(n) for n in ab.shape[-2:]]))
        right = xp.astype(columns, kind, copy=False)
        right = xp.broadcast_to(right, (*stack, size, int(columns.shape[-1])))
        found = _solved(xp, below, above, diagonals, xp.moveaxis(right, -2, 0))
        solution: A = xp.moveaxis(found, 0, -2)
        return solution[..., 0] if is_vector else solution
    except Exception as error:
        return explain(error, solve_banded)


def _counts(l_and_u: Sequence[int]) -> tuple[int, int]:
    found = [plain(n) for n in l_and_u]
    if len(found) != 2 or not all([isinstance(n, int) and n >= 0 for n in found]):
        raise ArgumentError(
            f"solve_banded() expects two numbers of diagonals, below and above, got {l_and_u!r}."
        )
    return found[0], found[1]


def _solved(xp: Backend, below: int, above: int, diagonals: Any, right: Any) -> Any:
    """`right` has rows first, then the stack and the columns."""
    width, size = below + above + 1, int(diagonals.shape[-1])
    none = [(0, 0)] * (len(diagonals.shape) - 2)
    # Row i of the matrix from column i - below on; zeros where it has none.
    padded = xp.pad(diagonals, (*none, (0, 0), (below, above)))
    rows = xp.stack([padded[..., width - 1 - c, c : c + size] for c in range(width)], axis=-1)
    rows = xp.pad(xp.moveaxis(rows, -2, 0), ((0, below + 1), *none, (0, 0)))
    right = xp.pad(right, ((0, below + 1), *none, (0, 0)))
    first = []
    for i in range(below + 1):
        missing = below - i
        first.append(xp.pad(rows[i, ..., missing:], (*none, (0, missing))))
    window, side = xp.stack(first, axis=-2), xp.stack(_list(right, below + 1), axis=-2)

    def eliminate(state: Any, entering: Any) -> tuple[Any, Any]:
        """One column: the row with the largest number goes out, the others lose the column."""
        (window, side), (row, value) = state, entering
        sizes = xp.abs(window[..., 0])
        chosen = xp.argmax(sizes, axis=-1, keepdims=True)
        places = xp.arange(below + 1, dtype=chosen.dtype, device=xp.device(sizes))
        is_chosen = xp.expand_dims(places == chosen, axis=-1)
        window, pivot = _exchanged(xp, window, is_chosen)
        side, pivot_side = _exchanged(xp, side, is_chosen)
        diagonal = pivot[..., :1]
        diagonal = xp.where(diagonal == 0, xp.full_like(diagonal, nan), diagonal)
        factors = window[..., 1:, :1] / xp.expand_dims(diagonal, axis=-2)
        window = window[..., 1:, :] - factors * xp.expand_dims(pivot, axis=-2)
        side = side[..., 1:, :] - factors * xp.expand_dims(pivot_side, axis=-2)
        window = xp.pad(window[..., 1:], (*none, (0, 0), (0, 1)))
        window = xp.concat([window, xp.expand_dims(row, axis=-2)], axis=-2)
        side = xp.concat([side, xp.expand_dims(value, axis=-2)], axis=-2)
        return (window, side), (pivot, pivot_side, diagonal)

    entering = rows[below + 1 :, ...], right[below + 1 :, ...]
    _, (pivots, sides, main) = scan(eliminate, (window, side), entering)

    def substitute(known: Any, row: Any) -> tuple[Any, Any]:
        """One unknown, from those behind it."""
        pivot, side, diagonal = row
        rest = xp.sum(xp.expand_dims(pivot[..., 1:], axis=-1) * known, axis=-2)
        x = (side - rest) / diagonal
        behind = xp.concat([xp.expand_dims(x, axis=-2), known], axis=-2)
        return behind[..., : width - 1, :], x

    known = xp.zeros_like(xp.concat([side[..., :1, :]] * max(width - 1, 1), axis=-2))
    known = known[..., : width - 1, :]
    return scan(substitute, known, (pivots, sides, main), reverse=True)[1]


def _list(x: Any, count: int) -> list[Any]:
    return [x[i, ...] for i in range(count)]


def _exchanged(xp: Backend, rows: Any, is_chosen: Any) -> tuple[Any, Any]:
    """The first row in the place of the chosen one; and the chosen one."""
    chosen = xp.sum(xp.where(is_chosen, rows, xp.zeros_like(rows)), axis=-2)
    return xp.where(is_chosen, rows[..., :1, :], rows), chosen
