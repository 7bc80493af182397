"""Sorting; stable unless told otherwise."""

from typing import Any

import torch

from ..._core.shapes import normal_axis
from ._types import Tensor


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    axis = normal_axis(axis, x.ndim)
    return torch.sort(x, dim=axis, descending=descending, stable=stable).indices


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    axis = normal_axis(axis, x.ndim)
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values
