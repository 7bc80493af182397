"""Resizing in torch's conventions."""

import math
from typing import Any

import trellis


def resize_like_torch(
    x: Any,
    sizes: Any,
    /,
    *,
    method: str,
    align_corners: bool = False,
    scales: Any = None,
) -> Any:
    """Images (N, C, ...) at other sizes, as `torch.nn.functional.interpolate` makes them.

    "nearest" takes the element at or before each coordinate. Where factors are given, coordinates
    follow them even if the sizes were rounded.
    """
    old = tuple(x.shape[2:])
    if tuple(sizes) == old and not scales:
        return x
    rounded = scales is not None and any([n * s != out for n, s, out in zip(old, scales, sizes)])
    if not rounded and method not in ("nearest", "nearest-exact"):
        return trellis.functional.resize(
            x, tuple(sizes), method=method, align_corners=align_corners,
            data_format="channel_first",
        )  # fmt: skip
    steps = [1 / s for s in scales] if rounded else [n / out for n, out in zip(old, sizes)]
    for i, (n, out, step) in enumerate(zip(old, sizes, steps)):
        if method in ("nearest", "nearest-exact"):
            shift = 0.5 if method == "nearest-exact" else 0.0
            lines = [[(min(math.floor((k + shift) * step), n - 1), 1.0)] for k in range(out)]
        else:
            lines = [_neighbours(k, n, out, step, method, align_corners) for k in range(out)]
        x = _mixed(x, lines, axis=i + 2)
    return x


def _neighbours(k: int, n: int, out: int, step: float, method: str, align: bool) -> Any:
    """Which elements the output k is made of, and with which weights."""
    at = k * (n - 1) / max(out - 1, 1) if align else (k + 0.5) * step - 0.5
    if method != "bicubic":
        at = max(at, 0.0)
        low = min(math.floor(at), n - 1)
        return [(low, 1 - (at - low)), (min(low + 1, n - 1), at - low)]
    low = math.floor(at)
    r = at - low
    places = [min(max(low + j, 0), n - 1) for j in (-1, 0, 1, 2)]
    return list(zip(places, [_cubic(d) for d in (1 + r, r, 1 - r, 2 - r)]))


def _cubic(d: float) -> float:
    a = -0.75
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


def _mixed(x: Any, lines: Any, *, axis: int) -> Any:
    backend = trellis.backend_of(x)
    total: Any = None
    for j in range(len(lines[0])):
        places = trellis.asarray([line[j][0] for line in lines], dtype="int32", backend=backend)
        part = trellis.take(x, places, axis=axis)
        weights = [line[j][1] for line in lines]
        if set(weights) != {1.0}:
            shape = (len(weights),) + (1,) * (len(x.shape) - axis - 1)
            scale = trellis.asarray(weights, dtype=trellis.dtype(x), backend=backend)
            part = trellis.multiply(part, trellis.reshape(scale, shape))
        total = part if total is None else trellis.add(total, part)
    return total
