"""Linear algebra. Functions take stacks of matrices: the last two axes are the matrix.

>>> import numpy as np, trellis
>>> trellis.linalg.det(np.array([[2.0, 0.0], [0.0, 3.0]])).item()
6.0
"""

from collections.abc import Callable, Sequence
from math import inf, nan
from typing import Any, Literal

from .._core.arrays import shape_of
from .._core.dispatch import xp_of, xp_of_all, xp_of_pair
from .._core.dtypes import COMPLEX, FLOATING
from .._core.errors import ArgumentError, ShapeError, TrellisError
from .._core.explain import explain
from .._core.guards import (
    WrongKind,
    check_array,
    check_axis,
    check_flag,
    check_rank,
    check_scalar,
    check_within,
)
from .._core.results import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from .._core.shapes import one_of
from .._core.typing import A, Array, Backend, DTypeLike


def _nan_for_nan(
    error: Exception, fn: Callable[..., Any], x: Array, *rest: Any, **options: Any
) -> Any:
    """Results for matrices with nan or infinity: nan, on every framework, and for these matrices
    only. Called where a LAPACK driver has raised an error; others do not.
    """
    is_ours = isinstance(error, TrellisError) or not hasattr(x, "dtype") or len(x.shape) < 2
    if is_ours or not xp_of(x).is_concrete(x) or 0 in tuple(x.shape):
        return explain(error, fn)
    xp = xp_of(x)
    is_bad = xp.logical_not(xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True))
    if not bool(xp.any(is_bad)):
        return explain(error, fn)
    identity = xp.eye(*[int(n) for n in x.shape[-2:]], dtype=x.dtype, device=xp.device(x))
    found = fn(xp.where(is_bad, identity, x), *rest, **options)
    if isinstance(found, tuple):
        return type(found)(*[_spoiled(xp, part, is_bad) for part in found])
    return _spoiled(xp, found, is_bad)


def _spoiled(xp: Backend, y: Array, is_bad: Array) -> Any:
    """nan, or 0 where there is none, in the results of the bad matrices of a stack."""
    extra = len(y.shape) - (len(is_bad.shape) - 2)
    places = xp.reshape(is_bad, (*tuple(is_bad.shape[:-2]), *(1,) * extra))
    is_float = xp.dtype_name(y.dtype) in (*FLOATING, *COMPLEX)
    return xp.where(places, nan if is_float else 0, y)


_MATRIX_NORMS = ("fro", "nuc", 1, -1, 2, -2, inf, -inf, None)


def cholesky(x: A, /, *, upper: bool = False) -> A:
    """The lower triangle L with L @ L.H = x of a positive definite matrix (or the upper one).

    >>> import numpy as np, trellis
    >>> trellis.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    try:
        if upper is not False:
            check_flag(upper)
        return xp_of(x).linalg.cholesky(x, upper=upper)
    except Exception as error:
        return _nan_for_nan(error, cholesky, x, upper=upper)


def cross(x1: A, x2: A, /, *, axis: int = -1) -> A:
    """Cross product of vectors with three components.

    >>> import numpy as np, trellis
    >>> trellis.linalg.cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        for x in (x1, x2):
            if not isinstance(x, dict):
                check_array(x)
                check_rank("cross", x, 1)
        return xp_of_pair(x1, x2).linalg.cross(x1, x2, axis=axis)
    except Exception as error:
        return explain(error, cross)


def det(x: A, /) -> A:
    """Determinant.

    >>> import numpy as np, trellis
    >>> trellis.linalg.det(np.array([[[2.0, 0.0], [0.0, 3.0]]]))
    array([6.])
    """
    try:
        return xp_of(x).linalg.det(x)
    except Exception as error:
        return explain(error, det)


