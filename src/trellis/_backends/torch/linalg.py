"""The linear algebra extension."""

from typing import Any

import torch

from ..._core.results import EighResult, QRResult, SlogdetResult, SVDResult
from ._helpers import FEW_KERNELS, both
from .elementwise import multiply
from .products import matmul as matmul
from .products import matrix_transpose as matrix_transpose
from .products import tensordot as tensordot
from .products import vecdot as vecdot
from .reduction import sum

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


det = torch.linalg.det
eigvalsh = torch.linalg.eigvalsh
inv = torch.linalg.inv
matrix_power = torch.linalg.matrix_power
svdvals = torch.linalg.svdvals


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    return torch.linalg.cholesky(x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = both(x1, x2)
    if x1.ndim != x2.ndim:
        x1, x2 = torch.broadcast_tensors(x1, x2)
    if x1.dtype in FEW_KERNELS:
        return torch.linalg.cross(x1.to(torch.int64), x2.to(torch.int64), dim=axis).to(x1.dtype)
    return torch.linalg.cross(x1, x2, dim=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return torch.diagonal(x, offset, -2, -1)


def eigh(x: Any, /) -> EighResult[Any]:
    return EighResult(*torch.linalg.eigh(x))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return torch.linalg.matrix_norm(x, ord, (-2, -1), keepdims)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    return torch.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Any, x2: Any, /) -> Any:
    return multiply(x1[:, None], x2[None, :])


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    return torch.linalg.pinv(x, rtol=rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult[Any]:
    return QRResult(*torch.linalg.qr(x, mode))


def slogdet(x: Any, /) -> SlogdetResult[Any]:
    return SlogdetResult(*torch.linalg.slogdet(x))


def solve(x1: Any, x2: Any, /) -> Any:
    x1, x2 = both(x1, x2)
    # PyTorch takes x2 for a batch of vectors where the standard sees one matrix.
    if x2.ndim > 1 and x2.ndim == x1.ndim - 1 and x2.shape == x1.shape[:-1]:
        x2 = x2[None]
    return torch.linalg.solve(x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult[Any]:
    return SVDResult(*torch.linalg.svd(x, full_matrices))


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return sum(torch.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    if axis == ():
        return torch.linalg.vector_norm(x[None], ord, 0)
    return torch.linalg.vector_norm(x, ord, axis, keepdims)
