"""Reshaping, cutting and padding as ONNX means them, with sizes that may come at run time."""

import math
from collections.abc import Sequence
from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.errors import ArgumentError, ShapeError
from ..._core.shapes import normal_axis
from ..._core.typing import Array
from ...functional._layout import along

Ints = Sequence[int]


def shape_of(x: Array, start: int = 0, end: int | None = None, /, *, dtype: str = "int64") -> Any:
    """The shape as an array, or the part from one axis to another."""
    xp = xp_of(x)
    return xp.asarray(list(x.shape[slice(start, end)]), dtype=dtype, device=xp.device(x))


def count_of(x: Array, /, *, dtype: str = "int64") -> Any:
    """How many elements an array has, as an array."""
    xp = xp_of(x)
    return xp.asarray(math.prod(x.shape), dtype=dtype, device=xp.device(x))


def reshaped(x: Array, shape: Ints, /, *, allow_zero: bool = False) -> Any:
    """`x` in another shape, where 0 takes the size that the axis has (unless `allow_zero`) and -1
    what is left.

    >>> import numpy as np
    >>> reshaped(np.zeros((2, 3, 4)), (0, -1)).shape
    (2, 12)
    """
    sizes = [x.shape[i] if n == 0 and not allow_zero else n for i, n in enumerate(shape)]
    return t.reshape(x, tuple(sizes))


def reshaped_like(x: Array, y: Array, /) -> Any:
    """`x` in the shape of `y`."""
    return t.reshape(x, tuple(y.shape))


def flattened(x: Array, axis: int, /) -> Any:
    """A matrix: the axes before `axis` are its rows, the others its columns."""
    axis = axis + len(x.shape) if axis < 0 else axis
    return t.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def squeezed(x: Array, /) -> Any:
    """`x` without its axes of one element."""
    return t.squeeze(x, axis=tuple([i for i, n in enumerate(x.shape) if n == 1]))


def unsqueezed(x: Array, axes: Ints, /) -> Any:
    """`x` with new axes of one element, at these places of the result."""
    rank = len(x.shape) + len(axes)
    for axis in sorted([normal_axis(axis, rank) for axis in axes]):
        x = t.expand_dims(x, axis=axis)
    return x


def reversed_axes(x: Array, /) -> Any:
    """`x` with its axes in the opposite order."""
    return t.permute_dims(x, tuple(range(len(x.shape)))[::-1])


