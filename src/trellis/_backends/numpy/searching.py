"""Finding elements, on NumPy."""

from typing import Any

import numpy as np

from ..._core.guards import not_bools, unordered
from ..._core.shapes import normal_axis
from ._helpers import common, pair


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "c":
        raise unordered("argmax")
    if axis is not None:
        axis = normal_axis(axis, x.ndim)
    return np.argmax(x, axis=axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "c":
        raise unordered("argmin")
    if axis is not None:
        axis = normal_axis(axis, x.ndim)
    return np.argmin(x, axis=axis, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims))[()]


def nonzero(x: Any, /) -> tuple[Any, ...]:
    return tuple(np.nonzero(x))


def searchsorted(x1: Any, x2: Any, /, *, side: Any = "left", sorter: Any = None) -> Any:
    x1, x2 = pair(x1, x2)
    if x1.dtype.kind == "c":
        raise unordered("searchsorted")
    return np.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    if condition.dtype.kind != "b":
        raise not_bools(condition.dtype)
    x1, x2 = common((x1, x2))
    return np.where(condition, x1, x2)


def descending_order(x: Any, axis: int) -> Any:
    """Stable: of equal elements the one with the lower index comes first."""
    backwards = np.argsort(np.flip(x, axis=axis), axis=axis, stable=True)
    return x.shape[axis] - 1 - np.flip(backwards, axis=axis)
