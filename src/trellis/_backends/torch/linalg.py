"""The linear algebra extension."""

import sys
from typing import Any

import torch

from ..._core.results import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from ..shared.norms import norm_of_matrices, norm_of_vectors
from ..shared.repeated import guarded
from . import _portable
from ._helpers import FEW_KERNELS, INEXACT, both, default_float
from ._private import running_transform
from ._types import Tensor
from .gradients import loses_rules
from .products import matmul as matmul
from .products import matrix_transpose as matrix_transpose
from .products import tensordot as tensordot
from .products import vecdot as vecdot
from .reduction import sum
from .tracing import is_concrete

_HALVES = (torch.float16, torch.bfloat16)

_xp: Any = sys.modules[__package__]


def _matrix(x: Tensor) -> Any:
    """A matrix in a type of LAPACK: integers in the default float, 16-bit floats in float32."""
    x = x if x.dtype in INEXACT else x.to(default_float())
    return x.to(torch.float32) if x.dtype in _HALVES else x


def _back(result: Any, x: Tensor) -> Any:
    """The 16-bit floats are cast back to their own type."""
    dtype = x.dtype if x.dtype in INEXACT else default_float()
    return result.to(dtype) if dtype in _HALVES else result


def _all_back(results: Any, x: Tensor) -> list[Any]:
    return [_back(part, x) for part in results]


def cholesky(x: Tensor, /, *, upper: bool = False) -> Any:
    return _back(torch.linalg.cholesky(_matrix(x), upper=upper), x)


def det(x: Tensor, /) -> Any:
    return _back(_det(_matrix(x)), x)


def _det(x: Tensor) -> Any:
    """PyTorch's own gradient is 0 for every singular matrix: for those, the cofactors give it."""
    value = torch.linalg.det(x)
    if not x.requires_grad or x.shape[-1] == 0:
        return value
    u, s, vh = torch.linalg.svd(x.detach())
    is_singular = s[..., -1] <= s[..., 0] * (x.shape[-1] * torch.finfo(s.dtype).eps)
    if is_concrete(is_singular) and not bool(torch.any(is_singular)):
        return value
    diagonal = torch.eye(x.shape[-1], dtype=torch.bool, device=x.device)
    others = torch.prod(torch.where(diagonal, 1, s[..., None, :]), -1).to(x.dtype)
    sign = torch.linalg.det(u) * torch.linalg.det(vh)
    cofactors = sign[..., None, None] * ((u.conj() * others[..., None, :]) @ vh.conj())
    # Its value is that of det, its derivative the cofactors.
    linear = value.detach() + torch.sum(cofactors * (x - x.detach()), (-2, -1))
    return torch.where(is_singular, linear, value)


def eigvalsh(x: Tensor, /) -> Any:
    return _back(torch.linalg.eigvalsh(_matrix(x)), x)


def inv(x: Tensor, /) -> Any:
    return _back(torch.linalg.inv(_matrix(x)), x)


def matrix_power(x: Tensor, n: int, /) -> Any:
    if n < 0:
        return _back(torch.linalg.matrix_power(_matrix(x), n), x)
    if x.dtype in FEW_KERNELS or x.dtype is torch.bool:
        return torch.linalg.matrix_power(x.to(torch.int64), n).to(x.dtype)
    return torch.linalg.matrix_power(x, n)


def svdvals(x: Tensor, /) -> Any:
    return _back(torch.linalg.svdvals(_matrix(x)), x)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = both(x1, x2)
    if x1.ndim != x2.ndim:
        x1, x2 = torch.broadcast_tensors(x1, x2)
    if x1.dtype in FEW_KERNELS:
        return torch.linalg.cross(x1.to(torch.int64), x2.to(torch.int64), dim=axis).to(x1.dtype)
    return torch.linalg.cross(x1, x2, dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Any:
    return torch.diagonal(x, offset, -2, -1)


def eig(x: Tensor, /) -> EigResult[Any]:
    matrix, is_bad = _finite(_matrix(x))
    values, vectors = _portable.eig(matrix)
    vectors = _guarded("eig", values, vectors)
    nan = torch.nan
    return EigResult(torch.where(is_bad[..., 0], nan, values), torch.where(is_bad, nan, vectors))


def eigvals(x: Tensor, /) -> Any:
    matrix, is_bad = _finite(_matrix(x))
    return torch.where(is_bad[..., 0], torch.nan, torch.linalg.eigvals(matrix))


def _finite(x: Tensor) -> tuple[Any, Any]:
    """Matrices without nan and infinity, for which LAPACK's general driver returns any numbers, and
    which of them had some."""
    is_bad = ~torch.isfinite(x).all(-1).all(-1)[..., None, None]
    return torch.where(is_bad, torch.eye(x.shape[-1], dtype=x.dtype, device=x.device), x), is_bad


def eigh(x: Tensor, /) -> EighResult[Any]:
    values, vectors = torch.linalg.eigh(_matrix(x))
    return EighResult(*_all_back((values, _guarded("eigh", values, vectors)), x))


def _guarded(function: str, values: Any, vectors: Any, *, axis: int = -1) -> Any:
    """Vectors that nobody differentiates are left alone, and those in compiled loops, where the
    compiler loses custom derivatives."""
    if torch.compiler.is_compiling():
        if loses_rules():
            return vectors
    elif not vectors.requires_grad and running_transform() is None:
        return vectors
    return guarded(_xp, function, values, vectors, axis=axis)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return _back(norm_of_matrices(_xp, _matrix(x), keepdims=keepdims, ord=ord), x)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Any:
    return torch.linalg.matrix_rank(_matrix(x), rtol=rtol)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Any:
    return _back(torch.linalg.pinv(_matrix(x), rtol=rtol), x)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult[Any]:
    return QRResult(*_all_back(torch.linalg.qr(_matrix(x), mode), x))


def slogdet(x: Tensor, /) -> SlogdetResult[Any]:
    return SlogdetResult(*_all_back(torch.linalg.slogdet(_matrix(x)), x))


def solve(x1: Any, x2: Any, /) -> Any:
    x1, x2 = both(x1, x2)
    # PyTorch treats x2 as a batch of vectors where the standard has one matrix.
    if x2.ndim > 1 and x2.ndim == x1.ndim - 1 and x2.shape == x1.shape[:-1]:
        x2 = x2[None]
    return _back(torch.linalg.solve(_matrix(x1), _matrix(x2)), x1)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult[Any]:
    u, s, vh = torch.linalg.svd(_matrix(x), full_matrices)
    u, vh = _guarded("svd", s, u), _guarded("svd", s, vh, axis=-2)
    return SVDResult(*_all_back((u, s, vh), x))


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return sum(torch.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = x if x.dtype in INEXACT else x.to(default_float())
    if axis == ():
        x, axis = x[None], 0
    if ord in (1, 2, 0):
        return torch.linalg.vector_norm(x, ord, axis, keepdims)
    return norm_of_vectors(_xp, x, axis=axis, keepdims=keepdims, ord=ord, where=torch.where)
