"""Selecting by index arrays, and functional updates of what an index names."""

from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.dtypes import refuse_dropping
from ..._core.errors import ShapeError
from ..._core.shapes import normal_axis, only_axis
from . import _helpers as _h
from ._getitem import getitem

__all__ = [
    "index_add",
    "index_max",
    "index_min",
    "index_multiply",
    "index_set",
    "segment_sum",
    "take",
    "take_along_axis",
]


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    if axis is None:
        axis = only_axis("take", _h.rank(x))
    axis = normal_axis(axis, _h.rank(x))
    return tf.gather(x, _h.wrapped(_h.tensor(indices), _h.sizes(x)[axis]), axis=axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    x, indices = _h.tensor(x), _h.tensor(indices)
    ndim = _h.rank(x)
    if _h.rank(indices) != ndim:
        raise ShapeError(
            f"take_along_axis() expects indices with {ndim} axes, got {_h.rank(indices)}."
        )
    axis = normal_axis(axis, ndim)
    count = _h.sizes(x)[axis]
    x, indices = _h.move(x, axis, -1), _h.move(_h.wrapped(indices, count), axis, -1)
    # All axes but the last broadcast.
    outer = (
        _h.broadcast_shape([x[..., :1][..., 0], indices[..., :1][..., 0]])
        if _known(x, indices)
        else None
    )
    if outer is not None:
        x = _h.broadcast(x, outer + [x.shape[-1]])
        indices = _h.broadcast(indices, outer + [indices.shape[-1]])
    if x.shape.is_fully_defined() and indices.shape.is_fully_defined() and x.dtype.is_floating:
        return _h.move(_gathered(x, indices), -1, axis)
    return _h.move(tf.gather(x, indices, batch_dims=ndim - 1), -1, axis)


@tf.custom_gradient
def _gathered(x: Any, indices: Any) -> Any:
    """tf.gather along the last axis; its own gradient takes 60 operations, this one 5."""
    width, rows = x.shape[-1], x.shape[:-1].num_elements()
    offsets = (np.arange(rows) * width).reshape(-1, 1).astype(indices.dtype.as_numpy_dtype)

    def pull(g: Any) -> Any:
        places = tf.reshape(tf.reshape(indices, (rows, indices.shape[-1])) + offsets, (-1,))
        summed = tf.math.unsorted_segment_sum(tf.reshape(g, (-1,)), places, rows * width)
        return tf.reshape(summed, x.shape), None

    return tf.gather(x, indices, batch_dims=len(x.shape) - 1), pull


def _known(x: Any, indices: Any) -> bool:
    if not (x.shape.is_fully_defined() and indices.shape.is_fully_defined()):
        return False
    return bool(x.shape[:-1] != indices.shape[:-1])


# Functional updates ----------------------------------------------------------------------------------


def _rows(x: Any, idx: Any) -> Any:
    """Row numbers, where `idx` names whole rows of the first axis by integers; else None."""
    if type(idx) is int:
        idx = tf.constant(idx, tf.int64)
    if not isinstance(idx, tf.Tensor) or not idx.dtype.is_integer or _h.rank(x) == 0:
        return None
    return _h.wrapped(idx, _h.sizes(x)[0])


def _targets(x: Any, idx: Any) -> Any:
    """The flat positions that `x[idx]` names."""
    shape = _h.sizes(x)
    return getitem(tf.reshape(tf.range(_h.size(x)), shape), idx)


def _update(scatter: Any, x: Any, idx: Any, value: Any) -> Any:
    """`scatter(x, indices, value)` at rows where that will do, else element by element."""
    x = _h.tensor(x)
    value = _h.scalar(value, x.dtype) if isinstance(value, _h.SCALARS) else _cast(value, x.dtype)
    rows = _rows(x, idx)
    if rows is not None:
        inner = _h.sizes(x)[1:]
        value = tf.reshape(_spread(value, _h.sizes(rows) + inner), [_h.size(rows), *inner])
        return scatter(x, tf.reshape(rows, [-1, 1]), value)
    targets = _targets(x, idx)
    value = tf.reshape(_spread(value, _h.sizes(targets)), [-1])
    flat = scatter(tf.reshape(x, [-1]), tf.reshape(targets, [-1, 1]), value)
    return tf.reshape(flat, _h.sizes(x))


def _cast(value: Any, dtype: Any) -> Any:
    value = _h.tensor(value)
    if value.dtype in _h.COMPLEX and dtype not in _h.COMPLEX:
        raise refuse_dropping(value.dtype.name, dtype.name)
    return _h.cast(value, dtype)


def _spread(value: Any, shape: Any) -> Any:
    """Broadcast a value to the selected places; leading axes of length one may be too many."""
    extra = _h.rank(value) - len(shape)
    if extra > 0:
        value = tf.squeeze(value, list(range(extra)))
    return _h.broadcast(value, shape)


def index_set(x: Any, idx: Any, value: Any) -> Any:
    return _update(tf.tensor_scatter_nd_update, x, idx, value)


def index_add(x: Any, idx: Any, value: Any) -> Any:
    return _update(tf.tensor_scatter_nd_add, x, idx, value)


def index_multiply(x: Any, idx: Any, value: Any) -> Any:
    return _update(_scatter_multiply, x, idx, value)


def index_min(x: Any, idx: Any, value: Any) -> Any:
    return _update(tf.tensor_scatter_nd_min, x, idx, value)


def index_max(x: Any, idx: Any, value: Any) -> Any:
    return _update(tf.tensor_scatter_nd_max, x, idx, value)


def _scatter_multiply(x: Any, index: Any, value: Any) -> Any:
    """There is no such scatter: multiply the factors of each row first, one where there is none."""
    return x * tf.math.unsorted_segment_prod(value, index[..., 0], _h.sizes(x)[0])


def segment_sum(x: Any, segment_ids: Any, /, *, num_segments: int) -> Any:
    """Sum the rows that share a segment number; rows with a negative number are left out."""
    return tf.math.unsorted_segment_sum(x, segment_ids, num_segments)
