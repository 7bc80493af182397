"""Regions of images: pooled between pixels, and the best ones chosen."""

import math
from typing import Any

import numpy as np

import trellis as t

from ..._core.dispatch import xp_of


def roi_aligned(
    x: Any,
    rois: Any,
    batch: Any,
    /,
    *,
    size: tuple[int, int],
    scale: float = 1.0,
    samples: int = 0,
    half_pixel: bool = True,
    largest: bool = False,
) -> Any:
    """The mean (or `largest`) of bilinear samples in each of `size` parts of regions
    (x1, y1, x2, y2) of images; how many samples follows from the regions if `samples` is 0.

    The places are read from the regions, so that it runs uncompiled; it differentiates in `x`.
    """
    xp = xp_of(x)
    height, width = x.shape[2:]
    rows = []
    boxes = t.to_numpy(rois).astype(np.float64) * scale - (0.5 if half_pixel else 0.0)
    for (x1, y1, x2, y2), b in zip(boxes.tolist(), t.to_numpy(batch).tolist()):
        wide, high = x2 - x1, y2 - y1
        if not half_pixel:
            wide, high = max(wide, 1.0), max(high, 1.0)
        ys, vertical = _samples(y1, high, size[0], samples, height)
        xs, horizontal = _samples(x1, wide, size[1], samples, width)
        image = x[b]
        total = _weighted(xp, image, ys, xs, largest)
        shape = (x.shape[1], size[0], vertical, size[1], horizontal)
        parts = t.reshape(total, shape)
        rows.append((t.max if largest else t.mean)(parts, axis=(2, 4)))
    if not rows:
        return xp.zeros((0, x.shape[1], *size), dtype=x.dtype)
    return t.stack(rows, axis=0)


def boxes_kept(
    boxes: Any,
    scores: Any,
    /,
    *,
    count: int = 0,
    overlap: float = 0.0,
    score: float | None = None,
    by_centre: bool = False,
    dtype: str = "int64",
) -> Any:
    """The best boxes of each class that overlap no better one by more than `overlap`: rows of
    (image, class, box), at most `count` for each class. It runs uncompiled."""
    xp = xp_of(boxes)
    corners, points = t.to_numpy(boxes).astype(np.float64), t.to_numpy(scores)
    if by_centre:
        cx, cy, w, h = np.moveaxis(corners, -1, 0)
        corners = np.stack([cy - h / 2, cx - w / 2, cy + h / 2, cx + w / 2], axis=-1)
    low = np.minimum(corners[..., :2], corners[..., 2:])
    high = np.maximum(corners[..., :2], corners[..., 2:])
    found: list[list[int]] = []
    for image in range(points.shape[0]):
        for kind in range(points.shape[1]):
            kept: list[int] = []
            for i in np.argsort(-points[image, kind], kind="stable").tolist():
                if len(kept) >= count or (score is not None and points[image, kind, i] <= score):
                    break
                if all([_overlap(low[image], high[image], i, j) <= overlap for j in kept]):
                    kept.append(i)
                    found.append([image, kind, i])
    rows = np.array(found, np.int64).reshape(-1, 3)
    return xp.from_numpy(rows.astype(dtype))


def _overlap(low: Any, high: Any, i: int, j: int) -> float:
    """The area that two boxes share, over that of both."""
    sides = np.minimum(high[i], high[j]) - np.maximum(low[i], low[j])
    shared = float(np.prod(np.maximum(sides, 0.0)))
    areas = float(np.prod(high[i] - low[i]) + np.prod(high[j] - low[j]))
    return shared / (areas - shared) if areas > shared else 0.0


def _samples(
    begin: float, length: float, parts: int, samples: int, n: int
) -> tuple[list[tuple[int, int, float, float]], int]:
    """For each sample of an axis two neighbours and their weights; and how many a part has."""
    count = samples if samples > 0 else max(math.ceil(length / parts), 1)
    step = length / parts
    found = []
    for part in range(parts):
        for k in range(count):
            c = begin + part * step + (k + 0.5) * step / count
            if c < -1.0 or c > n:
                found.append((0, 0, 0.0, 0.0))
                continue
            c = max(c, 0.0)
            low = min(int(c), n - 1)
            high = min(low + 1, n - 1)
            rest = 0.0 if low >= n - 1 else c - low
            found.append((low, high, 1.0 - rest, rest))
    return found, count


def _weighted(xp: Any, image: Any, ys: Any, xs: Any, largest: bool) -> Any:
    """Bilinear samples of (C, H, W); for maxima the largest weighted corner, as ONNX has it."""

    def row(numbers: list[Any], kind: Any) -> Any:
        return xp.asarray(numbers, dtype=kind, device=xp.device(image))

    total = None
    for a in (0, 1):
        lines = t.take(image, row([y[a] for y in ys], "int32"), axis=1)
        down = t.reshape(row([y[a + 2] for y in ys], image.dtype), (1, -1, 1))
        for b in (0, 1):
            found = t.take(lines, row([c[b] for c in xs], "int32"), axis=2)
            right = t.reshape(row([c[b + 2] for c in xs], image.dtype), (1, 1, -1))
            part = found * (down * right)
            if total is None:
                total = part
            else:
                total = t.maximum(total, part) if largest else total + part
    return total
