"""Distinct elements. NaNs are all distinct; shapes depend on values, so these do not compile."""

from typing import Any

import torch

from ..._core.results import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from ._types import Tensor


def _unique(x: Tensor) -> tuple[Any, Any, Any]:
    """Values, inverse indices, counts."""
    if x.dtype.is_complex:
        return _unique_complex(x)
    values, inverse, counts = torch.unique(x.detach(), return_inverse=True, return_counts=True)
    if x.dtype.is_floating_point:  # PyTorch's values have no derivative; those taken from `x` do
        values = x.reshape(-1)[_first(inverse, counts)]
    return values, inverse.reshape(x.shape), counts


def _first(inverse: Tensor, counts: Tensor) -> Any:
    """Where each value is for the first time."""
    first = torch.full_like(counts, inverse.numel())
    place = torch.arange(inverse.numel(), device=inverse.device)
    return first.scatter_reduce(0, inverse.reshape(-1), place, "amin")


def _unique_complex(x: Tensor) -> tuple[Any, Any, Any]:
    """PyTorch does not sort complex numbers: sort by the imaginary part, then stably by the real
    one.
    """
    flat = x.reshape(-1)
    order = torch.sort(flat.imag, stable=True).indices
    order = order[torch.sort(flat.real[order], stable=True).indices]
    ordered = flat[order]
    is_new = torch.ones_like(order, dtype=torch.bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    group = torch.cumsum(is_new, 0) - 1
    inverse = torch.empty_like(order)
    inverse[order] = group
    values = ordered[is_new]
    counts = torch.bincount(group, minlength=values.shape[0])
    return values, inverse.reshape(x.shape), counts


def unique_all(x: Tensor, /) -> UniqueAllResult[Any]:
    values, inverse, counts = _unique(x)
    return UniqueAllResult(values, _first(inverse, counts), inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCountsResult[Any]:
    values, _, counts = _unique(x)
    return UniqueCountsResult(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverseResult[Any]:
    values, inverse, _ = _unique(x)
    return UniqueInverseResult(values, inverse)


def unique_values(x: Tensor, /) -> Any:
    return _unique(x)[0] if x.is_complex() or x.is_floating_point() else torch.unique(x)
