"""Images (and lines, and volumes) sampled at the positions in another array."""

import itertools
from collections.abc import Sequence
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import one_of
from .._core.typing import A, Array, Backend
from ._arguments import differ, flag, known
from ._layout import checked_planes
from ._precision import all_precise

_CUBIC = -0.75  # Keys' coefficient, as in torch and ONNX


def grid_sample(
    x: A,
    grid: A,
    /,
    *,
    method: str = "linear",
    padding: str = "zeros",
    align_corners: bool = False,
    data_format: str = "channel_last",
) -> A:
    """`x` sampled at the positions in `grid`: spatial transformers, optical flow, deformations.

    The last axis of `grid` (batch, ..., spatial axes) holds coordinates from -1 to 1, that of the
    last spatial axis first: (x, y) for images, (x, y, z) for volumes. -1 and 1 are the outer edges
    of `x`, or with `align_corners` the centres of its first and last elements. Beyond them there
    are "zeros", the elements of the "border", or their "reflection". `method` is "linear", "cubic"
    or "nearest", which rounds halves to even. The result has the axes of `grid` and the channels of
    `x`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 2, 2, 1)
    >>> F.grid_sample(x, np.array([0.0, 0.0, 0.5, -0.5]).reshape(1, 1, 2, 2)).ravel()
    array([2.5, 2. ])
    """
    try:
        if has_nest(x, grid):
            options = {
                "method": method,
                "padding": padding,
                "align_corners": align_corners,
                "data_format": data_format,
            }
            return call_leafwise(grid_sample, (x, grid), options)
        xp = xp_of_all(x, grid)
        one_of("grid_sample", "method", method, ("linear", "nearest", "cubic"))
        one_of("grid_sample", "padding", padding, ("zeros", "border", "reflection"))
        flag("grid_sample", "align_corners", align_corners)
        first, sizes = checked_planes("grid_sample", x, data_format)
        shape = tuple(grid.shape)
        if len(shape) != len(sizes) + 2 or shape[-1] != len(sizes) or differ(shape[0], x.shape[0]):
            raise ShapeError(
                f"grid_sample() expects grid of shape (batch, ..., {len(sizes)}) with "
                f"{len(sizes) + 2} axes for x of {tuple(x.shape)}, got {shape}."
            )
        (x, grid), kind = all_precise("grid_sample", xp, x, grid)
        x = xp.moveaxis(x, 1, -1) if first else x
        taps = []
        for i, n in enumerate(sizes):
            place = grid[..., len(sizes) - 1 - i]
            place = (place + 1) / 2 * (n - 1) if align_corners else ((place + 1) * n - 1) / 2
            taps.append(_taps(xp, place, n, method, padding, align_corners))
        y = _mixed(xp, x, sizes, taps, shape)
        y = xp.moveaxis(y, -1, 1) if first else y
        return xp.astype(y, kind, copy=False)
    except Exception as error:
        return explain(error, grid_sample)


def _mixed(
    xp: Backend, x: Array, sizes: tuple[int, ...], taps: list[Any], shape: Sequence[int]
) -> Any:
    """The weighted sum over all combinations of the taps of the axes."""
    channels = x.shape[-1]
    rows = xp.reshape(x, (-1, channels))
    # In which image of the batch a place lies, counted, since the batch may be open.
    ones = xp.ones_like(taps[0][0][0])
    image = xp.cumulative_sum(ones, axis=0) - ones
    total = None
    for combination in itertools.product(*taps):
        flat, weight = image, None
        for n, (index, share) in zip(sizes, combination, strict=True):
            flat = flat * n + index
            weight = share if weight is None else weight * share
        part = xp.take(rows, xp.reshape(flat, (-1,)), axis=0)
        part = xp.reshape(part, known(*shape[:-1], channels))
        part = part * xp.expand_dims(weight, axis=-1)
        total = part if total is None else total + part
    return total


def _taps(
    xp: Backend, place: Array, n: int, method: str, padding: str, align_corners: bool
) -> list[tuple[Any, Any]]:
    """Indices along one axis, and how much of each; 0 of what lies outside."""
    if method == "cubic":  # the elements around the place are brought inside, not the place itself
        low = xp.stop_gradient(xp.floor(place))
        shares = _cubic_weights(place - low)
        indices = [
            _inside(xp, low + j, n, padding, align_corners) for j in range(-1, len(shares) - 1)
        ]
    else:
        place = _inside(xp, place, n, padding, align_corners)
        if method == "nearest":
            indices = [xp.stop_gradient(xp.round(place))]
            shares = [xp.ones_like(place)]
        else:
            low = xp.stop_gradient(xp.floor(place))
            indices, shares = [low, low + 1], [low + 1 - place, place - low]
    whole = xp.arange(1).dtype
    taps = []
    for index, share in zip(indices, shares, strict=True):
        is_there = xp.logical_and(index >= 0, index <= n - 1)
        zero = xp.zeros_like(index)
        taps.append(
            (xp.astype(xp.where(is_there, index, zero), whole), xp.where(is_there, share, zero))
        )
    return taps


def _inside(xp: Backend, place: Array, n: int, padding: str, align_corners: bool) -> Any:
    """Places beyond the edges moved to where their value comes from."""
    if padding == "zeros":
        return place
    if padding == "reflection":
        low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if span == 0:
            return xp.zeros_like(place)
        way = xp.abs(place - low)
        turns = xp.stop_gradient(xp.floor(way / span))
        rest = way - span * turns
        is_back = xp.remainder(turns, 2) == 1
        place = xp.where(is_back, span - rest, rest) + low
    return xp.clip(place, 0, n - 1)


def _cubic_weights(rest: Array) -> list[Any]:
    """Of the elements at -1, 0, 1 and 2, for a place `rest` after the one at 0."""
    a = _CUBIC
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (1 + rest, 2 - rest)]
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (rest, 1 - rest)]
    return [far[0], *near, far[1]]
