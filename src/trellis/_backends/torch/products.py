"""Products of matrices and vectors."""

from typing import Any

import torch
from torch import matmul as torch_matmul  # a name of its own is found faster than one in a module

from ..._core.shapes import check_lengths
from ._helpers import FLOAT32, INEXACT, NO_PRODUCTS, all_same, both
from ._types import Tensor


def matmul(x1: Any, x2: Any, /) -> Any:
    dtype = x1.dtype
    if dtype is FLOAT32 and dtype is x2.dtype:
        return torch_matmul(x1, x2)
    if dtype is not x2.dtype:
        x1, x2 = both(x1, x2)
        dtype = x1.dtype
    if dtype in NO_PRODUCTS:
        return torch.matmul(x1.to(torch.int64), x2.to(torch.int64)).to(x1.dtype)
    return torch_matmul(x1, x2)


def matrix_transpose(x: Tensor, /) -> Any:
    return torch.transpose(x, -2, -1)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    if x1.dtype is not x2.dtype:
        x1, x2 = both(x1, x2)
    pairs = (
        zip(*axes, strict=True) if not isinstance(axes, int) else zip(range(-axes, 0), range(axes))
    )
    for i, j in pairs:  # torch would broadcast a length of 1
        check_lengths("tensordot", "axes", x1.shape[i], x2.shape[j])
    if x1.dtype in NO_PRODUCTS:
        return torch.tensordot(x1.to(torch.int64), x2.to(torch.int64), axes).to(x1.dtype)
    return torch.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    if x1.dtype is not x2.dtype:
        x1, x2 = both(x1, x2)
    check_lengths("vecdot", "vectors", x1.shape[axis], x2.shape[axis])
    if x1.dtype in INEXACT:
        return torch.linalg.vecdot(x1, x2, dim=axis)
    if x1.dtype in NO_PRODUCTS:
        return torch.sum(x1.to(torch.int64) * x2.to(torch.int64), axis).to(x1.dtype)
    return torch.sum(x1 * x2, axis, dtype=x1.dtype)


def einsum(subscripts: str, /, *xs: Any) -> Any:
    """Sums of products by Einstein's convention, for example `einsum("ij,jk->ik", a, b)`."""
    same = all_same(xs)
    if same[0].dtype in NO_PRODUCTS:
        return torch.einsum(subscripts, *[x.to(torch.int64) for x in same]).to(same[0].dtype)
    # Sums without a product are int64 of any integers.
    return torch.einsum(subscripts, *same).to(same[0].dtype)
