"""Shapes: joining, splitting, moving, repeating, padding."""

from collections.abc import Sequence

from ...._core.dtypes import fitted
from ...._core.guards import check_whole
from ...._core.shapes import broadcast_shapes as broadcast_sizes
from ...._core.shapes import (
    check_lengths,
    check_new_axis,
    check_squeezable,
    new_axes,
    normal_axes,
    normal_axis,
)
from ...._core.typing import Scalar
from ...array_api import Axes, Ints, Native
from ...interface import Pairs
from . import xp


def broadcast_arrays(*arrays: Native) -> tuple[Native, ...]:
    shape = broadcast_sizes(*[x.shape for x in arrays])
    return tuple([xp.broadcast_to(x, shape) for x in arrays])


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    return broadcast_sizes(*[tuple(shape) for shape in shapes], function="broadcast_shapes")


def expand_dims(x: Native, /, axis: Ints) -> Native:
    ndim = len(x.shape)
    if isinstance(axis, int):
        check_new_axis(axis, ndim)
    shape = list(x.shape)
    for place in new_axes((axis,) if isinstance(axis, int) else axis, ndim):
        shape.insert(place, 1)
    return xp.reshape(x, tuple(shape))


def squeeze(x: Native, /, axis: Ints) -> Native:
    axes = normal_axes(axis, len(x.shape))
    check_squeezable(axes, x.shape)
    return xp.reshape(x, tuple([n for i, n in enumerate(x.shape) if i not in axes]))


def stack(arrays: Sequence[Native], /, *, axis: int = 0) -> Native:
    return xp.concat([xp.expand_dims(x, axis) for x in arrays], axis=axis)


def unstack(x: Native, /, *, axis: int = 0) -> tuple[Native, ...]:
    place = normal_axis(axis, len(x.shape))
    before = (slice(None),) * place
    return tuple([x[(*before, i, ...)] for i in range(x.shape[place])])


def moveaxis(x: Native, source: Ints, destination: Ints, /) -> Native:
    ndim = len(x.shape)
    sources, places = normal_axes(source, ndim), normal_axes(destination, ndim)
    check_lengths("moveaxis", "source and destination", len(sources), len(places))
    order = [i for i in range(ndim) if i not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return xp.permute_dims(x, tuple(order))


def flip(x: Native, /, *, axis: Axes = None) -> Native:
    for a in normal_axes(axis, len(x.shape)):
        x = xp.take(x, xp.arange(x.shape[a] - 1, -1, -1, device=xp.device(x)), axis=a)
    return x


def roll(x: Native, /, shift: Ints, *, axis: Axes = None) -> Native:
    if axis is None:
        return xp.reshape(xp.roll(xp.reshape(x, (-1,)), shift, axis=0), x.shape)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    several = isinstance(shift, (tuple, list))
    shifts = tuple(shift) if several else (shift,) * len(axes)  # type: ignore[arg-type]
    axes = axes * len(shifts) if len(axes) == 1 else axes
    check_lengths("roll", "shift and axis", len(shifts), len(axes))
    for count, a in zip(shifts, axes, strict=True):
        a = normal_axis(a, len(x.shape))
        size = x.shape[a]
        if size:
            index = (xp.arange(size, device=xp.device(x)) - count % size + size) % size
            x = xp.take(x, index, axis=a)
    return x


def tile(x: Native, repetitions: Sequence[int], /) -> Native:
    counts, shape = list(repetitions), list(x.shape)
    counts = [1] * (len(shape) - len(counts)) + counts
    shape = [1] * (len(counts) - len(shape)) + shape
    apart, spread = [], []
    for count, size in zip(counts, shape, strict=True):
        apart += [1, size]
        spread += [count, size]
    y = xp.broadcast_to(xp.reshape(x, tuple(apart)), tuple(spread))
    return xp.reshape(y, tuple([c * n for c, n in zip(counts, shape, strict=True)]))


def repeat(x: Native, repeats: int | Native, /, *, axis: int | None = None) -> Native:
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    axis = normal_axis(axis, len(x.shape))
    if isinstance(repeats, int):
        index = xp.reshape(xp.arange(x.shape[axis], device=xp.device(x)), (-1, 1))
        spread = xp.broadcast_to(index, (x.shape[axis], repeats))
        return xp.take(x, xp.reshape(spread, (-1,)), axis=axis)
    counts = xp.broadcast_to(xp.reshape(repeats, (-1,)), (x.shape[axis],))
    ends = xp.cumulative_sum(xp.astype(counts, "int32"))
    total = int(ends[-1]) if x.shape[axis] else 0
    index = xp.searchsorted(ends, xp.arange(total, device=xp.device(x)), side="right")
    return xp.take(x, index, axis=axis)


def pad(
    x: Native, pad_width: Pairs, /, *, mode: str = "constant", constant_values: Scalar = 0
) -> Native:
    for axis, (low, high) in enumerate(pad_width):
        if low or high:
            x = (
                _filled(x, axis, low, high, constant_values)
                if mode == "constant"
                else xp.take(x, _sources(x, axis, low, high, mode), axis=axis)
            )
    return x


def _filled(x: Native, axis: int, low: int, high: int, value: Scalar) -> Native:
    value = fitted(value, xp.dtype_name(x.dtype))
    parts = [x]
    if low:
        parts.insert(0, _block(x, axis, low, value))
    if high:
        parts.append(_block(x, axis, high, value))
    return xp.concat(parts, axis=axis)


def _block(x: Native, axis: int, count: int, value: Scalar) -> Native:
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return xp.full(shape, value, dtype=x.dtype, device=xp.device(x))


def _sources(x: Native, axis: int, low: int, high: int, mode: str) -> Native:
    """For each position of the padded axis, the position that its element comes from."""
    size = x.shape[axis]
    index = xp.arange(-low, size + high, device=xp.device(x))
    if mode == "wrap":
        return xp.remainder(index, size)
    if mode == "edge" or size == 1:
        return xp.clip(index, 0, size - 1)
    return size - 1 - xp.abs(xp.remainder(index, 2 * (size - 1)) - (size - 1))


def sliding_window(x: Native, window: int, /, *, axis: int = -1, step: int = 1) -> Native:
    """All windows along an axis, as a new last axis."""
    check_whole(window)
    check_whole(step)
    axis = normal_axis(axis, len(x.shape))
    place = xp.device(x)
    starts = xp.arange(0, x.shape[axis] - window + 1, step, device=place)
    index = xp.reshape(starts, (-1, 1)) + xp.arange(window, device=place)
    windows = xp.take(x, xp.reshape(index, (-1,)), axis=axis)
    sizes = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    return xp.moveaxis(xp.reshape(windows, sizes), axis + 1, -1)
