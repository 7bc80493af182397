"""Diagonals, triangles and places in a shape, written over other functions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.arrays import shape_of
from .._core.dispatch import named_xp, xp_of, xp_of_pair
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.guards import check_integers, check_rank, check_whole, check_within
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Device, Scalar


def create_diagonal(x: A, /, *, offset: int = 0) -> A:
    """Square matrices with the last axis of `x` on a diagonal and zeros elsewhere.

    >>> import numpy as np, trellis
    >>> trellis.create_diagonal(np.array([1, 2]), offset=1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(create_diagonal, (x,), {"offset": offset})
        check_within(offset)
        check_rank("create_diagonal", x, 1)
        xp = xp_of(x)
        count = x.shape[-1]
        if count is None:
            raise ShapeError("create_diagonal() needs a known length while tracing.")
        size = count + abs(offset)
        # In row order one element follows another after `size` zeros.
        outer = tuple(x.shape)[:-1]
        zeros = xp.zeros((*outer, count, size), dtype=x.dtype, device=xp.device(x))
        flat = xp.reshape(xp.concat([x[..., None], zeros], axis=-1), (*outer, count * (size + 1)))
        before = offset if offset >= 0 else -offset * size
        after = max(size * size - before - count * (size + 1), 0)
        ends = [xp.zeros((*outer, n), dtype=x.dtype, device=xp.device(x)) for n in (before, after)]
        flat = xp.concat([ends[0], flat, ends[1]], axis=-1)
        return xp.reshape(flat[..., : size * size], (*outer, size, size))
    except Exception as error:
        return explain(error, create_diagonal)


def diag(x: A, /, *, k: int = 0) -> A:
    """The k-th diagonal of a matrix, or the matrix that has a vector as its k-th diagonal.

    >>> import numpy as np, trellis
    >>> trellis.diag(np.array([[1, 2], [3, 4]]), k=1)
    array([2])
    >>> trellis.diag(np.array([1, 2]))
    array([[1, 0],
           [0, 2]])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(diag, (x,), {"k": k})
        check_within(k)
        if len(x.shape) == 1:
            return create_diagonal(x, offset=k)
        if len(x.shape) != 2:
            raise ShapeError(
                f"diag() expects a vector or a matrix, got shape {tuple(x.shape)}. For stacks "
                "write create_diagonal() or linalg.diagonal()."
            )
        return xp_of(x).linalg.diagonal(x, offset=k)
    except Exception as error:
        return explain(error, diag)


def kron(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """The Kronecker product: each element of `x1` times all of `x2`, as blocks.

    >>> import numpy as np, trellis
    >>> trellis.kron(np.array([1, 10]), np.array([1, 2]))
    array([ 1,  2, 10, 20])
    """
    try:
        if has_nest(x1, x2):
            return call_leafwise(kron, (x1, x2), {})
        xp = xp_of_pair(x1, x2)
        shapes = [shape_of(x) for x in (x1, x2)]
        rank = max([len(shape) for shape in shapes])
        one, other = [(1,) * (rank - len(shape)) + shape for shape in shapes]
        if rank == 0:
            return xp.multiply(x1, x2)
        a: Any = x1 if not shapes[0] else xp.reshape(x1, _interleaved(one, (1,) * rank))
        b: Any = x2 if not shapes[1] else xp.reshape(x2, _interleaved((1,) * rank, other))
        product = xp.multiply(a, b)
        return xp.reshape(product, tuple([n * m for n, m in zip(one, other, strict=True)]))
    except Exception as error:
        return explain(error, kron)


def _interleaved(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([n for pair in zip(first, second, strict=True) for n in pair])


# Places in a shape --------------------------------------------------------------------------------


def diag_indices(
    n: int, /, *, ndim: int = 2, device: Device | None = None, backend: str | None = None
) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of length `n`.

    >>> import trellis
    >>> trellis.diag_indices(3)
    (array([0, 1, 2]), array([0, 1, 2]))
    """
    try:
        _check_sizes("diag_indices", n, ndim)
        places = named_xp(backend).arange(n, device=device)
        return (places,) * ndim
    except Exception as error:
        return explain(error, diag_indices)


def tril_indices(
    n: int,
    /,
    *,
    offset: int = 0,
    m: int | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> tuple[Any, Any]:
    """The indices of the lower triangle of an array of shape (n, m), m being n by default.

    >>> import trellis
    >>> trellis.tril_indices(2)
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    try:
        _check_sizes("tril_indices", n, n if m is None else m)
        check_within(offset)
        return _placed(np.tril_indices(n, offset, m), device, backend)
    except Exception as error:
        return explain(error, tril_indices)


def triu_indices(
    n: int,
    /,
    *,
    offset: int = 0,
    m: int | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> tuple[Any, Any]:
    """The indices of the upper triangle of an array of shape (n, m), m being n by default.

    >>> import trellis
    >>> trellis.triu_indices(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    try:
        _check_sizes("triu_indices", n, n if m is None else m)
        check_within(offset)
        return _placed(np.triu_indices(n, offset, m), device, backend)
    except Exception as error:
        return explain(error, triu_indices)


def _check_sizes(name: str, *sizes: int) -> None:
    for size in sizes:
        check_within(size)
        if size < 0:
            raise ArgumentError(f"{name}() expects sizes of at least 0, got {size}.")


def _placed(places: tuple[Any, Any], device: Any, backend: str | None) -> tuple[Any, Any]:
    xp = named_xp(backend)
    dtype = xp.arange(1).dtype
    name = xp.dtype_name(dtype)
    rows, columns = [xp.asarray(p.astype(name), dtype=dtype, device=device) for p in places]
    return rows, columns


def unravel_index(indices: A, shape: Sequence[int], /) -> tuple[A, ...]:
    """The place along each axis of elements that are numbered in row order.

    >>> import numpy as np, trellis
    >>> trellis.unravel_index(np.array([1, 5]), (2, 3))
    (array([0, 1]), array([1, 2]))
    """
    try:
        if isinstance(indices, dict):
            return call_leafwise(unravel_index, (indices, shape), {})
        xp = xp_of(indices)
        check_integers(xp, "unravel_index", indices)
        check_whole(shape)
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        count = math.prod(sizes)
        is_outside = xp.logical_or(indices >= count, indices < -count)
        if xp.is_concrete(indices) and bool(xp.any(is_outside)):
            raise ArgumentError(f"unravel_index() expects indices below {count} for {sizes}.")
        rest = xp.where(indices < 0, indices + count, indices)
        found: list[Any] = []
        for size in reversed(sizes):
            found.append(xp.remainder(rest, max(size, 1)))
            rest = xp.floor_divide(rest, max(size, 1))
        return tuple(reversed(found))
    except Exception as error:
        return explain(error, unravel_index)
