"""Sorting; stable unless told otherwise."""

from typing import Any

import torch

__all__ = [
    "argsort",
    "sort",
]


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return torch.sort(x, dim=axis, descending=descending, stable=stable).indices


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values
