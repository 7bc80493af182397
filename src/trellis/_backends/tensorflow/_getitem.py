"""`x[idx]` in full: TensorFlow's own slicing knows neither integer arrays nor masks beside other
indices.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.errors import ShapeError
from ._helpers import FLOATING, broadcast, broadcast_shape, rank, sizes, wrapped
from ._types import Tensor

_NATIVE = (int, slice, type(None), type(Ellipsis), np.integer)


def getitem(x: Tensor, idx: Any) -> Any:
    """The elements that `x[idx]` names, by NumPy's rules."""
    items = list(idx) if isinstance(idx, tuple) else [idx]
    if is_basic(items):
        return x[tuple(items)] if items else tf.identity(x)
    return _advanced(x, _expanded(items, rank(x)))


def is_basic(items: list[Any]) -> bool:
    """Whether TensorFlow's own slicing understands all items."""
    for item in items:
        if isinstance(item, (bool, np.bool_)) or not isinstance(item, _NATIVE):
            return False
    return True


def _array(item: Any) -> Any:
    """An index array as an int or bool tensor; an empty list selects nothing."""
    if not isinstance(item, tf.Tensor):
        item = tf.convert_to_tensor(
            np.asarray(item) if isinstance(item, (list, bool, int)) else item
        )
    if item.dtype in FLOATING:
        if item.shape.num_elements() != 0:
            raise ShapeError(f"Indices must be integers or bools, got {item.dtype.name}.")
        item = tf.cast(item, tf.int64)
    return item


def _expanded(items: list[Any], ndim: int) -> list[Any]:
    """The items without Ellipsis and masks, one for every axis of the array (and None for new
    axes).
    """
    flat = items[:0]  # no annotated local: AutoGraph cannot make it nonlocal
    used = 0
    for item in items:
        if item is None or item is Ellipsis:
            flat.append(item)
        elif isinstance(item, slice):
            flat.append(item)
            used += 1
        else:
            array = _array(item)
            if array.dtype is not tf.bool:
                flat.append(array)
                used += 1
            elif rank(array) == 0:
                flat.append(_Flag(array))
            else:
                flat += tf.unstack(tf.where(array), num=rank(array), axis=1)
                used += rank(array)
    if used > ndim:
        raise ShapeError(f"{used} indices are too many for an array with {ndim} axes.")
    whole = [slice(None)] * (ndim - used)
    places = [i for i, item in enumerate(flat) if item is Ellipsis]
    if len(places) > 1:
        raise ShapeError("An index can hold only one Ellipsis.")
    if places:
        return flat[: places[0]] + whole + flat[places[0] + 1 :]
    return flat + whole


class _Flag:
    """A 0-d mask: a new axis of length one or zero, and an integer array that indexes it."""

    def __init__(self, mask: Any):
        self.index = tf.zeros([tf.cast(mask, tf.int32)], tf.int64)


def _advanced(x: Tensor, items: list[Any]) -> Any:
    basic = []
    arrays = []
    places = []  # axes of the sliced array that the index arrays select from
    order = []  # positions of index arrays among the items
    for position, item in enumerate(items):
        if item is None or isinstance(item, slice):
            basic.append(item)
        else:
            flag = isinstance(item, _Flag)
            basic.append(None if flag else slice(None))
            arrays.append(item.index if flag else tf.convert_to_tensor(item))
            places.append(position)
            order.append(position)
    plain = [item for item in basic if item is None or item != slice(None)]
    if plain:
        x = x[tuple(basic)]
    together = order[-1] - order[0] == len(order) - 1
    dims = sizes(x)
    arrays = [wrapped(a, dims[place]) for a, place in zip(arrays, places, strict=True)]
    if len(arrays) == 1:
        _check_bounds(arrays[0], dims[places[0]])
        return tf.gather(x, arrays[0], axis=places[0])
    arrays = [tf.cast(a, tf.int64) for a in arrays]
    shape = broadcast_shape(arrays)
    index = tf.stack([broadcast(a, shape) for a in arrays], axis=-1)
    rest = [i for i in range(rank(x)) if i not in places]
    moved = tf.transpose(x, places + rest)
    result = tf.gather_nd(moved, index)
    if not together or places[0] == 0:
        return result
    # Adjacent index arrays: their axes go where the first of them stood.
    count = rank(index) - 1
    front = list(range(count, count + places[0]))
    back = list(range(count + places[0], rank(result)))
    return tf.transpose(result, front + list(range(count)) + back)


def _check_bounds(index: Any, count: Any) -> None:
    """Nothing to select from an empty axis: TensorFlow's gather would divide by zero or return
    garbage.
    """
    if isinstance(count, int) and count == 0 and index.shape.num_elements() not in (0, None):
        raise ShapeError("An axis of length 0 was indexed with integers.")
