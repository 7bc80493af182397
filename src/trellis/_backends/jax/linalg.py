"""The `linalg` extension of the Array API standard."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from ..._core.results import EighResult, QRResult, SlogdetResult, SVDResult
from ._promotion import floating_pair, pair
from .casting import as_dtype
from .elementwise import abs as absolute
from .products import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    return jnp.linalg.cholesky(x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return jnp.linalg.cross(*pair(x1, x2), axis=axis)


def det(x: Any, /) -> Any:
    return jnp.linalg.det(x)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return jnp.linalg.diagonal(x, offset=offset)


def eigh(x: Any, /) -> EighResult[Any]:
    return EighResult(*jnp.linalg.eigh(x))


def eigvalsh(x: Any, /) -> Any:
    return jnp.linalg.eigvalsh(x)


def inv(x: Any, /) -> Any:
    return jnp.linalg.inv(x)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return jnp.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)


def matrix_power(x: Any, n: int, /) -> Any:
    return jnp.linalg.matrix_power(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    s = svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * jnp.finfo(s.dtype).eps
    largest = jnp.max(s, axis=-1, keepdims=True, initial=0)
    # JAX's own takes rtol for an absolute limit.
    limit = jnp.asarray(rtol, s.dtype)[..., None] * largest
    return jnp.sum(s > limit, axis=-1)


def outer(x1: Any, x2: Any, /) -> Any:
    return jnp.linalg.outer(*pair(x1, x2))


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    return jnp.linalg.pinv(x, rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult[Any]:
    return QRResult(*jnp.linalg.qr(x, mode))


def slogdet(x: Any, /) -> SlogdetResult[Any]:
    return SlogdetResult(*jnp.linalg.slogdet(x))


def solve(x1: Any, x2: Any, /) -> Any:
    return jnp.linalg.solve(*floating_pair(x1, x2))


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult[Any]:
    return SVDResult(*jnp.linalg.svd(x, full_matrices=full_matrices))


def svdvals(x: Any, /) -> Any:
    return jnp.linalg.svdvals(x)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return jnp.linalg.trace(x, offset=offset, dtype=as_dtype(dtype))


def vector_norm(
    x: Any, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    if ord == 1:
        return jnp.sum(absolute(x), axis=axis, keepdims=keepdims)
    if ord in (0, jnp.inf, -jnp.inf):
        return jnp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    if ord != 2:
        total = jnp.sum(absolute(x) ** ord, axis=axis, keepdims=keepdims)
        is_zero = total == 0
        return jnp.where(is_zero, 0, jnp.where(is_zero, 1, total) ** (1 / ord))
    squared = jnp.sum(jnp.real(x * jnp.conj(x)), axis=axis, keepdims=keepdims)
    # The square root has no derivative at 0; its gradient there is 0 here, not NaN.
    is_zero = squared == 0
    return jnp.where(is_zero, 0, jnp.sqrt(jnp.where(is_zero, 1, squared)))
