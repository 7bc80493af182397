"""Shapes: joining, splitting, reordering, repeating, padding."""

from typing import Any

import tensorflow as tf

from ..._core.errors import ArgumentError, CopyError, ShapeError
from ..._core.shapes import pad_pairs, permutation
from . import _helpers as _h

__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "pad",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "sliding_window",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


def broadcast_to(x: Any, /, shape: Any) -> Any:
    return tf.broadcast_to(x, _h.as_shape(shape))


def broadcast_arrays(*arrays: Any) -> list[Any]:
    if not arrays:
        return []
    shape = _h.broadcast_shape(arrays)
    return [tf.broadcast_to(x, shape) for x in arrays]


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    xs = _h.common(arrays)
    if axis is None:
        return tf.concat([tf.reshape(x, [-1]) for x in xs], 0)
    return tf.concat(xs, _h.one_axis(axis, _h.rank(xs[0])))


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    return tf.stack(_h.common(arrays), axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(tf.unstack(x, axis=_h.one_axis(axis, _h.rank(x))))


class _AxisError(ShapeError, IndexError):
    """The standard asks for an IndexError here."""


def expand_dims(x: Any, /, axis: int) -> Any:
    ndim = _h.rank(x)
    if not -ndim - 1 <= axis <= ndim:
        raise _AxisError(
            f"axis {axis} is out of range: expand_dims() of {ndim} axes gives {ndim + 1}."
        )
    return tf.expand_dims(x, axis)


def squeeze(x: Any, /, axis: Any) -> Any:
    axes = _h.axes(axis, _h.rank(x))
    for a in axes:
        if x.shape[a] not in (1, None):
            raise ShapeError(f"squeeze() of axis {a}, whose size is {x.shape[a]} and not 1.")
    return tf.squeeze(x, axes) if axes else tf.identity(x)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    result = tf.reshape(x, _h.as_shape(shape))
    if copy is False and isinstance(x, tf.Variable):
        raise CopyError("copy=False: reading a tf.Variable copies it.")
    return result


def permute_dims(x: Any, /, axes: Any) -> Any:
    return tf.transpose(x, permutation(axes, _h.rank(x)))


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    ndim = _h.rank(x)
    sources, destinations = _h.axes(source, ndim), _h.axes(destination, ndim)
    if len(sources) != len(destinations):
        raise ShapeError(
            f"moveaxis() got {len(sources)} sources for {len(destinations)} destinations."
        )
    order = [i for i in range(ndim) if i not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return tf.transpose(x, order)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    return tf.reverse(x, _h.axes(axis, _h.rank(x)))


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    if axis is None:
        if isinstance(shift, (tuple, list)):
            raise ArgumentError("roll() by several shifts needs as many axes.")
        return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), _h.sizes(x))
    ndim = _h.rank(x)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    axes = [_h.one_axis(a, ndim) for a in axes]
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise ArgumentError(f"roll() got {len(shifts)} shifts for {len(axes)} axes.")
    return tf.roll(x, shifts, axes) if axes else tf.identity(x)


def tile(x: Any, repetitions: Any, /) -> Any:
    x = _h.tensor(x)
    counts = list(repetitions)
    missing = len(counts) - _h.rank(x)
    if missing > 0:
        x = tf.reshape(x, [1] * missing + _h.sizes(x))
    counts = [1] * -missing + counts
    if x.dtype is tf.uint16:
        # No kernel for this one type.
        return tf.bitcast(tf.tile(tf.bitcast(x, tf.int16), counts), tf.uint16)
    return tf.tile(x, counts)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    x = _h.tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    axis = _h.one_axis(axis, _h.rank(x))
    count = _h.sizes(x)[axis]
    index = tf.range(count)
    if isinstance(repeats, int):
        spread = tf.reshape(tf.broadcast_to(index[:, None], [count, repeats]), [-1])
    else:
        repeats = tf.reshape(_h.tensor(repeats), [-1])
        # tf.repeat of the positions: the values are gathered, whose gradient holds to every order.
        spread = tf.repeat(index, tf.cast(tf.broadcast_to(repeats, [count]), tf.int32))
    return tf.gather(x, spread, axis=axis)


# Beyond the standard ---------------------------------------------------------------------------------


def pad(x: Any, pad_width: Any, /, *, mode: str = "constant", constant_values: Any = 0) -> Any:
    x = _h.tensor(x)
    pairs = pad_pairs(pad_width, _h.rank(x), mode)
    if mode == "constant":
        if isinstance(constant_values, _h.SCALARS):
            constant_values = _h.scalar(constant_values, x.dtype)
        return (
            tf.pad(x, pairs, constant_values=tf.cast(constant_values, x.dtype))
            if pairs
            else tf.identity(x)
        )
    for axis, (low, high) in enumerate(pairs):
        if low or high:
            count = _h.sizes(x)[axis]
            if isinstance(count, int) and count == 0:
                raise ShapeError(
                    f"pad() with mode {mode!r} has nothing to repeat on axis {axis} of size 0."
                )
            x = tf.gather(x, _pad_index(tf.range(-low, count + high), count, mode), axis=axis)
    return x


def _pad_index(index: Any, count: Any, mode: str) -> Any:
    """Where each place of a padded axis takes its value from; any width of padding will do."""
    if mode == "edge":
        return tf.clip_by_value(index, 0, count - 1)
    if mode == "wrap":
        return tf.math.floormod(index, count)
    period = tf.maximum(2 * count - 2, 1)
    index = tf.math.floormod(index, period)
    return tf.minimum(index, period - index) if count != 1 else tf.zeros_like(index)


def sliding_window(x: Any, window: int, /, *, axis: int = -1, step: int = 1) -> Any:
    """Overlapping windows along an axis, laid out along a new last axis."""
    x = _h.tensor(x)
    axis = _h.one_axis(axis, _h.rank(x))
    count = _h.sizes(x)[axis]
    if window < 1 or step < 1 or (isinstance(count, int) and window > count):
        raise ArgumentError(
            f"sliding_window() got window={window}, step={step} for an axis of size {count}: "
            "both must be at least 1, and the window must fit."
        )
    starts = tf.range(0, count - window + 1, step)
    windows = tf.gather(x, starts[:, None] + tf.range(window)[None, :], axis=axis)
    return _h.move(windows, axis + 1, -1)
