"""The linalg extension on NumPy."""

import builtins
import sys
from typing import Any

import numpy as np

from ..._core.results import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from ..._core.shapes import check_three
from ..shared.norms import norm_of_matrices, norm_of_vectors
from . import _portable
from ._helpers import FLOAT32, floating, floating_pair, pair
from ._tape import stop
from .products import matmul as matmul
from .products import matrix_transpose as matrix_transpose
from .products import tensordot as tensordot
from .products import vecdot as vecdot
from .searching import where

_xp: Any = sys.modules[__package__]


def _matrix(x: Any) -> Any:
    """A matrix in a type of LAPACK: integers in the default float, 16-bit floats in float32."""
    x = floating(x)
    return x.astype(FLOAT32) if x.dtype.itemsize == 2 else x


def _back(result: Any, x: Any) -> Any:
    """The 16-bit floats are cast back to their own type."""
    return result.astype(floating(x).dtype) if floating(x).dtype.itemsize == 2 else result


def _all_back(results: Any, x: Any) -> Any:
    return type(results)(*[_back(part, x) for part in results])


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    result = np.linalg.cholesky(_matrix(x), upper=upper)
    has_failed = np.any(np.isnan(stop(result)), axis=(-2, -1), keepdims=True)
    if has_failed.any():
        # The rows before the failure have values, but not those of a decomposition.
        result = where(has_failed, np.nan, result)
    return _back(result, x)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    check_three(x1.shape[axis], x2.shape[axis])
    x1, x2 = pair(x1, x2)
    return np.cross(x1, x2, axisa=axis, axisb=axis, axisc=axis)


def det(x: Any, /) -> Any:
    return _back(np.linalg.det(_matrix(x)), x)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.linalg.diagonal(x, offset=offset)


def eig(x: Any, /) -> EigResult[Any]:
    return EigResult(*_portable.eig(_matrix(x)))


def eigvals(x: Any, /) -> Any:
    values = np.linalg.eigvals(_matrix(x))
    return values.astype(np.result_type(values.dtype, np.complex64))


def eigh(x: Any, /) -> EighResult[Any]:
    return EighResult(*_all_back(np.linalg.eigh(_matrix(x)), x))


def eigvalsh(x: Any, /) -> Any:
    return _back(np.linalg.eigvalsh(_matrix(x)), x)


def inv(x: Any, /) -> Any:
    return _back(np.linalg.inv(_matrix(x)), x)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return _back(norm_of_matrices(_xp, _matrix(x), keepdims=keepdims, ord=ord), x)


def matrix_power(x: Any, n: int, /) -> Any:
    if n < 0 or x.dtype.kind == "V":
        return _back(np.linalg.matrix_power(_matrix(x), n), x)
    return np.linalg.matrix_power(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    x = _matrix(x)
    if 0 in x.shape[-2:]:
        return np.zeros(
            x.shape[:-2], np.int64
        )  # NumPy before 2.3 raises for the maximum of no values
    return np.linalg.matrix_rank(x, rtol=rtol) if rtol is not None else np.linalg.matrix_rank(x)


def outer(x1: Any, x2: Any, /) -> Any:
    return np.linalg.outer(*pair(x1, x2))


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    matrix = _matrix(x)
    if rtol is None:
        rtol = builtins.max(x.shape[-2:]) * np.finfo(matrix.dtype).eps
    return _back(np.linalg.pinv(matrix, rtol=rtol), x)


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult[Any]:
    return QRResult(*_all_back(np.linalg.qr(_matrix(x), mode=mode), x))


def slogdet(x: Any, /) -> SlogdetResult[Any]:
    return SlogdetResult(*_all_back(np.linalg.slogdet(_matrix(x)), x))


def solve(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    return _back(np.linalg.solve(_matrix(x1), _matrix(x2)), x1)


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult[Any]:
    return SVDResult(*_all_back(np.linalg.svd(_matrix(x), full_matrices=full_matrices), x))


def svdvals(x: Any, /) -> Any:
    return _back(np.linalg.svdvals(_matrix(x)), x)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    wide = _matrix(x)
    if ord in (1, 2, 0):
        return _back(np.linalg.vector_norm(wide, axis=axis, keepdims=keepdims, ord=ord), x)
    norm = norm_of_vectors(_xp, wide, axis=axis, keepdims=keepdims, ord=ord)
    return _back(norm, x)
