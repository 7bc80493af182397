"""Images (and lines, and volumes) at another size.

Convention: elements are squares whose centres lie at half-integers, so output i of `out` looks at
the coordinate (i + 0.5) * n / out - 0.5 of the n inputs (torch's and TensorFlow's half-pixel
centres). Other `coordinates`:

- "align_corners": the centres of the first and last elements coincide, i * (n - 1) / (out - 1).
- "asymmetric": the corners of the first elements coincide, i * n / out (torch's "nearest").
- "pytorch_half_pixel": half-pixel, but 0 where one element is left.
- "half_pixel_symmetric": half-pixel, with the middles of both axes over each other, where `scale`
  times n is not a whole number.

Beyond the edge the edge is repeated. "nearest" rounds the coordinate by `rounding`; half-pixel
centres and "round_prefer_ceil" give floor((i + 0.5) * n / out) (torch's "nearest-exact"). Cubic
weights are Keys' with a = -0.75 (torch, OpenCV) unless `cubic_coefficient` names another.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.leafwise import call_leafwise
from .._core.shapes import one_of
from .._core.typing import A, Array, Backend
from ._arguments import flag, number, per_axis
from ._layout import along, checked_planes
from ._precision import precise
from ._sampling import COORDINATES, ROUNDINGS, Sampling, nearest, neighbours

# method, align_corners, coordinates, rounding, cubic_coefficient, antialias and exclude_outside,
# not checked yet
_Given: TypeAlias = tuple[Any, bool, str, str, Any, bool, bool | None]
_METHODS = {
    "nearest": ("nearest", None),
    "linear": ("linear", 1),
    "bilinear": ("linear", 2),
    "trilinear": ("linear", 3),
    "cubic": ("cubic", 1),
    "bicubic": ("cubic", 2),
    "tricubic": ("cubic", 3),
}


def resize(
    x: A,
    size: int | Sequence[int],
    /,
    *,
    method: str = "nearest",
    align_corners: bool = False,
    data_format: str = "channel_last",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_ceil",
    scale: float | Sequence[float] | None = None,
    cubic_coefficient: float = -0.75,
    antialias: bool = False,
    exclude_outside: bool | None = None,
) -> A:
    """`x` with `size` elements along its 1 to 3 spatial axes.

    `method` is "nearest", or "linear" and "cubic" for one axis, "bilinear" and "bicubic" for two,
    "trilinear" and "tricubic" for three. Centres are half-pixel ones unless `align_corners` or
    `coordinates` say otherwise, and `rounding` ("round_prefer_ceil", "round_prefer_floor", "floor",
    "ceil") is that of "nearest"; see the head of this module. torch's "nearest" is
    `coordinates="asymmetric", rounding="floor"`.

    `scale` takes the place of size / n in the coordinates, where it is not the same (torch's
    recompute_scale_factor=False, ONNX's scales). `antialias` makes the filter wider where the
    axis shrinks. With `exclude_outside`, which is how `antialias` begins, what lies beyond the edge
    has no weight; otherwise the edge is repeated.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.resize(np.array([0.0, 4.0]).reshape(1, 2, 1), 4, method="linear").ravel()
    array([0., 1., 3., 4.])
    """
    try:
        given = (method, align_corners, coordinates, rounding, cubic_coefficient)
        return _to_size(x, size, scale, data_format, (*given, antialias, exclude_outside))
    except Exception as error:
        return explain(error, resize)


def interpolate(
    x: A,
    scale: float | Sequence[float],
    /,
    *,
    method: str = "nearest",
    align_corners: bool = False,
    data_format: str = "channel_last",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_ceil",
    keep_scale: bool = False,
    cubic_coefficient: float = -0.75,
    antialias: bool = False,
    exclude_outside: bool | None = None,
) -> A:
    """`resize` by a factor for all spatial axes or one for each: to floor(n * scale) elements.

    With `keep_scale` the factor itself is used for the coordinates; otherwise the ratio of the
    sizes, which are rounded down. The other options are those of `resize`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.interpolate(np.array([1.0, 2.0]).reshape(1, 2, 1), 2).ravel()
    array([1., 1., 2., 2.])
    """
    try:
        given = (method, align_corners, coordinates, rounding, cubic_coefficient)
        all_given = (*given, antialias, exclude_outside)
        return _by_scale(x, scale, keep_scale, data_format, all_given)
    except Exception as error:
        return explain(error, interpolate)


def _to_size(x: Array, size: int | Sequence[int], scale: float | Sequence[float] | None,
             data_format: str, given: _Given) -> Any:  # fmt: skip
    if isinstance(x, dict):
        return call_leafwise(
            lambda leaf, size: _to_size(leaf, size, scale, data_format, given), (x, size), {}
        )
    how, first, sizes = _checked("resize", x, data_format, *given)
    outs = per_axis("resize", "size", size, len(sizes))
    scales = (None,) * len(sizes) if scale is None else _scales("resize", scale, len(sizes))
    return _resized(x, sizes, outs, scales, how, first)


def _by_scale(x: Array, scale: float | Sequence[float] | None, keep_scale: bool, data_format: str,
              given: _Given) -> Any:  # fmt: skip
    if isinstance(x, dict):
        return call_leafwise(
            lambda leaf, scale: _by_scale(leaf, scale, keep_scale, data_format, given),
            (x, scale),
            {},
        )
    how, first, sizes = _checked("interpolate", x, data_format, *given)
    scales = _scales("interpolate", scale, len(sizes))
    outs = tuple([math.floor(n * s) for n, s in zip(sizes, scales, strict=True)])
    if min(outs) < 1:
        raise ArgumentError(
            f"interpolate() of sizes {sizes} by {scale!r} would leave nothing: {outs}."
        )
    kept = scales if flag("interpolate", "keep_scale", keep_scale) else (None,) * len(sizes)
    return _resized(x, sizes, outs, kept, how, first)


def _checked(
    name: str,
    x: Array,
    data_format: str,
    method: str,
    align_corners: bool,
    coordinates: str,
    rounding: str,
    cubic_coefficient: float,
    antialias: bool,
    exclude_outside: bool | None,
) -> tuple[Sampling, bool, tuple[int, ...]]:
    first, sizes = checked_planes(name, x, data_format)
    known = [key for key, (_, dims) in _METHODS.items() if dims in (None, len(sizes))]
    if not isinstance(method, str) or method not in known:
        raise ArgumentError(
            f"{name}() knows the methods {', '.join(map(repr, known))} for x with {len(x.shape)} "
            f"axes, got {method!r}."
        )
    if method == "nearest" and (align_corners or antialias):
        raise ArgumentError(
            f"{name}() has align_corners and antialias for the linear and cubic methods only, got "
            "method 'nearest'."
        )
    one_of(name, "coordinates", coordinates, COORDINATES)
    one_of(name, "rounding", rounding, ROUNDINGS)
    if align_corners and coordinates not in ("half_pixel", "align_corners"):
        raise ArgumentError(
            f"{name}() got align_corners and other coordinates, {coordinates!r}. Write one of them."
        )
    excludes = antialias if exclude_outside is None else exclude_outside
    how = Sampling(
        _METHODS[method][0],
        "align_corners" if align_corners else coordinates,
        rounding,
        number(name, "cubic_coefficient", cubic_coefficient),
        flag(name, "antialias", antialias),
        flag(name, "exclude_outside", excludes),
    )
    return how, first, sizes


def _scales(name: str, scale: float | Sequence[float] | None, dims: int) -> tuple[float, ...]:
    """One positive factor per spatial axis."""
    scales = tuple(scale) if isinstance(scale, (list, tuple)) else (scale,) * dims
    if len(scales) != dims:
        raise ArgumentError(f"{name}() expects one scale or {dims} of them, got {scale!r}.")
    factors = tuple([number(name, "scale", s) for s in scales])
    if not min(factors) > 0:
        raise ArgumentError(f"{name}() expects a scale above 0, got {scale!r}.")
    return factors


def _resized(x: Array, sizes: Any, outs: Any, scales: Any, how: Sampling, first: bool) -> Any:
    xp = xp_of(x)
    y, dtype = (x, x.dtype) if how.kind == "nearest" else precise("resize", xp, x)
    for i, (n, out, scale) in enumerate(zip(sizes, outs, scales, strict=True)):
        if n != out or scale not in (None, 1.0):
            y = resized_axis(xp, y, i + (2 if first else 1), out, scale, how)
    return xp.astype(y, dtype, copy=False)


def resized_axis(
    xp: Backend, x: Array, axis: int, out: int, scale: float | None, how: Sampling
) -> Any:
    """One axis of `x`, floats unless it is "nearest", with `out` elements."""
    n = x.shape[axis]
    if how.kind == "nearest":
        return _picked(xp, x, nearest(how, n, out, scale), axis)
    return _mixed(xp, x, *neighbours(how, n, out, scale), axis)


def _mixed(
    xp: Backend, x: Array, places: list[list[int]], weights: list[list[float]], axis: int
) -> Any:
    """Weighted sums of neighbours along one axis: few of them one by one, many by a matrix."""
    if len(places[0]) > 4:
        return _multiplied(xp, x, places, weights, axis)
    total = None
    for j in range(len(places[0])):
        part = _picked(xp, x, [row[j] for row in places], axis)
        column = xp.asarray([row[j] for row in weights], dtype=x.dtype, device=xp.device(x))
        part = part * along(xp, column, (axis,), len(x.shape))
        total = part if total is None else total + part
    return total


def _multiplied(
    xp: Backend, x: Array, places: list[list[int]], weights: list[list[float]], axis: int
) -> Any:
    matrix = [[0.0] * len(places) for _ in range(x.shape[axis])]
    for i, (row, factors) in enumerate(zip(places, weights, strict=True)):
        for place, factor in zip(row, factors, strict=True):
            matrix[place][i] += factor
    table = xp.asarray(matrix, dtype=x.dtype, device=xp.device(x))
    return xp.moveaxis(xp.tensordot(x, table, axes=((axis,), (0,))), -1, axis)


def _picked(xp: Backend, x: Array, indices: list[int], axis: int) -> Any:
    return xp.take(x, xp.asarray(indices, device=xp.device(x)), axis=axis)
