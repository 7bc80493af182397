"""What TensorFlow means: lookups of points, rows of lists, blocks of images, slices backwards."""

from collections.abc import Sequence
from math import prod
from typing import Any

from ... import functional as F
from ..._core.dispatch import xp_of, xp_of_all
from ..._core.typing import Array
from ...functional._sampling import Sampling
from ...functional.resizing import resized_axis
from .rearranging import picked


def slice_any(x: Array, index: tuple[Any, ...], /) -> Any:
    """`x[index]`, where slices may go backwards.

    >>> import numpy as np
    >>> slice_any(np.arange(5), (slice(3, None, -2),))
    array([3, 1])
    """
    axis = 0
    for part in index:
        if part is Ellipsis:
            axis = len(x.shape) - len([i for i in index if i is not None and i is not ...])
        elif part is not None:
            if isinstance(part, slice) and part.step is not None and part.step < 0:
                x = picked(x, axis, list(range(x.shape[axis]))[part])
            axis += 1
    forward = [
        slice(None) if isinstance(i, slice) and i.step is not None and i.step < 0 else i
        for i in index
    ]
    return x[tuple(forward)]


def take_in_batches(x: Array, indices: Array, /, *, axis: int, batch_axes: int) -> Any:
    """Slices along an axis, with indices of their own for each of the first axes.

    >>> import numpy as np
    >>> take_in_batches(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), axis=1, batch_axes=1)
    array([[2],
           [3]])
    """
    xp = xp_of_all(x, indices)
    axis = axis % len(x.shape)
    x = xp.moveaxis(x, axis, batch_axes)
    shape, places = tuple(x.shape), tuple(indices.shape)
    outer = prod(shape[:batch_axes])
    size, inner = shape[batch_axes], shape[batch_axes + 1 :]
    flat = xp.reshape(x, (outer * size, *inner))
    starts = xp.arange(outer, dtype=indices.dtype, device=xp.device(x)) * size
    starts = xp.reshape(starts, (*shape[:batch_axes], *[1] * (len(places) - batch_axes)))
    found = xp.take(flat, indices + starts, axis=0)
    count = len(places) - batch_axes  # the new axes go where the old one was
    order = list(range(batch_axes, len(places)))
    rest = [i for i in range(len(found.shape)) if i not in order]
    place = axis
    moved = [*rest[:place], *order, *rest[place:]]
    return found if count == 0 or moved == sorted(moved) else xp.permute_dims(found, tuple(moved))


def count_along(x: Array, axes: Sequence[int], /) -> int:
    """How many elements there are along some axes."""
    return prod([x.shape[i] for i in axes])


def batch_normalized(
    x: Array, weight: Array, bias: Array | None, /, *, epsilon: float, channel_axis: int
) -> tuple[Any, Any, Any, Any]:
    """`x` normalised by its own mean and variance along all axes but one; then the mean, the
    variance, and the variance that stands for all of which the batch is a sample."""
    xp = xp_of_all(x, weight, bias)
    rank = len(x.shape)
    axes = tuple([i for i in range(rank) if i != channel_axis % rank])
    shape = tuple([-1 if i == channel_axis % rank else 1 for i in range(rank)])
    mean, variance = xp.mean(x, axis=axes), xp.var(x, axis=axes)
    scale = weight / xp.sqrt(variance + epsilon)
    y = (x - xp.reshape(mean, shape)) * xp.reshape(scale, shape) + xp.reshape(bias, shape)
    n = count_along(x, axes)
    return y, mean, variance, variance * (n / max(n - 1, 1))


def resize_images(
    x: Array,
    size: Sequence[int],
    /,
    *,
    method: str,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Any:
    """Images (N, H, W, C) of another size, with TensorFlow's three ways to place pixels.

    >>> import numpy as np
    >>> x = np.array([1.0, 2.0]).reshape(1, 1, 2, 1)
    >>> resize_images(x, (1, 4), method="nearestneighbor", half_pixel_centers=True).ravel()
    array([1., 1., 2., 2.])
    """
    coordinates = "half_pixel" if half_pixel_centers else "asymmetric"
    if align_corners:
        coordinates = "align_corners"
    name = {"nearestneighbor": "nearest"}.get(method, method)
    options: dict[str, Any] = {}
    if name == "nearest":
        options["rounding"] = "round_prefer_ceil" if align_corners else "floor"
        if half_pixel_centers:  # TensorFlow floors (i + 0.5) * scale: the pixel it falls into
            options["rounding"] = "round_prefer_ceil"
    if name == "bicubic":
        # TensorFlow rounds the place between two pixels to 1/1024, which one can see in 32 bits.
        a = -0.5 if half_pixel_centers else -0.75
        how = Sampling("cubic", coordinates, "", a, False, half_pixel_centers, steps=1024)
        for axis, n in enumerate(size, start=1):
            x = resized_axis(xp_of(x), x, axis, n, None, how)
        return x
    return F.resize(x, tuple(size), method=name, coordinates=coordinates, **options)


def space_to_batch(x: Array, block: Sequence[int], pads: Sequence[tuple[int, int]], /) -> Any:
    """Blocks of the axes after the first, each element of a block in a batch of its own."""
    xp = xp_of(x)
    n = len(block)
    rest = len(x.shape) - n - 1
    x = xp.pad(x, [(0, 0), *pads, *[(0, 0)] * rest])
    shape = tuple(x.shape)
    split: list[int] = [shape[0]]
    for i, b in enumerate(block):
        split += [shape[i + 1] // b, b]
    x = xp.reshape(x, (*split, *shape[n + 1 :]))
    inner = [2 * i + 2 for i in range(n)]
    outer = [2 * i + 1 for i in range(n)]
    tail = list(range(2 * n + 1, 2 * n + 1 + rest))
    x = xp.permute_dims(x, (*inner, 0, *outer, *tail))
    sizes = [shape[i + 1] // b for i, b in enumerate(block)]
    return xp.reshape(x, (shape[0] * prod(block), *sizes, *shape[n + 1 :]))


def batch_to_space(x: Array, block: Sequence[int], crops: Sequence[tuple[int, int]], /) -> Any:
    """What `space_to_batch` was made of, with `crops` cut off."""
    xp = xp_of(x)
    n, shape = len(block), tuple(x.shape)
    batch = shape[0] // prod(block)
    x = xp.reshape(x, (*block, batch, *shape[1:]))
    order = [n]
    for i in range(n):
        order += [n + 1 + i, i]
    tail = list(range(2 * n + 1, len(x.shape)))
    x = xp.permute_dims(x, (*order, *tail))
    sizes = [shape[i + 1] * b for i, b in enumerate(block)]
    x = xp.reshape(x, (batch, *sizes, *shape[n + 1 :]))
    cut = [slice(low, size - high) for (low, high), size in zip(crops, sizes)]
    return x[(slice(None), *cut)]
