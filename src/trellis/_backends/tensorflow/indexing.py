"""Selecting by index arrays, and functional updates at an index."""

from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.dtypes import refuse_dropping
from ..._core.errors import ShapeError
from ..._core.shapes import normal_axis, only_axis
from ._getitem import getitem
from ._helpers import (
    COMPLEX,
    SCALARS,
    broadcast,
    broadcast_shape,
    cast,
    may_differentiate,
    move,
    rank,
    scalar,
    size,
    sizes,
    tensor,
    wrapped,
)
from ._portable import set_last
from ._types import Tensor

_MOST_SEGMENTS = 2**31 - 1


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Any:
    if axis is None:
        axis = only_axis("take", rank(x))
    axis = normal_axis(axis, rank(x))
    if x.shape[axis] == 0 and 0 not in indices.shape.as_list():  # the kernel returns zeros
        raise ShapeError(f"take() from axis {axis} of length 0 has nothing to take.")
    return tf.gather(x, wrapped(tensor(indices), sizes(x)[axis]), axis=axis)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Any:
    x, indices = tensor(x), tensor(indices)
    ndim = rank(x)
    if rank(indices) != ndim:
        raise ShapeError(
            f"take_along_axis() expects indices with {ndim} axes, got {rank(indices)}."
        )
    axis = normal_axis(axis, ndim)
    count = sizes(x)[axis]
    x, indices = move(x, axis, -1), move(wrapped(indices, count), axis, -1)
    # All axes but the last broadcast.
    outer = (
        broadcast_shape([x[..., :1][..., 0], indices[..., :1][..., 0]])
        if _known(x, indices)
        else None
    )
    if outer is not None:
        x = broadcast(x, outer + [x.shape[-1]])
        indices = broadcast(indices, outer + [indices.shape[-1]])
    if x.shape.is_fully_defined() and indices.shape.is_fully_defined() and x.dtype.is_floating:
        return move(_gathered(x, indices), -1, axis)
    return move(tf.gather(x, indices, batch_dims=ndim - 1), -1, axis)


@tf.custom_gradient
def _gathered(x: Tensor, indices: Tensor) -> Any:
    """tf.gather along the last axis; its own gradient takes 60 operations, this one 5."""
    width, rows = x.shape[-1], x.shape[:-1].num_elements()
    offsets = (np.arange(rows) * width).reshape(-1, 1).astype(indices.dtype.as_numpy_dtype)

    def pull(g: Tensor) -> Any:
        places = tf.reshape(tf.reshape(indices, (rows, indices.shape[-1])) + offsets, (-1,))
        summed = tf.math.unsorted_segment_sum(tf.reshape(g, (-1,)), places, rows * width)
        return tf.reshape(summed, x.shape), None

    return tf.gather(x, indices, batch_dims=len(x.shape) - 1), pull


def _known(x: Tensor, indices: Tensor) -> bool:
    if not (x.shape.is_fully_defined() and indices.shape.is_fully_defined()):
        return False
    return bool(x.shape[:-1] != indices.shape[:-1])


# Functional updates -------------------------------------------------------------------------------


def _rows(x: Tensor, idx: Any) -> Any:
    """Row numbers, if `idx` selects whole rows of the first axis by integers; else None."""
    if type(idx) is int:
        idx = tf.constant(idx, tf.int64)
    if not isinstance(idx, tf.Tensor) or not idx.dtype.is_integer or rank(x) == 0:
        return None
    return wrapped(idx, sizes(x)[0])


def _targets(x: Tensor, idx: Any) -> Any:
    """The flat positions of `x[idx]`."""
    shape = sizes(x)
    return getitem(tf.reshape(tf.range(size(x)), shape), idx)


def _update(scatter: Any, x: Tensor, idx: Any, value: Any) -> Any:
    """`scatter(x, indices, value)` for whole rows if possible, else element by element."""
    x = tensor(x)
    value = scalar(value, x.dtype) if isinstance(value, SCALARS) else _cast(value, x.dtype)
    rows = _rows(x, idx)
    if rows is not None:
        inner = sizes(x)[1:]
        value = tf.reshape(_spread(value, sizes(rows) + inner), [size(rows), *inner])
        return scatter(x, tf.reshape(rows, [-1, 1]), value)
    targets = _targets(x, idx)
    value = tf.reshape(_spread(value, sizes(targets)), [-1])
    flat = scatter(tf.reshape(x, [-1]), tf.reshape(targets, [-1, 1]), value)
    return tf.reshape(flat, sizes(x))


