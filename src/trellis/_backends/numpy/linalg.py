"""The linalg extension on NumPy."""

from typing import Any

import numpy as np

from ..._core.dtypes import name_of
from ..._core.results import EighResult, QRResult, SlogdetResult, SVDResult
from ..._core.shapes import check_three
from ._helpers import floating, floating_pair, is_bfloat16, pair, rounded, widened
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


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    return np.linalg.cholesky(x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    check_three(x1.shape[axis], x2.shape[axis])
    x1, x2 = pair(x1, x2)
    return np.cross(x1, x2, axisa=axis, axisb=axis, axisc=axis)


def det(x: Any, /) -> Any:
    return np.linalg.det(x)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.linalg.diagonal(x, offset=offset)


def eigh(x: Any, /) -> EighResult[Any]:
    return EighResult(*np.linalg.eigh(x))


def eigvalsh(x: Any, /) -> Any:
    return np.linalg.eigvalsh(x)


def inv(x: Any, /) -> Any:
    return np.linalg.inv(x)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if is_bfloat16(x):
        return rounded(matrix_norm(widened(x), keepdims=keepdims, ord=ord))
    return np.linalg.matrix_norm(floating(x), keepdims=keepdims, ord=ord)


def matrix_power(x: Any, n: int, /) -> Any:
    return np.linalg.matrix_power(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    return np.linalg.matrix_rank(x, rtol=rtol) if rtol is not None else np.linalg.matrix_rank(x)


def outer(x1: Any, x2: Any, /) -> Any:
    return np.linalg.outer(*pair(x1, x2))


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    if rtol is None:
        rtol = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return np.linalg.pinv(x, rtol=rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult[Any]:
    return QRResult(*np.linalg.qr(x, mode=mode))  # type: ignore[call-overload]


def slogdet(x: Any, /) -> SlogdetResult[Any]:
    return SlogdetResult(*np.linalg.slogdet(x))


def solve(x1: Any, x2: Any, /) -> Any:
    return np.linalg.solve(*floating_pair(x1, x2))


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult[Any]:
    return SVDResult(*np.linalg.svd(x, full_matrices=full_matrices))


def svdvals(x: Any, /) -> Any:
    return np.linalg.svdvals(x)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    if dtype is None and name_of(x.dtype) == "bool":
        dtype = "int64"
    return sum(np.linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    if is_bfloat16(x):
        return rounded(vector_norm(widened(x), axis=axis, keepdims=keepdims, ord=ord))
    return np.linalg.vector_norm(floating(x), axis=axis, keepdims=keepdims, ord=ord)