def split_into(x: Array, parts: int | Ints, /, *, axis: int) -> tuple[Any, ...]:
    """Pieces of an axis, of these sizes, or so many of equal size with a smaller one at the end."""
    axis = normal_axis(axis, len(x.shape))
    whole = x.shape[axis]
    if isinstance(parts, int):
        each = -(-whole // parts)
        parts = [max(0, min(each, whole - i * each)) for i in range(parts)]
    pieces, start = [], 0
    for n in parts:
        pieces.append(x[(slice(None),) * axis + (slice(start, start + n),)])
        start += n
    return tuple(pieces)


def sliced(
    x: Array, starts: Ints, ends: Ints, axes: Ints | None = None, steps: Ints | None = None, /
) -> Any:
    """A part of `x`: from starts to ends along these axes; negative steps go backwards.

    >>> import numpy as np
    >>> sliced(np.arange(5), (-1,), (-9,), (0,), (-2,))
    array([4, 2, 0])
    """
    axes = range(len(starts)) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    rank = len(x.shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = normal_axis(axis, rank)
        places = _places(start, end, step, x.shape[axis])
        before = (slice(None),) * axis
        if step > 0:
            x = x[(*before, slice(places.start, max(places.stop, places.start), step))]
        elif len(places) == 0:
            x = x[(*before, slice(0, 0))]
        else:
            # From the last place up, and then turned round: no framework but NumPy steps back.
            x = t.flip(x[(*before, slice(places[-1], places[0] + 1, -step))], axis=axis)
    return x


def expanded(x: Array, shape: Ints, /) -> Any:
    """`x` repeated along axes of one element; where `shape` has 1, `x` keeps its size."""
    missing = len(shape) - len(x.shape)
    own = (1,) * missing + tuple(x.shape)
    shape = (1,) * -missing + tuple(shape)
    return t.broadcast_to(x, tuple([n if want == 1 else want for n, want in zip(own, shape)]))


def padded(
    x: Any, widths: Ints, /, *, axes: Ints | None = None, mode: str = "constant", value: Any = 0
) -> Any:
    """`x` with so many elements more at the begin of each axis, and then at the end of each;
    negative numbers cut off.

    >>> import numpy as np
    >>> padded(np.array([1, 2, 3]), (1, -1), mode="edge")
    array([1, 1, 2])
    """
    rank = len(x.shape)
    places = range(rank) if axes is None else [normal_axis(axis, rank) for axis in axes]
    if len(widths) != 2 * len(places):
        raise ShapeError(
            f"Padding expects a begin and an end for {len(places)} axes, got {widths}."
        )
    pairs = [(0, 0)] * rank
    for i, axis in enumerate(places):
        pairs[axis] = (widths[i], widths[i + len(places)])
    cut = [slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(x.shape, pairs)]
    if any([low < 0 or high < 0 for low, high in pairs]):
        x = x[tuple(cut)]
    pairs = [(max(low, 0), max(high, 0)) for low, high in pairs]
    if mode == "constant":
        return t.pad(x, pairs, constant_values=value)
    for axis, (low, high) in enumerate(pairs):
        if low or high:
            x = picked(x, axis, _padded_places(x.shape[axis], low, high, mode))
    return x


def counted(
    start: Array | float, limit: Array | float, delta: Array | float, /, *, dtype: str, backend: str
) -> Any:
    """Numbers from `start` to before `limit` in steps of `delta`; none if the step leads away."""
    count = max(math.ceil((limit - start) / delta), 0)
    numbers = t.arange(0, count, dtype="int32", backend=backend)
    return t.add(t.multiply(t.astype(numbers, dtype, copy=False), delta), start)


def depth_to_space(x: Array, block: int, /, *, channel_last: bool = False) -> Any:
    """Channels as blocks of pixels: (N, b*b*C, H, W) to (N, C, H*b, W*b), or the same with the
    channels last. The channels of one pixel of a block lie together; F.pixel_shuffle is for others.
    """
    n, c, h, w = [x.shape[i] for i in ((0, 3, 1, 2) if channel_last else (0, 1, 2, 3))]
    if c % (block * block):
        raise ShapeError(f"{c} channels are not blocks of {block} x {block}.")
    inner = c // (block * block)
    if channel_last:
        y = t.permute_dims(t.reshape(x, (n, h, w, block, block, inner)), (0, 1, 3, 2, 4, 5))
        return t.reshape(y, (n, h * block, w * block, inner))
    y = t.permute_dims(t.reshape(x, (n, block, block, inner, h, w)), (0, 3, 4, 1, 5, 2))
    return t.reshape(y, (n, inner, h * block, w * block))


def space_to_depth(x: Array, block: int, /, *, channel_last: bool = False) -> Any:
    """Blocks of pixels as channels: the inverse of `depth_to_space`."""
    if channel_last:
        n, h, w, c = x.shape
        y = t.reshape(x, (n, h // block, block, w // block, block, c))
        y = t.permute_dims(y, (0, 1, 3, 2, 4, 5))
        return t.reshape(y, (n, h // block, w // block, c * block * block))
    n, c, h, w = x.shape
    y = t.reshape(x, (n, c, h // block, block, w // block, block))
    y = t.permute_dims(y, (0, 3, 5, 1, 2, 4))
    return t.reshape(y, (n, c * block * block, h // block, w // block))


def reversed_starts(x: Any, lengths: Any, /, *, batch_axis: int, time_axis: int) -> Any:
    """Each sequence of a batch with its first `lengths[i]` elements in the opposite order."""
    xp = xp_of(x)
    steps = x.shape[time_axis]
    rank = len(x.shape)
    time = xp.arange(steps, dtype=lengths.dtype, device=xp.device(x))
    time, length = along(xp, time, (time_axis,), rank), along(xp, lengths, (batch_axis,), rank)
    places = t.where(time < length, length - 1 - time, time)
    return t.take_along_axis(x, t.broadcast_to(places, tuple(x.shape)), axis=time_axis)


def _places(start: int, end: int, step: int, n: int) -> range:
    """The places of a slice, with ends clamped as ONNX clamps them."""
    if step == 0:
        raise ArgumentError("A slice has the step 0.")
    start = start + n if start < 0 else start
    end = end + n if end < 0 else end
    if step > 0:
        return range(min(max(start, 0), n), min(max(end, 0), n), step)
    return range(min(max(start, 0), n - 1), min(max(end, -1), n - 1), step)


def _padded_places(n: int, low: int, high: int, mode: str) -> list[int]:
    """Which element is at each position of the padded axis."""
    places = range(-low, n + high)
    if mode == "edge":
        return [min(max(i, 0), n - 1) for i in places]
    if mode == "wrap":
        return [i % n for i in places]
    if mode == "symmetric":
        return [min(i % (2 * n), 2 * n - 1 - i % (2 * n)) for i in places]
    if mode != "reflect":
        raise ArgumentError(
            "Padding has the modes 'constant', 'edge', 'reflect', 'symmetric' and 'wrap', got "
            f"{mode!r}."
        )
    period = max(2 * (n - 1), 1)
    return [min(i % period, period - i % period) if n > 1 else 0 for i in places]


def picked(x: Array, axis: int, places: list[int]) -> Any:
    """The elements at these places of an axis."""
    xp = xp_of(x)
    return t.take(x, xp.asarray(places, dtype="int32", device=xp.device(x)), axis=axis)
