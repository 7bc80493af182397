"""Convolutions at places that the model computes, and sums of overlapping patches."""

import math
from collections.abc import Sequence
from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from .convolution import Pairs


def deformed_convolution(
    x: Any,
    filters: Any,
    offset: Any,
    bias: Any = None,
    mask: Any = None,
    /,
    *,
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int],
    groups: int = 1,
    offset_groups: int = 1,
) -> Any:
    """Convolution along two axes whose windows look at their places moved by `offset`, between
    pixels by bilinear mixing, weighted by `mask` (torchvision's and ONNX's DeformConv).

    `offset` is (N, offset_groups * kh * kw * 2, oh, ow) with rows before columns.
    """
    xp = xp_of(x)
    n, c, height, width = x.shape
    outs, per_group, kh, kw = filters.shape
    oh, ow = offset.shape[-2:]
    moved = t.reshape(offset, (n, offset_groups, kh * kw, 2, oh, ow))

    def base(size: int, kernel: int, axis: int) -> Any:
        starts = xp.arange(size, dtype=x.dtype, device=xp.device(x)) * strides[axis]
        steps = xp.arange(kernel, dtype=x.dtype, device=xp.device(x)) * dilations[axis]
        return t.expand_dims(steps, 1) + t.expand_dims(starts, 0) - padding[axis][0]

    rows = t.reshape(base(oh, kh, 0), (1, 1, kh, 1, oh, 1))
    columns = t.reshape(base(ow, kw, 1), (1, 1, 1, kw, 1, ow))
    shape = (n, offset_groups, kh * kw, oh, ow)
    grid = (1, 1, kh, kw, oh, ow)
    rows = t.reshape(t.broadcast_to(rows, grid), (1, 1, *shape[2:])) + moved[:, :, :, 0]
    columns = t.reshape(t.broadcast_to(columns, grid), (1, 1, *shape[2:])) + moved[:, :, :, 1]
    planes = t.reshape(x, (n, offset_groups, c // offset_groups, height * width))
    patches = _bilinear(xp, planes, rows, columns, height, width)
    if mask is not None:
        patches = patches * t.expand_dims(t.reshape(mask, shape), 2)
    patches = t.reshape(patches, (n, groups, per_group, kh * kw, oh * ow))
    weights = t.reshape(filters, (groups, outs // groups, per_group, kh * kw))
    y = t.reshape(t.einsum("ngckp,gock->ngop", patches, weights), (n, outs, oh, ow))
    return y if bias is None else y + t.reshape(bias, (-1, 1, 1))


def _bilinear(xp: Any, planes: Any, rows: Any, columns: Any, height: int, width: int) -> Any:
    """Pixels of (N, G, C, H*W) at places (N, G, K, oh, ow); outside of the image they are zero."""
    top, left = t.floor(rows), t.floor(columns)
    low, side = rows - top, columns - left
    n, groups, channels = planes.shape[:3]
    total = None
    for down, right, weight in (
        (0, 0, (1 - low) * (1 - side)),
        (0, 1, (1 - low) * side),
        (1, 0, low * (1 - side)),
        (1, 1, low * side),
    ):
        i, j = top + down, left + right
        inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
        places = t.clip(i, 0.0, height - 1.0) * width + t.clip(j, 0.0, width - 1.0)
        index = t.astype(t.reshape(places, (n, groups, 1, -1)), "int32")
        index = t.broadcast_to(index, (n, groups, channels, index.shape[-1]))
        found = t.take_along_axis(planes, index, axis=3)
        found = t.reshape(found, (n, groups, channels, *rows.shape[2:]))
        part = found * t.expand_dims(t.where(inside, weight, 0.0), 2)
        total = part if total is None else total + part
    return total


def columns_to_image(
    x: Any,
    image: Sequence[int],
    block: Sequence[int],
    /,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    """The sum of overlapping patches (N, C * prod(block), count) as an image of any number of
    axes: torch's fold, ONNX's Col2Im."""
    xp = xp_of(x)
    dims = len(image)
    dilations = (1,) * dims if dilations is None else dilations
    strides = (1,) * dims if strides is None else strides
    pads = (0,) * (2 * dims) if pads is None else pads
    sizes = [image[i] + pads[i] + pads[i + dims] for i in range(dims)]
    outs = [(sizes[i] - (block[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(dims)]
    # The place of each element of each patch in the padded image, in row-major order.
    places = [0]
    for k in range(2 * dims):
        i, is_block = k % dims, k < dims
        count, step = (block[i], dilations[i]) if is_block else (outs[i], strides[i])
        stride = math.prod(sizes[i + 1 :])
        places = [p + j * step * stride for p in places for j in range(count)]
    n = x.shape[0]
    channels = x.shape[1] // math.prod(block)
    flat = t.reshape(x, (n, channels, -1))
    index = xp.asarray(places, dtype="int32", device=xp.device(x))
    empty = xp.zeros((n, channels, math.prod(sizes)), dtype=x.dtype, device=xp.device(x))
    y = t.scatter(empty, index, flat, axis=2, reduce="add")
    y = t.reshape(y, (n, channels, *sizes))
    cut = [slice(pads[i], pads[i] + image[i]) for i in range(dims)]
    return y[(slice(None), slice(None), *cut)]
