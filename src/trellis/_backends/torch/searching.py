"""Finding elements."""

from typing import Any

import torch

from ..._core.dtypes import of_numbers
from ..._core.errors import ShapeError
from ..._core.shapes import normal_axes
from ._helpers import FEW_KERNELS, NATIVE, both, filled, ordered
from ._types import Tensor


def _ranked(x: Tensor) -> Any:
    """`x` in a dtype that PyTorch can compare, in the same order."""
    if x.dtype in FEW_KERNELS:
        return ordered(x)
    return x.to(torch.uint8) if x.dtype is torch.bool else x


def argmax(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    return torch.argmax(_ranked(x), axis, keepdims)


def argmin(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    return torch.argmin(_ranked(x), axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    nonzero = x if x.dtype is torch.bool else x != 0
    return nonzero.to(torch.int64) if axis == () else torch.sum(nonzero, axis, keepdims)


def nonzero(x: Tensor, /) -> Any:
    if x.ndim == 0:
        raise ShapeError(
            "nonzero() needs an array of at least one axis. Write x[None] for a 0-d array."
        )
    return torch.nonzero(x != 0 if x.dtype in FEW_KERNELS else x, as_tuple=True)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    x1, x2 = both(x1, x2)
    order = None if sorter is None else sorter.to(torch.int64)
    if not x1.dtype.is_floating_point:
        return _searched(x1, x2, side, order)
    # PyTorch looks for nan nowhere in particular; they come last, as `sort` puts them.
    is_nan = torch.isnan(x1)
    count = (~is_nan).sum(-1, keepdim=x1.ndim > 1)
    found = _searched(torch.where(is_nan, torch.inf, x1), x2, side, order)
    last = count if side == "left" else x1.shape[-1]
    return torch.where(torch.isnan(x2), last, torch.minimum(found, count))


def _searched(x1: Any, x2: Any, side: str, order: Any) -> Any:
    # PyTorch warns of hidden copies of tensors that are not contiguous.
    return torch.searchsorted(
        _ranked(x1).contiguous(), _ranked(x2).contiguous(), side=side, sorter=order
    )


def where(condition: Tensor, x1: Any, x2: Any, /) -> Any:
    if isinstance(x1, torch.Tensor) or isinstance(x2, torch.Tensor):
        x1, x2 = both(x1, x2)
        if x1.dtype in FEW_KERNELS:
            return torch.where(condition, x1.to(torch.int64), x2.to(torch.int64)).to(x1.dtype)
        return torch.where(condition, x1, x2)
    dtype = NATIVE[of_numbers((x1, x2))]
    device = condition.device
    return torch.where(condition, filled(x1, dtype, device), filled(x2, dtype, device))


def topk(x: Tensor, k: int, /, *, axis: int = -1, largest: bool = True) -> Any:
    """The `k` largest (or smallest) elements along an axis, in order, and their indices.

    Of equal elements the one with the lower index comes first. torch.topk promises no such order,
    so this is a stable sort.
    """
    values, indices = torch.sort(x, dim=axis, descending=largest, stable=True)
    return torch.narrow(values, axis, 0, k), torch.narrow(indices, axis, 0, k)
