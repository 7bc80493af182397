"""Images (and lines, and volumes) at another size.

Convention: elements are squares whose centres lie at half-integers, so output i of `out` looks at
the coordinate (i + 0.5) * n / out - 0.5 of the n inputs (torch's and TensorFlow's half-pixel
centres). With `align_corners` the centres of the first and last elements coincide instead: i * (n -
1) / (out - 1). Beyond the edge the edge is repeated. "nearest" takes the element in whose square
the centre falls, floor((i + 0.5) * n / out) (torch's "nearest-exact"). Cubic weights are Keys' with
a = -0.75, as in torch and OpenCV. Nothing is smoothed before it is made smaller.
"""

import math
from collections.abc import Sequence
from typing import Any

from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.leafwise import call_leafwise
from .._core.typing import A
from ._arguments import per_axis
from ._layout import along, checked_planes
from ._precision import precise

_METHODS = {
    "nearest": ("nearest", None),
    "linear": ("linear", 1),
    "bilinear": ("linear", 2),
    "trilinear": ("linear", 3),
    "cubic": ("cubic", 1),
    "bicubic": ("cubic", 2),
    "tricubic": ("cubic", 3),
}
_CUBIC = -0.75


def resize(
    x: A,
    size: int | Sequence[int],
    /,
    *,
    method: str = "nearest",
    align_corners: bool = False,
    data_format: str = "channel_last",
) -> A:
    """`x` with `size` elements along its 1 to 3 spatial axes.

    `method` is "nearest", or "linear" and "cubic" for one axis, "bilinear" and "bicubic" for two,
    "trilinear" and "tricubic" for three. Centres are half-pixel ones unless `align_corners`; see
    the head of this module.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.resize(np.array([0.0, 4.0]).reshape(1, 2, 1), 4, method="linear").ravel()
    array([0., 1., 3., 4.])
    """
    try:
        if isinstance(x, dict):
            options = {"method": method, "align_corners": align_corners, "data_format": data_format}
            return call_leafwise(resize, (x, size), options)
        kind, first, sizes = _checked("resize", x, method, align_corners, data_format)
        return _resized(
            x, sizes, per_axis("resize", "size", size, len(sizes)), kind, align_corners, first
        )
    except Exception as error:
        explain(error, resize)


def interpolate(
    x: A,
    scale: float | Sequence[float],
    /,
    *,
    method: str = "nearest",
    align_corners: bool = False,
    data_format: str = "channel_last",
) -> A:
    """`resize` by a factor for all spatial axes or one for each: to floor(n * scale) elements.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.interpolate(np.array([1.0, 2.0]).reshape(1, 2, 1), 2).ravel()
    array([1., 1., 2., 2.])
    """
    try:
        if isinstance(x, dict):
            options = {"method": method, "align_corners": align_corners, "data_format": data_format}
            return call_leafwise(interpolate, (x, scale), options)
        kind, first, sizes = _checked("interpolate", x, method, align_corners, data_format)
        scales: tuple[Any, ...] = (
            tuple(scale) if isinstance(scale, (list, tuple)) else (scale,) * len(sizes)
        )
        if len(scales) != len(sizes):
            raise ArgumentError(
                f"interpolate() expects one scale or {len(sizes)} of them, got {scale!r}."
            )
        outs = tuple([math.floor(n * s) for n, s in zip(sizes, scales, strict=True)])
        if min(outs) < 1:
            raise ArgumentError(
                f"interpolate() of sizes {sizes} by {scale!r} would leave nothing: {outs}."
            )
        return _resized(x, sizes, outs, kind, align_corners, first)
    except Exception as error:
        explain(error, interpolate)


def _checked(
    name: str, x: Any, method: Any, align_corners: bool, data_format: str
) -> tuple[str, bool, tuple[int, ...]]:
    first, sizes = checked_planes(name, x, data_format)
    known = [key for key, (_, dims) in _METHODS.items() if dims in (None, len(sizes))]
    if not isinstance(method, str) or method not in known:
        raise ArgumentError(
            f"{name}() knows the methods {', '.join(map(repr, known))} for x with {len(x.shape)} "
            f"axes, got {method!r}."
        )
    if method == "nearest" and align_corners:
        raise ArgumentError(
            f"{name}() has align_corners for the linear and cubic methods only, got method "
            "'nearest'."
        )
    return _METHODS[method][0], first, sizes


def _resized(x: Any, sizes: Any, outs: Any, kind: str, align_corners: bool, first: bool) -> Any:
    xp = xp_of(x)
    if kind == "nearest":
        y = x
        for i, (n, out) in enumerate(zip(sizes, outs, strict=True)):
            if n != out:
                y = _picked(
                    xp,
                    y,
                    [(2 * k + 1) * n // (2 * out) for k in range(out)],
                    i + (2 if first else 1),
                )
        return y
    y, dtype = precise("resize", xp, x)
    for i, (n, out) in enumerate(zip(sizes, outs, strict=True)):
        if n != out:
            y = _mixed(xp, y, n, _coordinates(n, out, align_corners), kind, i + (2 if first else 1))
    return xp.astype(y, dtype, copy=False)


def _coordinates(n: int, out: int, align_corners: bool) -> list[float]:
    if align_corners:
        return [i * ((n - 1) / (out - 1)) if out > 1 else 0.0 for i in range(out)]
    return [(i + 0.5) * (n / out) - 0.5 for i in range(out)]


def _mixed(xp: Any, x: Any, n: int, coordinates: list[float], kind: str, axis: int) -> Any:
    """A weighted sum of 2 or 4 neighbours along one axis."""
    if kind == "linear":
        coordinates = [min(max(c, 0.0), n - 1.0) for c in coordinates]
    lows = [math.floor(c) for c in coordinates]
    rests = [c - low for c, low in zip(coordinates, lows, strict=True)]
    rows = [[1 - r, r] if kind == "linear" else _cubic_weights(r) for r in rests]
    total = None
    for j in range(len(rows[0])):
        offset = j if kind == "linear" else j - 1
        part = _picked(xp, x, [min(max(low + offset, 0), n - 1) for low in lows], axis)
        weights = xp.asarray([row[j] for row in rows], dtype=x.dtype, device=xp.device(x))
        part = part * along(xp, weights, (axis,), len(x.shape))
        total = part if total is None else total + part
    return total


def _cubic_weights(r: float) -> list[float]:
    distances = [1 + r, r, 1 - r, 2 - r]
    weights = []
    for d in distances:
        if d <= 1:
            weights.append(((_CUBIC + 2) * d - (_CUBIC + 3)) * d * d + 1)
        else:
            weights.append(((_CUBIC * d - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC)
    return weights


def _picked(xp: Any, x: Any, indices: list[int], axis: int) -> Any:
    return xp.take(x, xp.asarray(indices, device=xp.device(x)), axis=axis)
