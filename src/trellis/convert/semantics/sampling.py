"""Arrays read at places between their elements."""

import itertools
import math
from typing import Any

import trellis as t

from ..._core.dispatch import xp_of


def grid_sampled(
    x: Any,
    grid: Any,
    /,
    *,
    mode: str = "linear",
    padding: str = "zeros",
    align_corners: bool = False,
) -> Any:
    """`x` (N, C, *spatial) at the points of `grid` (N, *out, dims), whose coordinates go from -1 to
    1, the last axis of `x` first.

    `mode` is "linear", "nearest" or "cubic"; `padding` outside of `x` is "zeros", "border" or
    "reflection".
    """
    sizes = list(x.shape[2:])
    dims = len(sizes)
    columns = []
    for i in range(dims):
        c, n = grid[..., dims - 1 - i], sizes[i]
        c = (c + 1) / 2 * (n - 1) if align_corners else ((c + 1) * n - 1) / 2
        columns.append(c)
    if mode != "cubic":
        columns = [_inside(c, n, padding, align_corners) for c, n in zip(columns, sizes)]
    batch, channels = x.shape[0], x.shape[1]
    planes = t.reshape(x, (batch, channels, math.prod(sizes)))
    total: Any = None
    for steps in itertools.product(_steps(mode), repeat=dims):
        weight: Any = None
        places: Any = 0
        valid: Any = None
        for i, step in enumerate(steps):
            c, n = columns[i], sizes[i]
            low = t.round(c) if mode == "nearest" else t.floor(c)
            place = low + step
            if mode != "nearest":
                w = _weight(place - c, mode)
                weight = w if weight is None else weight * w
            if mode == "cubic":
                place = _inside(place, n, padding, align_corners)
                place = t.round(place)
            here = (place >= 0) & (place < n)
            valid = here if valid is None else valid & here
            places = places * n + t.clip(place, 0.0, n - 1.0)
        index = t.astype(t.reshape(places, (batch, 1, -1)), "int32")
        index = t.broadcast_to(index, (batch, channels, index.shape[-1]))
        found = t.take_along_axis(planes, index, axis=2)
        found = t.reshape(found, (batch, channels, *grid.shape[1:-1]))
        found = t.where(t.expand_dims(valid, 1), found, 0.0)
        part = found if weight is None else found * t.expand_dims(weight, 1)
        total = part if total is None else total + part
    return t.astype(total, t.dtype(x), copy=False)


def _steps(mode: str) -> tuple[int, ...]:
    return {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]


def _weight(distance: Any, mode: str) -> Any:
    d = t.abs(distance)
    if mode == "linear":
        return 1 - d
    a = -0.75
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return t.where(d <= 1, near, far)


def _inside(c: Any, n: int, padding: str, align_corners: bool) -> Any:
    """A coordinate brought into the image, as the padding says."""
    if padding == "border":
        return t.clip(c, 0.0, n - 1.0)
    if padding == "reflection":
        low, high = (0.0, n - 1.0) if align_corners else (-0.5, n - 0.5)
        span = high - low
        if span <= 0:
            return t.zeros_like(c)
        c = t.abs(c - low)
        turns = t.floor(c / span)
        rest = c - turns * span
        even = t.remainder(turns, 2.0) == 0
        c = t.where(even, rest + low, span - rest + low)
        return t.clip(c, 0.0, n - 1.0)
    return c


def max_roi_pooled(x: Any, rois: Any, /, *, size: tuple[int, int], scale: float) -> Any:
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
