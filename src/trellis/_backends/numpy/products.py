"""Products of arrays, on NumPy."""

from typing import Any

import numpy as np

__all__ = [
    "einsum",
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
]

matmul = np.matmul


def matrix_transpose(x: Any, /) -> Any:
    return np.matrix_transpose(x)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return np.tensordot(x1, x2, axes=axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return np.vecdot(x1, x2, axis=axis)


def einsum(subscripts: str, /, *xs: Any) -> Any:
    return np.einsum(subscripts, *xs, optimize=len(xs) > 2)
