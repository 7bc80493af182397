"""Sorting. NaN counts as the greatest value; equal elements keep their order."""

from typing import Any

import tensorflow as tf

from ..._core.guards import unordered
from ..._core.shapes import normal_axis
from ._helpers import move, order, rank, tensor
from ._types import Tensor


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    x = tensor(x)
    if x.dtype.is_complex:
        raise unordered("argsort")
    axis = normal_axis(axis, rank(x))
    return move(order(move(x, axis, -1), descending), -1, axis)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    x = tensor(x)
    if x.dtype.is_complex:
        raise unordered("sort")
    axis = normal_axis(axis, rank(x))
    x = move(x, axis, -1)
    # Gathering has gradients of every order.
    result = tf.gather(x, order(x, descending), batch_dims=rank(x) - 1)
    return move(result, -1, axis)
