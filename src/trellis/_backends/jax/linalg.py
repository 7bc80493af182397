"""The `linalg` extension of the Array API standard."""

import builtins
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp

from ..._core.results import EighResult, QRResult, SlogdetResult, SVDResult
from ..._core.shapes import normal_axes
from ..exports import hand_on
from ..shared import norms
from ._promotion import floating, floating_pair, pair
from .casting import as_dtype
from .elementwise import abs as absolute
from .products import matmul as matmul
from .products import matrix_transpose as matrix_transpose
from .products import tensordot as tensordot
from .products import vecdot as vecdot


def _matrix(x: Any) -> Any:
    """A matrix in a type that LAPACK has: integers in the default float, 16 bits in float32."""
    x = floating(x)
    return x.astype("float32") if x.dtype.itemsize == 2 else x


def _back(result: Any, x: Any) -> Any:
    """The 16-bit floats get their own type back."""
    x = floating(x)
    return result.astype(x.dtype) if x.dtype.itemsize == 2 else result


def _all_back(results: Any, x: Any) -> list[Any]:
    return [_back(part, x) for part in results]


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    return _back(jnp.linalg.cholesky(_matrix(x), upper=upper), x)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return jnp.linalg.cross(*pair(x1, x2), axis=axis)


def det(x: Any, /) -> Any:
    if x.shape[-1] == 0:
        return jnp.ones(x.shape[:-2], floating(x).dtype)  # the product of nothing
    return _back(jnp.linalg.det(_matrix(x)), x)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return jnp.linalg.diagonal(x, offset=offset)


def eigh(x: Any, /) -> EighResult[Any]:
    return EighResult(*_all_back(jnp.linalg.eigh(_matrix(x)), x))


def eigvalsh(x: Any, /) -> Any:
    return _back(jnp.linalg.eigvalsh(_matrix(x)), x)


def inv(x: Any, /) -> Any:
    return _back(jnp.linalg.inv(_matrix(x)), x)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return _back(norms.matrix_norm(_ops, _matrix(x), keepdims=keepdims, ord=ord), x)


def matrix_power(x: Any, n: int, /) -> Any:
    if n < 0:
        return _back(jnp.linalg.matrix_power(_matrix(x), n), x)
    return jnp.linalg.matrix_power(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    s = svdvals(_matrix(x))
    if rtol is None:
        rtol = builtins.max(x.shape[-2:]) * jnp.finfo(s.dtype).eps
    largest = jnp.max(s, axis=-1, keepdims=True, initial=0)
    # JAX's own takes rtol for an absolute limit.
    limit = jnp.asarray(rtol, s.dtype)[..., None] * largest
    return jnp.sum(s > limit, axis=-1)


def outer(x1: Any, x2: Any, /) -> Any:
    return jnp.linalg.outer(*pair(x1, x2))


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    return _back(jnp.linalg.pinv(_matrix(x), rtol), x)


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult[Any]:
    return QRResult(*_all_back(jnp.linalg.qr(_matrix(x), mode), x))


def slogdet(x: Any, /) -> SlogdetResult[Any]:
    return SlogdetResult(*_all_back(jnp.linalg.slogdet(_matrix(x)), x))


def solve(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    return _back(jnp.linalg.solve(_matrix(x1), _matrix(x2)), x1)


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult[Any]:
    return SVDResult(*_all_back(jnp.linalg.svd(_matrix(x), full_matrices=full_matrices), x))


def svdvals(x: Any, /) -> Any:
    return _back(jnp.linalg.svdvals(_matrix(x)), x)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return jnp.linalg.trace(x, offset=offset, dtype=as_dtype(dtype))


def vector_norm(
    x: Any, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    x = floating(x)
    return norms.vector_norm(_ops, x, axis=axis, keepdims=keepdims, ord=ord)


def _count(x: Any, axis: Any) -> int:
    return math.prod([x.shape[a] for a in normal_axes(axis, x.ndim)])


_ops = SimpleNamespace(
    abs=absolute,
    all=jnp.all,
    any=jnp.any,
    cast_like=lambda x, like: x.astype(like.dtype),
    count=_count,
    max=jnp.max,
    min=jnp.min,
    sqrt=jnp.sqrt,
    stop=jax.lax.stop_gradient,
    sum=jnp.sum,
    svdvals=svdvals,
    where=jnp.where,
)


hand_on(globals(), "linalg")
