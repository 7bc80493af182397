"""Sorting. NaN counts as the greatest value; equal elements keep their order."""

from typing import Any

import tensorflow as tf

from ..._core.shapes import normal_axis
from . import _helpers as _h

__all__ = [
    "argsort",
    "sort",
]


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    x = _h.tensor(x)
    axis = normal_axis(axis, _h.rank(x))
    return _h.move(_h.order(_h.move(x, axis, -1), descending), -1, axis)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    x = _h.tensor(x)
    axis = normal_axis(axis, _h.rank(x))
    x = _h.move(x, axis, -1)
    # Gathering has gradients of every order.
    result = tf.gather(x, _h.order(x, descending), batch_dims=_h.rank(x) - 1)
    return _h.move(result, -1, axis)