def _cast(value: Any, dtype: Any) -> Any:
    value = tensor(value)
    if value.dtype in COMPLEX and dtype not in COMPLEX:
        raise refuse_dropping(value.dtype.name, dtype.name)
    return cast(value, dtype)


def _spread(value: Any, shape: Any) -> Any:
    """Broadcast a value to the selected positions; extra leading axes of length one are allowed."""
    extra = rank(value) - len(shape)
    if extra > 0:
        value = tf.squeeze(value, list(range(extra)))
    return broadcast(value, shape)


def index_set(x: Tensor, idx: Any, value: Any) -> Any:
    return _update(_scatter_set, x, idx, value)


def _scatter_set(x: Tensor, index: Any, value: Any) -> Any:
    return (set_last if may_differentiate() else tf.tensor_scatter_nd_update)(x, index, value)


def index_add(x: Tensor, idx: Any, value: Any) -> Any:
    return _update(tf.tensor_scatter_nd_add, x, idx, value)


def index_multiply(x: Tensor, idx: Any, value: Any) -> Any:
    return _update(_scatter_multiply, x, idx, value)


def index_min(x: Tensor, idx: Any, value: Any) -> Any:
    return _update(_with_nan(tf.tensor_scatter_nd_min), x, idx, value)


def index_max(x: Tensor, idx: Any, value: Any) -> Any:
    return _update(_with_nan(tf.tensor_scatter_nd_max), x, idx, value)


def _with_nan(scatter: Any) -> Any:
    """The kernels pass over some nan, by the order of numbers: nan is added where there is one."""

    def scattered(x: Tensor, index: Any, value: Any) -> Any:
        found = scatter(x, index, value)
        if not x.dtype.is_floating:
            return found
        nothing = [tf.where(tf.math.is_nan(y), y, tf.zeros_like(y)) for y in (x, value)]
        nan = tf.tensor_scatter_nd_add(nothing[0], index, nothing[1])
        return found + tf.stop_gradient(nan)

    return scattered


def _scatter_multiply(x: Tensor, index: Any, value: Any) -> Any:
    """There is no such scatter: multiply the factors of each row first, one where there is none."""
    return x * tf.math.unsorted_segment_prod(value, index[..., 0], sizes(x)[0])


def update_slice(x: Tensor, values: Tensor, start: Any, /, *, axis: int) -> Any:
    """With `where`, whose shapes are known: tf.slice of an unknown length would lose them."""
    x, values = tensor(x), tensor(values)
    axis = normal_axis(axis, rank(x))
    length, steps = x.shape[axis], values.shape[axis]
    behind = tf.range(length) - tf.clip_by_value(tf.cast(start, tf.int32), 0, length - steps)
    if steps != 1:
        values = tf.gather(values, tf.clip_by_value(behind, 0, max(steps - 1, 0)), axis=axis)
    is_new = tf.logical_and(behind >= 0, behind < steps)
    shape = [1] * axis + [length] + [1] * (rank(x) - axis - 1)
    return tf.where(tf.reshape(is_new, shape), values, x)


def segment_sum(x: Tensor, segment_ids: Any, /, *, num_segments: int) -> Any:
    """Sum the rows that share a segment number; rows with a negative number are left out, and so
    are those beyond the last."""
    if segment_ids.dtype not in (tf.int32, tf.int64):
        segment_ids = tf.cast(segment_ids, tf.int64)
    if num_segments <= segment_ids.dtype.max:
        segment_ids = tf.where(segment_ids < num_segments, segment_ids, -1)
    if num_segments > _MOST_SEGMENTS:
        # The kernel would take the number modulo 2**32, without a word.
        whole = tf.zeros([num_segments, *x.shape[1:]], x.dtype)
        is_kept = segment_ids >= 0
        rows = tf.expand_dims(tf.boolean_mask(segment_ids, is_kept), -1)
        return tf.tensor_scatter_nd_add(whole, rows, tf.boolean_mask(x, is_kept))
    return tf.math.unsorted_segment_sum(x, segment_ids, num_segments)
