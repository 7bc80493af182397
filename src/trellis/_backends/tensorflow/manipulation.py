"""Shapes: joining, splitting, reordering, repeating, padding."""

from typing import Any

import tensorflow as tf

from ..._core.errors import CopyError
from ..._core.shapes import (
    check_lengths,
    check_new_axis,
    check_squeezable,
    new_axes,
    normal_axes,
    normal_axis,
    permutation,
)
from ._helpers import SCALARS, as_shape, broadcast_shape, common, move, rank, scalar, sizes, tensor
from ._types import Tensor


def broadcast_to(x: Tensor, /, shape: Any) -> Any:
    return tf.broadcast_to(x, as_shape(shape))


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    if not arrays:
        return ()
    shape = broadcast_shape(arrays)
    return tuple([tf.broadcast_to(x, shape) for x in arrays])


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    xs = common(arrays)
    if axis is None:
        return tf.concat([tf.reshape(x, [-1]) for x in xs], 0)
    return tf.concat(xs, normal_axis(axis, rank(xs[0])))


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    same = common(arrays)
    return tf.stack(same, normal_axis(axis, rank(same[0]) + 1))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(tf.unstack(x, axis=normal_axis(axis, rank(x))))


def expand_dims(x: Tensor, /, axis: Any) -> Any:
    if isinstance(axis, (tuple, list)):
        for place in new_axes(axis, rank(x)):
            x = tf.expand_dims(x, place)
        return x
    check_new_axis(axis, rank(x))
    return tf.expand_dims(x, axis)


def squeeze(x: Tensor, /, axis: Any) -> Any:
    axes = normal_axes(axis, rank(x))
    check_squeezable(axes, x.shape.as_list())
    return tf.squeeze(x, axes) if axes else tf.identity(x)


def reshape(x: Tensor, /, shape: Any, *, copy: bool | None = None) -> Any:
    sizes = as_shape(shape)
    if isinstance(sizes, list) and None in sizes:  # axes that stay, of unknown sizes
        dynamic = tf.shape(x)
        sizes = [dynamic[i] if n is None else n for i, n in enumerate(sizes)]
    result = tf.reshape(x, sizes)
    if copy is False and isinstance(x, tf.Variable):
        raise CopyError("copy=False: reading a tf.Variable copies it.")
    return result


def permute_dims(x: Tensor, /, axes: Any) -> Any:
    return tf.transpose(x, permutation(axes, rank(x)))


def flip(x: Tensor, /, *, axis: Any = None) -> Any:
    return tf.reverse(x, normal_axes(axis, rank(x)))


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Any:
    if axis is None:
        return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), sizes(x))
    ndim = rank(x)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    axes = [normal_axis(a, ndim) for a in axes]
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    check_lengths("roll", "shift and axis", len(shifts), len(axes))
    return tf.roll(x, shifts, axes) if axes else tf.identity(x)


def tile(x: Tensor, repetitions: Any, /) -> Any:
    x = tensor(x)
    counts = list(repetitions)
    missing = len(counts) - rank(x)
    if missing > 0:
        x = tf.reshape(x, [1] * missing + sizes(x))
    counts = [1] * -missing + counts
    if x.dtype is tf.uint16:
        # No kernel for this one type.
        return tf.bitcast(tf.tile(tf.bitcast(x, tf.int16), counts), tf.uint16)
    return tf.tile(x, counts)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Any:
    x = tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    axis = normal_axis(axis, rank(x))
    count = sizes(x)[axis]
    index = tf.range(count)
    if isinstance(repeats, int):
        spread = tf.reshape(tf.broadcast_to(index[:, None], [count, repeats]), [-1])
    else:
        repeats = tf.reshape(tensor(repeats), [-1])
        # tf.repeat of the positions: the values are gathered, which has gradients of every order.
        spread = tf.repeat(index, tf.cast(tf.broadcast_to(repeats, [count]), tf.int32))
    return tf.gather(x, spread, axis=axis)


# Beyond the standard ------------------------------------------------------------------------------


def pad(x: Tensor, pad_width: Any, /, *, mode: str = "constant", constant_values: Any = 0) -> Any:
    x = tensor(x)
    if mode == "constant":
        if isinstance(constant_values, SCALARS):
            constant_values = scalar(constant_values, x.dtype)
        return (
            tf.pad(x, pad_width, constant_values=tf.cast(constant_values, x.dtype))
            if pad_width
            else tf.identity(x)
        )
    for axis, (low, high) in enumerate(pad_width):
        if low or high:
            count = sizes(x)[axis]
            x = tf.gather(x, _pad_index(tf.range(-low, count + high), count, mode), axis=axis)
    return x


def _pad_index(index: Any, count: Any, mode: str) -> Any:
    """The source position of each position of a padded axis, for any width of padding."""
    if mode == "edge":
        return tf.clip_by_value(index, 0, count - 1)
    if mode == "wrap":
        return tf.math.floormod(index, count)
    period = tf.maximum(2 * count - 2, 1)
    index = tf.math.floormod(index, period)
    return tf.minimum(index, period - index) if count != 1 else tf.zeros_like(index)


def sliding_window(x: Tensor, window: int, /, *, axis: int = -1, step: int = 1) -> Any:
    """Overlapping windows along an axis, along a new last axis."""
    x = tensor(x)
    axis = normal_axis(axis, rank(x))
    count = sizes(x)[axis]
    starts = tf.range(0, count - window + 1, step)
    windows = tf.gather(x, starts[:, None] + tf.range(window)[None, :], axis=axis)
    return move(windows, axis + 1, -1)
