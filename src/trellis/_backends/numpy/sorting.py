"""Sorting on NumPy. Always stable: an unstable sort would differ between frameworks."""

from typing import Any

import numpy as np

from ..._core.guards import unordered
from ..._core.shapes import normal_axis
from .searching import descending_order


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if x.dtype.kind == "c":
        raise unordered("argsort")
    if descending:
        return descending_order(x, normal_axis(axis, x.ndim))
    return np.argsort(x, axis=normal_axis(axis, x.ndim), stable=True)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if x.dtype.kind == "c":
        raise unordered("sort")
    axis = normal_axis(axis, x.ndim)
    ordered = np.sort(x, axis=axis, stable=True)
    return np.flip(ordered, axis=axis) if descending else ordered