def diagonal(x: A, /, *, offset: int = 0) -> A:
    """The elements on a diagonal; a positive `offset` lies above the main one.

    >>> import numpy as np, trellis
    >>> trellis.linalg.diagonal(np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    try:
        check_within(offset)
        return xp_of(x).linalg.diagonal(x, offset=offset)
    except Exception as error:
        return explain(error, diagonal)


def eig(x: A, /) -> EigResult[A]:
    """Eigenvalues and eigenvectors (columns) of a square matrix; both are complex, and the order of
    the eigenvalues is the framework's.

    The vectors have length 1, and the first of their largest components is real and positive. That
    makes them unique, so that their derivatives exist where the eigenvalues are distinct; elsewhere
    those are nan, or raise where values can be read.

    >>> import numpy as np, trellis
    >>> values, vectors = trellis.linalg.eig(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> values
    array([ 2.+0.j, -2.+0.j])
    """
    try:
        return xp_of(x).linalg.eig(x)
    except Exception as error:
        return _nan_for_nan(error, eig, x)


def eigh(x: A, /) -> EighResult[A]:
    """Eigenvalues (ascending) and eigenvectors (columns) of a symmetric or Hermitian matrix.

    Where eigenvalues are repeated, their vectors have no derivative: it is nan, or raises where
    values can be read. The values have one.

    >>> import numpy as np, trellis
    >>> trellis.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    array([1., 2.])
    """
    try:
        return xp_of(x).linalg.eigh(x)
    except Exception as error:
        return _nan_for_nan(error, eigh, x)


def eigvals(x: A, /) -> A:
    """Eigenvalues of a square matrix; they are complex, and their order is the framework's.

    >>> import numpy as np, trellis
    >>> trellis.linalg.eigvals(np.array([[0.0, -1.0], [1.0, 0.0]]))
    array([0.+1.j, 0.-1.j])
    """
    try:
        return xp_of(x).linalg.eigvals(x)
    except Exception as error:
        return _nan_for_nan(error, eigvals, x)


def eigvalsh(x: A, /) -> A:
    """Eigenvalues of a symmetric or Hermitian matrix, ascending.

    >>> import numpy as np, trellis
    >>> trellis.linalg.eigvalsh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    try:
        return xp_of(x).linalg.eigvalsh(x)
    except Exception as error:
        return _nan_for_nan(error, eigvalsh, x)


def inv(x: A, /) -> A:
    """Inverse of a square matrix; `solve` is better where the inverse would only be multiplied.

    >>> import numpy as np, trellis
    >>> trellis.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    try:
        return xp_of(x).linalg.inv(x)
    except Exception as error:
        return _nan_for_nan(error, inv, x)


def matmul(x1: A, x2: A, /) -> A:
    """Matrix product over the last two axes, the same as `trellis.matmul`.

    >>> import numpy as np, trellis
    >>> trellis.linalg.matmul(np.array([[1, 2], [3, 4]]), np.array([10, 1]))
    array([12, 34])
    """
    try:
        return xp_of_pair(x1, x2).linalg.matmul(x1, x2)
    except Exception as error:
        return explain(error, matmul)


def matrix_norm(
    x: A, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> A:
    """Norm of a matrix: "fro", "nuc" (sum of singular values), 1, -1, 2, -2, inf or -inf.

    >>> import numpy as np, trellis
    >>> trellis.linalg.matrix_norm(np.array([[[3.0, 0.0], [0.0, 4.0]]]))
    array([5.])
    """
    try:
        if keepdims is not False:
            check_flag(keepdims)
        one_of("matrix_norm", "ord", ord, _MATRIX_NORMS)
        return xp_of(x).linalg.matrix_norm(x, keepdims=keepdims, ord=ord)
    except Exception as error:
        return explain(error, matrix_norm)


def matrix_power(x: A, n: int, /) -> A:
    """The matrix multiplied n times with itself; negative powers are powers of the inverse.

    >>> import numpy as np, trellis
    >>> trellis.linalg.matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 3)
    array([[1., 3.],
           [0., 1.]])
    """
    try:
        check_within(n)
        return xp_of(x).linalg.matrix_power(x, n)
    except Exception as error:
        return explain(error, matrix_power)


def matrix_rank(x: A, /, *, rtol: float | A | None = None) -> A:
    """Number of singular values above `rtol` times the largest one.

    >>> import numpy as np, trellis
    >>> trellis.linalg.matrix_rank(np.array([[[1.0, 2.0], [2.0, 4.0]]]))
    array([1])
    """
    try:
        _check_rtol("matrix_rank", x, rtol)
        return xp_of_all(x, rtol).linalg.matrix_rank(x, rtol=rtol)
    except Exception as error:
        return _nan_for_nan(error, matrix_rank, x, rtol=rtol)


def matrix_transpose(x: A, /) -> A:
    """The last two axes exchanged, the same as `trellis.matrix_transpose`.

    >>> import numpy as np, trellis
    >>> trellis.linalg.matrix_transpose(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    try:
        return xp_of(x).linalg.matrix_transpose(x)
    except Exception as error:
        return explain(error, matrix_transpose)


def outer(x1: A, x2: A, /) -> A:
    """All products of the elements of two vectors.

    >>> import numpy as np, trellis
    >>> trellis.linalg.outer(np.array([1, 2]), np.array([10, 100]))
    array([[ 10, 100],
           [ 20, 200]])
    """
    try:
        for x in (x1, x2):
            if not isinstance(x, dict):
                check_array(x)
                if len(x.shape) != 1:
                    raise ShapeError(f"outer() takes two vectors, got shape {tuple(x.shape)}.")
        return xp_of_pair(x1, x2).linalg.outer(x1, x2)
    except Exception as error:
        return explain(error, outer)


def pinv(x: A, /, *, rtol: float | A | None = None) -> A:
    """Pseudo-inverse; singular values below `rtol` times the largest count as zero.

    Without `rtol` it is the larger size of a matrix times the precision of its dtype.

    >>> import numpy as np, trellis
    >>> trellis.linalg.pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    try:
        _check_rtol("pinv", x, rtol)
        return xp_of_all(x, rtol).linalg.pinv(x, rtol=rtol)
    except Exception as error:
        return _nan_for_nan(error, pinv, x, rtol=rtol)


def _check_rtol(function: str, x: Array, rtol: float | Array | None) -> None:
    """Matrices, and one tolerance for all of them or for each."""
    if isinstance(x, dict):
        return
    if rtol is not None:
        check_scalar(rtol)
    if hasattr(x, "shape"):
        check_rank(function, x, 2)
        stack, sizes = tuple(x.shape[:-2]), shape_of(rtol)
        if sizes not in ((), stack):
            raise ShapeError(
                f"{function}() needs one rtol, or one for each matrix of the stack {stack}, got "
                f"shape {sizes}."
            )


def qr(x: A, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult[A]:
    """Q with orthonormal columns and the upper triangle R, with Q @ R = x; signs are the
    framework's.

    >>> import numpy as np, trellis
    >>> q, r = trellis.linalg.qr(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> q @ r
    array([[3., 1.],
           [4., 2.]])
    """
    try:
        one_of("qr", "mode", mode, ("reduced", "complete"))
        return xp_of(x).linalg.qr(x, mode=mode)
    except Exception as error:
        return explain(error, qr)


def slogdet(x: A, /) -> SlogdetResult[A]:
    """Sign and natural logarithm of the absolute value of the determinant.

    >>> import numpy as np, trellis
    >>> trellis.linalg.slogdet(np.array([[[0.0, 1.0], [1.0, 0.0]]])).sign
    array([-1.])
    """
    try:
        return xp_of(x).linalg.slogdet(x)
    except Exception as error:
        return explain(error, slogdet)


def solve(x1: A, x2: A, /) -> A:
    """The solution y of x1 @ y = x2. Only a one-dimensional `x2` is a vector; else it holds
    columns.

    >>> import numpy as np, trellis
    >>> trellis.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    try:
        return xp_of_pair(x1, x2).linalg.solve(x1, x2)
    except Exception as error:
        return _nan_for_nan(error, solve, x1, x2)


def svd(x: A, /, *, full_matrices: bool = True) -> SVDResult[A]:
    """U, S, Vh with U * S @ Vh = x and singular values in descending order.

    Where singular values are repeated, their vectors have no derivative: it is nan, or raises where
    values can be read. The values have one.

    >>> import numpy as np, trellis
    >>> trellis.linalg.svd(np.array([[0.0, 2.0], [3.0, 0.0]])).S
    array([3., 2.])
    """
    try:
        if full_matrices is not True:
            check_flag(full_matrices)
        return xp_of(x).linalg.svd(x, full_matrices=full_matrices)
    except Exception as error:
        return _nan_for_nan(error, svd, x, full_matrices=full_matrices)


def svdvals(x: A, /) -> A:
    """Singular values in descending order.

    >>> import numpy as np, trellis
    >>> trellis.linalg.svdvals(np.array([[0.0, 2.0], [3.0, 0.0]]))
    array([3., 2.])
    """
    try:
        return xp_of(x).linalg.svdvals(x)
    except Exception as error:
        return _nan_for_nan(error, svdvals, x)


def tensordot(x1: A, x2: A, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> A:
    """Sum of products over `axes`, the same as `trellis.tensordot`.

    >>> import numpy as np, trellis
    >>> trellis.linalg.tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    try:
        if axes is True or axes is False:
            raise WrongKind("axes must not be a bool")
        if type(axes) is int and axes < 0:
            raise ArgumentError(f"tensordot() sums over 0 axes or more, got axes={axes}.")
        return xp_of_pair(x1, x2).linalg.tensordot(x1, x2, axes=axes)
    except Exception as error:
        return explain(error, tensordot)


def trace(x: A, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> A:
    """Sum of a diagonal.

    >>> import numpy as np, trellis
    >>> trellis.linalg.trace(np.array([[[1, 2], [3, 4]]]))
    array([5])
    """
    try:
        check_within(offset)
        return xp_of(x).linalg.trace(x, offset=offset, dtype=dtype)
    except Exception as error:
        return explain(error, trace)


def vecdot(x1: A, x2: A, /, *, axis: int = -1) -> A:
    """Dot product of vectors along `axis`, the same as `trellis.vecdot`.

    >>> import numpy as np, trellis
    >>> trellis.linalg.vecdot(np.array([[1, 2], [3, 4]]), np.array([10, 1]))
    array([12, 34])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return xp_of_pair(x1, x2).linalg.vecdot(x1, x2, axis=axis)
    except Exception as error:
        return explain(error, vecdot)


def vector_norm(
    x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> A:
    """Norm of vectors along `axis`, or of all elements.

    >>> import numpy as np, trellis
    >>> trellis.linalg.vector_norm(np.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    array([ 5., 10.])
    """
    try:
        if keepdims is not False:
            check_flag(keepdims)
        if axis is not None and type(axis) is not int:
            check_axis(axis)
        return xp_of(x).linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    except Exception as error:
        return explain(error, vector_norm)
