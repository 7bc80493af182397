"""Images at another size in every way that torch and ONNX have: one axis after another.

Each output element is a weighted sum of neighbours; which ones, and by which weights, is worked out
from the sizes before any array is touched.
"""

import math
from collections.abc import Sequence
from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.errors import ArgumentError


def resized(
    x: Any,
    sizes: Sequence[int],
    /,
    *,
    axes: Sequence[int],
    scales: Sequence[float] | None = None,
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
    cubic: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
    regions: Sequence[tuple[float, float]] | None = None,
    extrapolation: float = 0.0,
) -> Any:
    """`x` with `sizes` elements along `axes`; `scales` are those sizes over the old ones unless
    they are said (torch and ONNX then use them for the coordinates).

    `mode` is "nearest", "linear" or "cubic"; `coordinates` and `rounding` have ONNX's names.
    `regions` is the part of each axis that "tf_crop_and_resize" looks at.

    >>> import numpy as np
    >>> resized(np.array([0.0, 4.0]), (4,), axes=(0,), mode="linear")
    array([0., 1., 3., 4.])
    """
    kind = str(t.dtype(x))
    is_mixed = mode != "nearest"
    y = t.astype(x, "float32") if is_mixed and kind not in ("float32", "float64") else x
    outside: dict[int, list[bool]] = {}
    for i, (axis, out) in enumerate(zip(axes, sizes, strict=True)):
        n = x.shape[axis]
        scale = out / n if scales is None else scales[i]
        if out == n and scale == 1 and coordinates != "tf_crop_and_resize":
            continue
        region = (0.0, 1.0) if regions is None else regions[i]
        places = _coordinates(n, out, scale, coordinates, region)
        if coordinates == "tf_crop_and_resize":
            outside[axis] = [c < 0 or c > n - 1 for c in places]
        rows, weights = _neighbours(
            places, n, scale, mode, rounding, cubic, exclude_outside, antialias
        )
        y = _mixed(y, axis, rows, weights)
    for axis, is_out in outside.items():
        if any(is_out):
            y = t.where(_along(y, is_out, axis, "bool"), extrapolation, y)
    if kind.startswith(("int", "uint")) and is_mixed:
        y = t.round(y)
    return t.astype(y, kind, copy=False)


def _coordinates(
    n: int, out: int, scale: float, name: str, region: tuple[float, float]
) -> list[float]:
    """Where each output element looks at the input."""
    width = scale * n
    places = range(out)
    if name == "align_corners":
        return [0.0 if width == 1 else i * (n - 1) / (width - 1) for i in places]
    if name == "asymmetric":
        return [i / scale for i in places]
    if name == "tf_crop_and_resize":
        begin, end = region
        if width == 1:
            return [begin * (n - 1) + (end - begin) * (n - 1) / 2 for _ in places]
        return [begin * (n - 1) + i * (end - begin) * (n - 1) / (width - 1) for i in places]
    if name == "pytorch_half_pixel" and width == 1:
        return [-0.5 for _ in places]
    shift = n / 2 * (1 - out / width) if name == "half_pixel_symmetric" else 0.0
    if name not in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"):
        raise ArgumentError(f"Resizing has no coordinates {name!r}.")
    return [shift + (i + 0.5) / scale - 0.5 for i in places]


def _neighbours(
    places: list[float],
    n: int,
    scale: float,
    mode: str,
    rounding: str,
    cubic: float,
    exclude_outside: bool,
    antialias: bool,
) -> tuple[list[list[int]], list[list[float]]]:
    """The inputs of each output element, and their weights."""
    if mode == "nearest":
        return [[min(max(_rounded(c, rounding), 0), n - 1)] for c in places], [[1.0]] * len(places)
    if mode not in ("linear", "cubic"):
        raise ArgumentError(f"Resizing has the modes nearest, linear and cubic, got {mode!r}.")
    reach = 1 if mode == "linear" else 2
    shrink = min(scale, 1.0) if antialias else 1.0
    first = math.floor(-reach / shrink) + 1
    rows, weights = [], []
    for c in places:
        base = math.floor(c)
        index = [base + i for i in range(first, 2 - first)]
        row = [_weight((i - c) * shrink, mode, cubic) for i in index]
        if exclude_outside:
            row = [w if 0 <= i < n else 0.0 for i, w in zip(index, row)]
        if exclude_outside or antialias:
            total = sum(row)
            row = [w / total for w in row]
        rows.append([min(max(i, 0), n - 1) for i in index])
        weights.append(row)
    return rows, weights


def _rounded(c: float, rounding: str) -> int:
    if rounding == "floor":
        return math.floor(c)
    if rounding == "ceil":
        return math.ceil(c)
    if rounding == "round_prefer_ceil":
        return math.floor(c + 0.5)
    if rounding == "round_prefer_floor":
        return math.ceil(c - 0.5)
    raise ArgumentError(f"Resizing has no rounding {rounding!r}.")


def _weight(distance: float, mode: str, a: float) -> float:
    """The weight of an element at a distance: a tent, or Keys' cubic."""
    d = abs(distance)
    if mode == "linear":
        return max(1 - d, 0.0)
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0


def _mixed(y: Any, axis: int, rows: list[list[int]], weights: list[list[float]]) -> Any:
    total = None
    for k in range(len(rows[0])):
        index = [row[k] for row in rows]
        part = t.take(y, _row(y, index, "int32"), axis=axis)
        column = [row[k] for row in weights]
        if any([w != 1.0 for w in column]):
            part = part * _along(y, column, axis, t.dtype(y))
        total = part if total is None else total + part
    return total


def _row(like: Any, numbers: Any, kind: Any) -> Any:
    xp = xp_of(like)
    return xp.asarray(numbers, dtype=kind, device=xp.device(like))


def _along(y: Any, numbers: Any, axis: int, kind: Any) -> Any:
    shape = [1] * len(y.shape)
    shape[axis] = len(numbers)
    return t.reshape(_row(y, numbers, kind), tuple(shape))


def resized_to(
    x: Any, sizes: Sequence[int], /, *, axes: Sequence[int], policy: str = "stretch", **options: Any
) -> Any:
    """`resized` to sizes; with a policy "not_larger" or "not_smaller" all axes keep their ratio
    and the sizes are limits."""
    if policy == "stretch":
        return resized(x, sizes, axes=axes, **options)
    ratios = [want / x.shape[axis] for want, axis in zip(sizes, axes, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    outs = [math.floor(x.shape[axis] * scale + 0.5) for axis in axes]
    return resized(x, outs, axes=axes, scales=[scale] * len(outs), **options)


def resized_by(x: Any, scales: Sequence[float], /, *, axes: Sequence[int], **options: Any) -> Any:
    """`resized` by factors: to floor(n * scale) elements."""
    outs = [math.floor(x.shape[axis] * s) for axis, s in zip(axes, scales, strict=True)]
    return resized(x, outs, axes=axes, scales=scales, **options)


def numbers(x: Any, /) -> tuple[float, ...]:
    """The numbers of an array as Python's, for scales that are inputs of a model."""
    return tuple([float(n) for n in t.to_numpy(x).ravel()])


def regions(x: Any, /) -> tuple[tuple[float, float], ...]:
    """Begins of regions, then ends, as pairs."""
    flat = numbers(x)
    half = len(flat) // 2
    return tuple(zip(flat[:half], flat[half:]))
