"""The `linalg` extension of the Array API standard."""

import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..._core.guards import singular
from ..._core.results import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from ..shared.norms import norm_of_matrices, norm_of_vectors
from ..shared.repeated import guarded
from ._portable import eig as _eig
from ._promotion import floating, floating_pair, pair
from ._types import Array
from .casting import as_dtype
from .products import matmul as matmul
from .products import matrix_transpose as matrix_transpose
from .products import tensordot as tensordot
from .products import vecdot as vecdot
from .tracing import is_concrete

_xp: Any = sys.modules[__package__]


def _matrix(x: Array) -> Any:
    """A matrix in a type of LAPACK: integers in the default float, 16-bit floats in float32."""
    x = floating(x)
    return x.astype("float32") if x.dtype.itemsize == 2 else x


def _back(result: Any, x: Array) -> Any:
    """The 16-bit floats are cast back to their own type."""
    x = floating(x)
    return result.astype(x.dtype) if x.dtype.itemsize == 2 else result


def _all_back(results: Any, x: Array) -> list[Any]:
    return [_back(part, x) for part in results]


def _guarded(function: str, values: Any, vectors: Any, *, axis: int = -1) -> Any:
    """What is not being traced is not being differentiated."""
    if not isinstance(vectors, jax.core.Tracer):
        return vectors
    return guarded(_xp, function, values, vectors, axis=axis)


def _refuse_singular(function: str, matrix: Any, result: Any) -> None:
    """XLA cannot raise, and returns nan or infinity; where the values are known, this raises as the
    other frameworks do. Matrices with nan, and inverses too large for the type, may pass.
    """
    if not is_concrete(result) or bool(jnp.all(jnp.isfinite(result))):
        return
    is_finite = jnp.all(jnp.isfinite(matrix), axis=(-2, -1))
    if function == "cholesky":
        is_bad = jnp.any(jnp.isnan(result), axis=(-2, -1))
    else:
        pivots = jnp.diagonal(jax.scipy.linalg.lu_factor(matrix)[0], axis1=-2, axis2=-1)
        is_bad = jnp.any(pivots == 0, axis=-1)
    if bool(jnp.any(is_finite & is_bad)):
        raise singular(function)


def cholesky(x: Array, /, *, upper: bool = False) -> Any:
    matrix = _matrix(x)
    result = jnp.linalg.cholesky(matrix, upper=upper)
    _refuse_singular("cholesky", matrix, result)
    # The rows before the failure have values, but not those of a decomposition.
    has_failed = jnp.any(jnp.isnan(result), axis=(-2, -1), keepdims=True)
    return _back(jnp.where(has_failed, jnp.nan, result), x)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return jnp.linalg.cross(*pair(x1, x2), axis=axis)


def det(x: Array, /) -> Any:
    if x.shape[-1] == 0:
        return jnp.ones(x.shape[:-2], floating(x).dtype)  # the product of nothing
    return _back(jnp.linalg.det(_matrix(x)), x)


def diagonal(x: Array, /, *, offset: int = 0) -> Any:
    return jnp.linalg.diagonal(x, offset=offset)


def eig(x: Array, /) -> EigResult[Any]:
    values, vectors = _eig(_matrix(x))
    return EigResult(values, _guarded("eig", values, vectors))


def eigvals(x: Array, /) -> Any:
    return jnp.linalg.eigvals(_matrix(x))


def eigh(x: Array, /) -> EighResult[Any]:
    values, vectors = jnp.linalg.eigh(_matrix(x))
    return EighResult(*_all_back((values, _guarded("eigh", values, vectors)), x))


def eigvalsh(x: Array, /) -> Any:
    return _back(jnp.linalg.eigvalsh(_matrix(x)), x)


def inv(x: Array, /) -> Any:
    matrix = _matrix(x)
    result = jnp.linalg.inv(matrix)
    _refuse_singular("inv", matrix, result)
    return _back(result, x)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return _back(norm_of_matrices(_xp, _matrix(x), keepdims=keepdims, ord=ord), x)


def matrix_power(x: Array, n: int, /) -> Any:
    if n < 0:
        matrix = _matrix(x)
        result = jnp.linalg.matrix_power(matrix, n)
        _refuse_singular("matrix_power", matrix, result)
        return _back(result, x)
    return jnp.linalg.matrix_power(x, n)


def pinv(x: Array, /, *, rtol: Any = None) -> Any:
    matrix = _matrix(x)
    if rtol is None:  # that of JAX is ten times as large
        rtol = max(x.shape[-2:]) * float(jnp.finfo(matrix.dtype).eps)
    return _back(jnp.linalg.pinv(matrix, rtol), x)


def qr(x: Array, /, *, mode: str = "reduced") -> QRResult[Any]:
    return QRResult(*_all_back(jnp.linalg.qr(_matrix(x), mode), x))


def slogdet(x: Array, /) -> SlogdetResult[Any]:
    return SlogdetResult(*_all_back(jnp.linalg.slogdet(_matrix(x)), x))


def solve(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    matrix = _matrix(x1)
    result = jnp.linalg.solve(matrix, _matrix(x2))
    _refuse_singular("solve", matrix, result)
    return _back(result, x1)


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult[Any]:
    u, s, vh = jnp.linalg.svd(_matrix(x), full_matrices=full_matrices)
    u, vh = _guarded("svd", s, u), _guarded("svd", s, vh, axis=-2)
    return SVDResult(*_all_back((u, s, vh), x))


def svdvals(x: Array, /) -> Any:
    return _back(jnp.linalg.svdvals(_matrix(x)), x)


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return jnp.linalg.trace(x, offset=offset, dtype=as_dtype(dtype))


def vector_norm(
    x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    x = floating(x)
    if ord == 0:
        return jnp.sum(x != 0, axis=axis, keepdims=keepdims, dtype=jnp.finfo(x.dtype).dtype)
    return norm_of_vectors(_xp, x, axis=axis, keepdims=keepdims, ord=ord, where=jnp.where)
