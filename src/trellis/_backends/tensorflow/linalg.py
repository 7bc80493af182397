"""The linear algebra extension of the standard."""

import math
import sys
from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.errors import ShapeError
from ..._core.guards import singular
from ..._core.results import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from ..._core.shapes import check_three, normal_axes, normal_axis
from ..shared.norms import norm_of_vectors
from ..shared.repeated import guarded
from ._helpers import (
    COMPLEX,
    FLOATING,
    broadcast,
    broadcast_shape,
    floating,
    floating_pair,
    move,
    pair,
    rank,
    sizes,
    tensor,
)
from ._portable import eig as _eig
from ._portable import safe_sqrt
from ._types import Tensor
from .products import matmul as matmul
from .products import matrix_transpose as matrix_transpose
from .products import tensordot as tensordot
from .products import vecdot as vecdot
from .reduction import all, any
from .tracing import is_concrete

_xp: Any = sys.modules[__package__]


def _matrix(x: Tensor) -> Any:
    """A matrix in a type that the decompositions have kernels for."""
    if rank(x) < 2:
        raise ShapeError(f"Expected matrices, arrays with at least two axes, got {rank(x)}.")
    x = tensor(floating(x))
    return tf.cast(x, tf.float32) if x.dtype.size == 2 else x


def _back(result: Any, x: Tensor) -> Any:
    """The 16-bit floats are cast back to their own type."""
    return tf.cast(result, x.dtype) if x.dtype in FLOATING and x.dtype.size == 2 else result


# Products -----------------------------------------------------------------------------------------


