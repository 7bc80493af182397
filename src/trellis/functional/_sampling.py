"""Which old elements each element of a resized axis is computed from, and with which weights.

Plain numbers, no arrays: sizes are known while tracing. Without an explicit scale coordinates are
fractions of whole numbers, so that "nearest" rounds what is exactly a half, and never what a float
made of it.
"""

import math
from typing import Any, NamedTuple

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "asymmetric",
    "align_corners",
)
ROUNDINGS = ("round_prefer_ceil", "round_prefer_floor", "floor", "ceil")


class Sampling(NamedTuple):
    """How an axis is resized."""

    kind: str  # "nearest", "linear" or "cubic"
    coordinates: str
    rounding: str
    cubic: float  # Keys' coefficient
    antialias: bool
    excludes: bool  # beyond the edge there is nothing, and the other weights grow
    steps: int = 0  # coordinates between elements are rounded to so many steps; 0: not at all
    region: tuple[float, float] = (0.0, 1.0)  # the part of the axis of "tf_crop_and_resize"


def nearest(how: Sampling, n: int, out: int, scale: float | None) -> list[int]:
    """For each new element the old one that it takes."""
    tops, bottom = coordinates(how, n, out, scale)
    if how.rounding == "floor":
        found = [top // bottom for top in tops]
    elif how.rounding == "ceil":
        found = [-(-top // bottom) for top in tops]
    elif how.rounding == "round_prefer_floor":
        found = [-((bottom - 2 * top) // (2 * bottom)) for top in tops]
    else:
        found = [(2 * top + bottom) // (2 * bottom) for top in tops]
    return [min(max(int(i), 0), n - 1) for i in found]


def neighbours(
    how: Sampling, n: int, out: int, scale: float | None
) -> tuple[list[list[int]], list[list[float]]]:
    """For each new element the same number of old ones, and their weights, which add up to 1."""
    tops, bottom = coordinates(how, n, out, scale)
    reach = 1 if how.kind == "linear" else 2
    # A filter is made wider by the factor by which the axis shrinks.
    stretch = max(n / out if scale is None else 1 / scale, 1.0) if how.antialias else 1.0
    count = 2 * math.ceil(reach * stretch)
    places, weights = [], []
    for top in tops:
        c = top / bottom
        if how.kind == "linear" and not how.antialias:
            c = min(max(c, 0.0), n - 1.0)
        if how.steps:
            c = math.floor(c) + round((c - math.floor(c)) * how.steps) / how.steps
        first = math.floor(c) - count // 2 + 1
        row = [_weight((j - c) / stretch, how) for j in range(first, first + count)]
        if how.excludes:
            row = [w if 0 <= first + j < n else 0.0 for j, w in enumerate(row)]
        if how.excludes or how.antialias:
            total = sum(row)
            row = [w / total for w in row]
        places.append([min(max(j, 0), n - 1) for j in range(first, first + count)])
        weights.append(row)
    return places, weights


def _weight(distance: float, how: Sampling) -> float:
    d, a = abs(distance), how.cubic
    if how.kind == "linear":
        return max(1 - d, 0.0)
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0


def coordinates(how: Sampling, n: int, out: int, scale: float | None) -> tuple[list[Any], int]:
    """Numerators and the denominator of the coordinates in the old axis."""
    mode = how.coordinates
    if mode == "pytorch_half_pixel" and out == 1:
        return [0], 1
    if mode == "tf_crop_and_resize":
        (begin, end), width = how.region, out if scale is None else n * scale
        if width == 1:
            return [(begin + end) / 2 * (n - 1)] * out, 1
        return [begin * (n - 1) + i * (end - begin) * (n - 1) / (width - 1) for i in range(out)], 1
    if scale is not None:
        return [_by_scale(mode, i, n, out, scale) for i in range(out)], 1
    if mode == "asymmetric":
        return [i * n for i in range(out)], out
    if mode == "align_corners":
        return [i * (n - 1) for i in range(out)], max(out - 1, 1)
    return [(2 * i + 1) * n - out for i in range(out)], 2 * out


def _by_scale(mode: str, i: int, n: int, out: int, scale: float) -> float:
    if mode == "asymmetric":
        return i / scale
    if mode == "align_corners":
        return i * (n - 1) / (n * scale - 1) if i > 0 else 0.0
    centre = (i + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":  # the middle of the new axis lies over that of the old one
        return centre + n / 2 * (1 - out / (n * scale))
    return centre
