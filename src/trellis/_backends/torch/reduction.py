"""Reductions and running totals.

PyTorch takes axis 0 and -1 for an array without axes; `normal_axes` refuses them, as everywhere.
"""

import builtins
import math
from typing import Any

import torch
from torch import mean as torch_mean  # names of their own are found faster than those in a module
from torch import sum as torch_sum

from ..._core.shapes import check_order, normal_axes, normal_axis, only_axis
from ._helpers import (
    COMPLEX,
    FEW_KERNELS,
    FLOAT32,
    UNSIGNED,
    all_same,
    as_float,
    ordered,
    unordered,
)
from ._types import Tensor
from .casting import as_dtype


def _total_dtype(x: Tensor, dtype: Any) -> Any:
    """Sums and products of unsigned integers are uint64; PyTorch already makes int64 of the
    others.
    """
    if dtype is not None:
        return as_dtype(dtype)
    return torch.uint64 if x.dtype in UNSIGNED else None


def _carried(fn: Any, x: Tensor, native: Any) -> Any:
    """`fn(x, dtype)` where either type may have few kernels; modulo 2**64 int64 is as good as
    uint64.
    """
    if native in FEW_KERNELS:
        return fn(x.to(torch.int64), torch.int64).to(native)
    return fn(x.to(torch.int64) if x.dtype in FEW_KERNELS else x, native)


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    if axis is None and dtype is None and x.dtype is FLOAT32 and not keepdims:
        return torch_sum(x)
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if axis == ():
        return _unreduced(x, dtype)
    if dtype is None and x.dtype not in UNSIGNED:
        return torch_sum(x, axis, keepdims)
    native = _total_dtype(x, dtype)
    if native in FEW_KERNELS:
        return torch.sum(x.to(torch.int64), axis, keepdims).to(native)
    return torch.sum(x, axis, keepdims, dtype=native)


def _unreduced(x: Tensor, dtype: Any) -> Any:
    native = _total_dtype(x, dtype)
    is_small_int = not (x.dtype.is_floating_point or x.dtype.is_complex)
    return x.to(torch.int64 if native is None and is_small_int else native or x.dtype, copy=True)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if axis == ():
        return _unreduced(x, dtype)
    native = _total_dtype(x, dtype)
    if native in COMPLEX:
        x = x.to(native)  # PyTorch's derivative is that of a real product
    if native in FEW_KERNELS:
        return prod(x.to(torch.int64), axis=axis, keepdims=keepdims).to(native)
    if isinstance(axis, int):
        return torch.prod(x, axis, keepdims, dtype=native)
    if axis is None and not keepdims:
        return torch.prod(x, dtype=native)
    axes = sorted(normal_axes(axis, x.ndim), reverse=True)
    out = x
    for a in axes:  # PyTorch multiplies along one axis at a time
        out = torch.prod(out, a, keepdims, dtype=native)
    return out if axes else torch.prod(x, dtype=native)


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if axis == ():
        return x.clone()
    if x.dtype in FEW_KERNELS:
        return unordered(max(ordered(x), axis=axis, keepdims=keepdims), x.dtype)
    return torch.amax(x, () if axis is None else axis, keepdims)


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if axis == ():
        return x.clone()
    if x.dtype in FEW_KERNELS:
        return unordered(min(ordered(x), axis=axis, keepdims=keepdims), x.dtype)
    return torch.amin(x, () if axis is None else axis, keepdims)


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if axis == ():
        return as_float(x).clone()
    return torch_mean(as_float(x), axis, keepdims)


def std(x: Tensor, /, *, axis: Any = None, correction: Any = 0.0, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if axis == ():
        return torch.sqrt(var(x, axis=axis, correction=correction))
    result = torch.std(as_float(x), axis, correction=correction, keepdim=keepdims)
    return _of_enough(result, x, axis, correction)


def var(x: Tensor, /, *, axis: Any = None, correction: Any = 0.0, keepdims: bool = False) -> Any:
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if axis == ():
        result = torch.var(as_float(x)[None], 0, correction=correction)
    else:
        result = torch.var(as_float(x), axis, correction=correction, keepdim=keepdims)
    return _of_enough(result, x, axis, correction)


def _of_enough(result: Any, x: Tensor, axis: Any, correction: Any) -> Any:
    """The standard's nan where there are too few elements for a variance."""
    if correction < 1:  # of no elements PyTorch's own is nan
        return result
    count = math.prod([x.shape[a] for a in normal_axes(axis, x.ndim)])
    return result if count > correction else result * torch.nan


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    # PyTorch answers uint8 with uint8, and lacks kernels for other unsigned types.
    truth = x if x.dtype is torch.bool else x != 0
    if axis is None and not keepdims:
        return torch.all(truth)
    return truth if axis == () else torch.all(truth, normal_axes(axis, x.ndim), keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    truth = x if x.dtype is torch.bool else x != 0
    if axis is None and not keepdims:
        return torch.any(truth)
    return truth if axis == () else torch.any(truth, normal_axes(axis, x.ndim), keepdims)


def cumulative_sum(
    x: Tensor, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    along = only_axis("cumulative_sum", x.ndim) if axis is None else normal_axis(axis, x.ndim)
    out = _carried(
        lambda y, native: torch.cumsum(y, along, dtype=native), x, _total_dtype(x, dtype)
    )
    return _with_initial(out, along, 0) if include_initial else out


def cumulative_prod(
    x: Tensor, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    along = only_axis("cumulative_prod", x.ndim) if axis is None else normal_axis(axis, x.ndim)
    out = _carried(
        lambda y, native: torch.cumprod(y, along, dtype=native), x, _total_dtype(x, dtype)
    )
    return _with_initial(out, along, 1) if include_initial else out


def _with_initial(x: Tensor, axis: int, value: int) -> Any:
    if x.ndim == 0:
        x = x[None]
    shape = list(x.shape)
    shape[axis] = 1
    return torch.cat([torch.full(shape, value, dtype=x.dtype, device=x.device), x], axis)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Any:
    check_order(n)
    pieces = [piece for piece in (prepend, x, append) if piece is not None]
    joined = torch.cat(all_same(pieces), axis) if builtins.len(pieces) > 1 else x
    if joined.dtype in FEW_KERNELS:
        return torch.diff(joined.to(torch.int64), n, axis).to(joined.dtype)
    return torch.diff(joined, n, axis)


def logsumexp(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) without overflow."""
    if axis is not None and x.ndim == 0:
        normal_axes(axis, 0)
    if axis == ():
        return as_float(x).clone()
    return torch.logsumexp(as_float(x), normal_axes(axis, x.ndim), keepdims)
