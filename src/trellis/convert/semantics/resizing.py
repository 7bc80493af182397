"""Arrays at another size along any axes, in every way that ONNX has."""

import math
from collections.abc import Sequence
from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.shapes import one_of
from ..._core.typing import Array
from ...functional._layout import along
from ...functional._sampling import COORDINATES, ROUNDINGS, Sampling
from ...functional._sampling import coordinates as coordinates_of
from ...functional.resizing import resized_axis


def resized(
    x: Array,
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
    one_of("resized", "mode", mode, ("nearest", "linear", "cubic"))
    one_of("resized", "coordinates", coordinates, (*COORDINATES, "tf_crop_and_resize"))
    one_of("resized", "rounding", rounding, ROUNDINGS)
    xp, kind = xp_of(x), str(t.dtype(x))
    is_mixed = mode != "nearest"
    how = Sampling(mode, coordinates, rounding, cubic, antialias, exclude_outside)
    y = t.astype(x, "float32") if is_mixed and kind not in ("float32", "float64") else x
    for i, (axis, out) in enumerate(zip(axes, sizes, strict=True)):
        n, scale = x.shape[axis], None if scales is None else scales[i]
        if coordinates == "tf_crop_and_resize":
            how = how._replace(region=(0.0, 1.0) if regions is None else regions[i])
        elif out == n and scale in (None, 1.0):
            continue
        y = resized_axis(xp, y, axis, out, scale, how)
    if coordinates == "tf_crop_and_resize":
        y = t.where(_is_outside(x, y, axes, scales, regions, how), extrapolation, y)
    if kind.startswith(("int", "uint")) and is_mixed:
        y = t.round(y)
    return t.astype(y, kind, copy=False)


def _is_outside(x: Any, y: Any, axes: Any, scales: Any, regions: Any, how: Sampling) -> Any:
    """Where the elements of `y` lie outside of `x`."""
    xp = xp_of(x)
    found = xp.zeros((1,) * len(x.shape), dtype="bool", device=xp.device(x))
    for i, axis in enumerate(axes):
        n, scale = x.shape[axis], None if scales is None else scales[i]
        how = how._replace(region=(0.0, 1.0) if regions is None else regions[i])
        places, _ = coordinates_of(how, n, y.shape[axis], scale)
        row = xp.asarray([c < 0 or c > n - 1 for c in places], device=xp.device(x))
        found = xp.logical_or(found, along(xp, row, (axis,), len(x.shape)))
    return found


def resized_to(x: Array, sizes: Sequence[int], /, *, axes: Sequence[int], policy: str = "stretch",
               **options: Any) -> Any:  # fmt: skip
    """`resized` to sizes; with a policy "not_larger" or "not_smaller" all axes keep their ratio
    and the sizes are limits."""
    if policy == "stretch":
        return resized(x, sizes, axes=axes, **options)
    ratios = [want / x.shape[axis] for want, axis in zip(sizes, axes, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    outs = [math.floor(x.shape[axis] * scale + 0.5) for axis in axes]
    return resized(x, outs, axes=axes, scales=[scale] * len(outs), **options)


def resized_by(x: Array, scales: Sequence[float], /, *, axes: Sequence[int], **options: Any) -> Any:
    """`resized` by factors: to floor(n * scale) elements."""
    outs = [math.floor(x.shape[axis] * s) for axis, s in zip(axes, scales, strict=True)]
    return resized(x, outs, axes=axes, scales=scales, **options)


def numbers(x: Array, /) -> tuple[float, ...]:
    """The numbers of an array as Python's, for scales that are inputs of a model."""
    return tuple([float(n) for n in t.to_numpy(x).ravel()])


def regions(x: Array, /) -> tuple[tuple[float, float], ...]:
    """Begins of regions, then ends, as pairs."""
    flat = numbers(x)
    half = len(flat) // 2
    return tuple(zip(flat[:half], flat[half:]))
