"""Regions of images, pooled."""

import itertools
import math
from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.typing import Array


def max_roi_pooled(x: Array, rois: Array, /, *, size: tuple[int, int], scale: float) -> Any:
    """The largest element of each of `size` parts of regions (batch, x1, y1, x2, y2); the places
    are read from the regions, so that it runs uncompiled."""
    xp = xp_of(x)
    rows = []
    for b, x1, y1, x2, y2 in t.to_numpy(rois).tolist():
        left, top = math.floor(x1 * scale + 0.5), math.floor(y1 * scale + 0.5)
        right, bottom = math.floor(x2 * scale + 0.5), math.floor(y2 * scale + 0.5)
        high, wide = max(bottom - top + 1, 1), max(right - left + 1, 1)
        cells = []
        for i, j in itertools.product(range(size[0]), range(size[1])):
            h0, h1 = _part(top, high, size[0], i, x.shape[2])
            w0, w1 = _part(left, wide, size[1], j, x.shape[3])
            cell = x[int(b), :, h0:h1, w0:w1]
            is_empty = h1 <= h0 or w1 <= w0
            channels = x.shape[1]
            cells.append(
                xp.zeros((channels,), dtype=x.dtype) if is_empty else t.max(cell, axis=(1, 2))
            )
        rows.append(t.reshape(t.stack(cells, axis=1), (x.shape[1], *size)))
    return t.stack(rows, axis=0)


def _part(begin: int, length: int, parts: int, i: int, n: int) -> tuple[int, int]:
    low = begin + math.floor(i * length / parts)
    high = begin + math.ceil((i + 1) * length / parts)
    return min(max(low, 0), n), min(max(high, 0), n)
