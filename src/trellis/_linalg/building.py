"""Matrices made of vectors and of blocks."""

from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_array, check_rank
from .._core.shapes import broadcast_shapes
from .._core.typing import A


def toeplitz(column: A, row: A | None = None, /) -> A:
    """The matrix with one number along each diagonal: its first column, and its first row.

    The first number of `row` is not read. Without `row` it is the conjugate of `column`.

    >>> import numpy as np, trellis
    >>> trellis.linalg.toeplitz(np.array([1, 2, 3]), np.array([0, 8, 9]))
    array([[1, 8, 9],
           [2, 1, 8],
           [3, 2, 1]])
    """
    try:
        xp = xp_of_all(column, row)
        if row is None:
            check_array(column)
            is_complex = "complex" in xp.dtype_name(column.dtype)
            row = xp.conj(column) if is_complex else column
        for x in (column, row):
            check_array(x)
            check_rank("toeplitz", x, 1)
        stack = broadcast_shapes(tuple(column.shape[:-1]), tuple(row.shape[:-1]))
        height, width = int(column.shape[-1]), int(row.shape[-1])
        if 0 in (height, width):
            raise ShapeError("toeplitz() needs at least one number in column and row.")
        parts = [xp.flip(column, axis=-1), row[..., 1:]]
        parts = [xp.broadcast_to(x, (*stack, int(x.shape[-1]))) for x in parts]
        values = xp.concat(parts, axis=-1)
        rows = [values[..., height - 1 - i : height - 1 - i + width] for i in range(height)]
        matrix: A = xp.stack(rows, axis=-2)
        return matrix
    except Exception as error:
        return explain(error, toeplitz)


def block_diag(*blocks: A) -> A:
    """The matrix with these along its diagonal and zeros elsewhere; stacks are broadcast.

    >>> import numpy as np, trellis
    >>> trellis.linalg.block_diag(np.array([[1, 2]]), np.array([[3], [4]]))
    array([[1, 2, 0],
           [0, 0, 3],
           [0, 0, 4]])
    """
    try:
        if not blocks:
            raise ShapeError("block_diag() needs at least one matrix.")
        for x in blocks:
            check_array(x)
            check_rank("block_diag", x, 2)
        xp = xp_of_all(*blocks)
        stack = broadcast_shapes(*[tuple(x.shape[:-2]) for x in blocks])
        widths = [int(x.shape[-1]) for x in blocks]
        rows: list[Any] = []
        for i, x in enumerate(blocks):
            # Zero of nan is nan: padding, no product.
            before, after = sum(widths[:i]), sum(widths[i + 1 :])
            wide = xp.broadcast_to(x, (*stack, *[int(n) for n in x.shape[-2:]]))
            rows.append(xp.pad(wide, ((0, 0),) * (len(stack) + 1) + ((before, after),)))
        matrix: A = xp.concat(rows, axis=-2)
        return matrix
    except Exception as error:
        return explain(error, block_diag)