def matrix_power(x: Tensor, n: int, /) -> Any:
    if n < 0:
        return matrix_power(inv(x), -n)
    result = (
        tf.linalg.eye(sizes(x)[-1], batch_shape=sizes(x)[:-2], dtype=x.dtype) if n == 0 else None
    )
    while n > 0:
        if n % 2:
            result = x if result is None else matmul(result, x)
        n //= 2
        if n:
            x = matmul(x, x)
    return tf.identity(result)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Any:
    rows, columns = sizes(x)[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and not -rows < offset < columns:
        return (
            x[..., :0, 0]
            if columns
            else x[..., 0, :0]
            if rows
            else tf.reshape(x, [*sizes(x)[:-2], 0])
        )
    return tf.linalg.diag_part(x, k=offset)


# Solving ------------------------------------------------------------------------------------------


def inv(x: Tensor, /) -> Any:
    return _back(tf.linalg.inv(_matrix(x)), x)


def solve(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    a, b = _matrix(x1), _matrix(tf.expand_dims(x2, -1) if rank(x2) == 1 else x2)
    # The kernel needs equal batch axes.
    if a.shape[:-2] != b.shape[:-2]:
        outer_shape = broadcast_shape([tf.reduce_sum(a, [-2, -1]), tf.reduce_sum(b, [-2, -1])])
        if isinstance(outer_shape, list):
            a = broadcast(a, outer_shape + sizes(a)[-2:])
            b = broadcast(b, outer_shape + sizes(b)[-2:])
        else:
            a = tf.broadcast_to(a, tf.concat([outer_shape, tf.shape(a)[-2:]], 0))
            b = tf.broadcast_to(b, tf.concat([outer_shape, tf.shape(b)[-2:]], 0))
    result = _back(tf.linalg.solve(a, b), x1)
    return tf.squeeze(result, [-1]) if rank(x2) == 1 else result


def det(x: Tensor, /) -> Any:
    return _back(_determinant(_matrix(x)), x)


@tf.custom_gradient
def _determinant(x: Tensor) -> Any:
    """TensorFlow's own gradient uses the inverse, which singular matrices do not have."""

    def grad(upstream: Tensor) -> Any:
        return upstream[..., None, None] * tf.math.conj(_cofactors(x))

    return tf.linalg.det(x), grad


@tf.custom_gradient
def _cofactors(x: Tensor) -> Any:
    """det(x) times the transposed inverse, from the SVD; for singular matrices only the first
    derivative.
    """

    def grad(upstream: Tensor) -> Any:
        inverse = tf.linalg.matrix_transpose(tf.linalg.inv(x))
        scale = _determinant(x)[..., None, None]
        total = tf.reduce_sum(upstream * tf.math.conj(inverse * scale), [-2, -1], True)
        turned = tf.linalg.matrix_transpose(upstream)
        inverse, scale = tf.math.conj(inverse), tf.math.conj(scale)
        return total * inverse - scale * (inverse @ turned @ inverse)

    s, u, v = tf.linalg.svd(x, full_matrices=True)
    count = s.shape[-1]
    others = tf.where(tf.eye(count, dtype=tf.bool), tf.ones([], s.dtype), s[..., None, :])
    middle = tf.cast(tf.reduce_prod(others, -1), x.dtype)
    vh = tf.linalg.adjoint(v)
    sign = tf.linalg.det(u) * tf.linalg.det(vh)
    out = sign[..., None, None] * ((tf.math.conj(u) * middle[..., None, :]) @ tf.math.conj(vh))
    return out, grad


def slogdet(x: Tensor, /) -> SlogdetResult[Any]:
    sign, logabsdet = tf.linalg.slogdet(_matrix(x))
    if logabsdet.dtype in COMPLEX:
        logabsdet = tf.math.real(logabsdet)
    return SlogdetResult(_back(sign, x), _back(logabsdet, x))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Any:
    return _back(_pseudo_inverse(_matrix(x), rtol), x)


def _pseudo_inverse(x: Tensor, rtol: Any) -> Any:
    @tf.custom_gradient
    def inverse(x: Tensor) -> Any:
        # The derivative of Golub and Pereyra: that of the SVD has no value where singular values
        # coincide.
        def grad(upstream: Tensor) -> Any:
            p = _pseudo_inverse(x, rtol)
            p_h, up_h = tf.linalg.adjoint(p), tf.linalg.adjoint(upstream)
            rows = up_h @ p @ p_h
            columns = p_h @ p @ up_h
            return rows - x @ (p @ rows) + columns - (columns @ p) @ x - p_h @ upstream @ p_h

        s, u, v = tf.linalg.svd(x)
        cutoff = _cutoff(x, s, rtol)
        kept = s > cutoff
        inverted = tf.where(kept, 1 / tf.where(kept, s, tf.ones_like(s)), tf.zeros_like(s))
        scaled = v * tf.cast(inverted, v.dtype)[..., None, :]
        return scaled @ tf.linalg.adjoint(u), grad

    return inverse(x)


def _cutoff(x: Tensor, s: Any, rtol: Any) -> Any:
    """Singular values up to here count as zero; one number per matrix."""
    largest = tf.reduce_max(s, -1, True) if s.shape[-1] != 0 else tf.zeros_like(s[..., :1])
    if rtol is None:
        rows, columns = sizes(x)[-2:]
        relative = tf.cast(tf.maximum(rows, columns), s.dtype) * _epsilon(s.dtype)
    else:
        relative = tf.cast(rtol, s.dtype)
        if rank(relative) > 0:
            relative = relative[..., None]
    return relative * largest


def _epsilon(dtype: Any) -> float:
    return 2.0**-52 if dtype is tf.float64 else 2.0**-23


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Any:
    x = _matrix(x)
    s = svdvals(x)
    return tf.reduce_sum(tf.cast(s > _cutoff(x, s, rtol), tf.int64), -1)


# Decompositions -----------------------------------------------------------------------------------


def cholesky(x: Tensor, /, *, upper: bool = False) -> Any:
    matrix = _matrix(x)
    lower = tf.linalg.cholesky(matrix)
    # The kernel cannot raise: it leaves nan in one triangle and uninitialised memory in the other.
    has_failed = any(tf.math.is_nan(tf.abs(lower)), axis=(-2, -1), keepdims=True)
    if is_concrete(lower):
        was_finite = all(tf.math.is_finite(tf.abs(matrix)), axis=(-2, -1), keepdims=True)
        if bool(any(has_failed & was_finite)):
            raise singular("cholesky")
    lower = tf.where(has_failed, tf.cast(math.nan, lower.dtype), lower)
    return _back(tf.linalg.adjoint(lower) if upper else lower, x)


def eig(x: Tensor, /) -> EigResult[Any]:
    values, vectors = _eig(_matrix(x))
    return EigResult(values, guarded(_xp, "eig", values, vectors))


def eigvals(x: Tensor, /) -> Any:
    return tf.linalg.eigvals(_matrix(x))


def eigh(x: Tensor, /) -> EighResult[Any]:
    matrix = _matrix(x)
    # The gradient of the kernel is in the lower triangle only.
    matrix = (matrix + tf.linalg.adjoint(matrix)) / 2
    values, vectors = tf.linalg.eigh(matrix)
    if values.dtype in COMPLEX:
        values = tf.math.real(values)
    return EighResult(_back(values, x), _back(guarded(_xp, "eigh", values, vectors), x))


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult[Any]:
    matrix = _matrix(x)
    scale = _extreme_size(matrix)
    q, r = tf.linalg.qr(matrix / scale, full_matrices=mode == "complete")
    return QRResult(_back(q, x), _back(r * scale, x))


def _extreme_size(x: Tensor) -> Any:
    """The largest part of each matrix where its square would overflow or vanish, 1 elsewhere.

    The kernel squares: infinite from 1e19 on in float32.
    """
    parts = [tf.math.real(x), tf.math.imag(x)] if x.dtype in COMPLEX else [x]
    # Without rows or columns there is nothing to measure, and the 1 remains.
    largest = [tf.reduce_max(tf.abs(part), [-2, -1], keepdims=True) for part in parts]
    size = tf.stop_gradient(largest[0] if len(largest) == 1 else tf.maximum(*largest))
    limits = np.finfo(size.dtype.as_numpy_dtype)
    low, high = float(limits.tiny) ** 0.5 * 2**10, float(limits.max) ** 0.5 / 2**10
    is_extreme = ((size > high) | ((size < low) & (size > limits.tiny))) & tf.math.is_finite(size)
    return tf.cast(tf.where(is_extreme, size, tf.ones([], size.dtype)), x.dtype)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult[Any]:
    s, u, v = tf.linalg.svd(_matrix(x), full_matrices=full_matrices)
    u, v = guarded(_xp, "svd", s, u), guarded(_xp, "svd", s, v)
    return SVDResult(_back(u, x), _back(s, x), _back(tf.linalg.adjoint(v), x))


def svdvals(x: Tensor, /) -> Any:
    return _back(tf.linalg.svd(_matrix(x), compute_uv=False), x)


# Norms --------------------------------------------------------------------------------------------


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = floating(x)
    axes = normal_axes(axis, rank(x))
    if ord == 2:
        squares = (
            tf.square(tf.math.real(x)) + tf.square(tf.math.imag(x)) if x.dtype in COMPLEX else x * x
        )
        return safe_sqrt(tf.reduce_sum(squares, axes, keepdims))
    return norm_of_vectors(_xp, x, axis=tuple(axes), keepdims=keepdims, ord=ord)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = pair(x1, x2)
    first, second = normal_axis(axis, rank(x1)), normal_axis(axis, rank(x2))
    x1, x2 = move(x1, first, -1), move(x2, second, -1)
    check_three(x1.shape[-1], x2.shape[-1])
    a, b = tf.unstack(x1, 3, -1), tf.unstack(x2, 3, -1)
    parts = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
    result = tf.stack(parts, -1)
    return move(result, -1, axis if axis < 0 else first)
