"""Convolutions at places that the model computes."""

from collections.abc import Sequence
from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.typing import Array, Backend
from .convolution import Pairs


def deformed_convolution(
    x: Array,
    filters: Array,
    offset: Array,
    bias: Array | None = None,
    mask: Array | None = None,
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


def _bilinear(
    xp: Backend, planes: Array, rows: Array, columns: Array, height: int, width: int
) -> Any:
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
