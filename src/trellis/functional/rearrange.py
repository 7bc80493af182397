"""Moving elements between channels and positions: pixel shuffle, patches."""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from .._core.dispatch import xp_of
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise
from .._core.typing import A, Array
from ._arguments import check_real, known, whole_number
from ._layout import (
    LETTERS,
    all_formats,
    check_rank,
    is_channel_first,
    is_first,
    spatial_pairs,
    spatial_sizes,
)
from ._windows import Padding, Steps, Windows, checked_windows

# Pixels -------------------------------------------------------------------------------------------


def pixel_shuffle(x: A, factor: int, /, *, data_format: str = "NHWC") -> A:
    """(H, W, C * factor**2) -> (H * factor, W * factor, C).

    Channel c * factor**2 + i * factor + j becomes channel c at offset (i, j), in both data formats,
    as in torch.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.pixel_shuffle(np.arange(4).reshape(1, 1, 1, 4), 2)[0, :, :, 0]
    array([[0, 1],
           [2, 3]])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(pixel_shuffle, (x, factor), {"data_format": data_format})
        xp, r, first, batch, (height, width), channels = _pixels(
            "pixel_shuffle", x, factor, data_format
        )
        if channels % (r * r):
            raise ShapeError(
                f"pixel_shuffle() with factor {r} needs channels divisible by {r * r}, got "
                f"{channels} in {tuple(x.shape)}."
            )
        c = channels // (r * r)
        if first:
            y = xp.permute_dims(xp.reshape(x, (batch, c, r, r, height, width)), (0, 1, 4, 2, 5, 3))
            return xp.reshape(y, (batch, c, height * r, width * r))
        y = xp.permute_dims(xp.reshape(x, (batch, height, width, c, r, r)), (0, 1, 4, 2, 5, 3))
        return xp.reshape(y, (batch, height * r, width * r, c))
    except Exception as error:
        return explain(error, pixel_shuffle)


def pixel_unshuffle(x: A, factor: int, /, *, data_format: str = "NHWC") -> A:
    """(H * factor, W * factor, C) -> (H, W, C * factor**2): the inverse of `pixel_shuffle`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.pixel_unshuffle(np.arange(4).reshape(1, 2, 2, 1), 2).ravel()
    array([0, 1, 2, 3])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(pixel_unshuffle, (x, factor), {"data_format": data_format})
        xp, r, first, batch, (height, width), channels = _pixels(
            "pixel_unshuffle", x, factor, data_format
        )
        if height % r or width % r:
            raise ShapeError(
                f"pixel_unshuffle() with factor {r} needs height and width divisible by it, got "
                f"{height} x {width}."
            )
        h, w = height // r, width // r
        if first:
            y = xp.permute_dims(xp.reshape(x, (batch, channels, h, r, w, r)), (0, 1, 3, 5, 2, 4))
            return xp.reshape(y, (batch, channels * r * r, h, w))
        y = xp.permute_dims(xp.reshape(x, (batch, h, r, w, r, channels)), (0, 1, 3, 5, 2, 4))
        return xp.reshape(y, (batch, h, w, channels * r * r))
    except Exception as error:
        return explain(error, pixel_unshuffle)


def _pixels(
    name: str, x: Array, factor: int, data_format: str
) -> tuple[Any, int, bool, int, Any, int]:
    first = is_first(name, "data_format", data_format, LETTERS[2])
    check_rank(name, x, 2, data_format)
    r = whole_number(name, "factor", factor, least=1)
    sizes = spatial_sizes(name, x, first)
    (batch,) = known(x.shape[0])
    return xp_of(x), r, first, batch, sizes, x.shape[1 if first else -1]


# Patches ------------------------------------------------------------------------------------------


def unfold(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    dilations: Steps = 1,
    data_format: str = "channel_last",
) -> A:
    """All windows of `x` (1 to 3 spatial axes) as rows: a convolution is then one product.

    Channel last: (batch, windows, elements * channels), a row in the order of filters (H, W, C).
    Channel first: (batch, channels * elements, windows), as in torch. Padding is zeros.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.unfold(np.arange(4.0).reshape(1, 4, 1), 2, 1, "VALID")[0]
    array([[0., 1.],
           [1., 2.],
           [2., 3.]])
    """
    try:
        if isinstance(x, dict):
            options = {"dilations": dilations, "data_format": data_format}
            return call_leafwise(unfold, (x, window, strides, padding), options)
        xp = xp_of(x)
        ndim = len(x.shape)
        first = is_channel_first("unfold", data_format, x)
        sizes = spatial_sizes("unfold", x, first)
        windows = checked_windows("unfold", sizes, window, strides, padding, dilations)
        if any([pair != (0, 0) for pair in windows.padding]):
            x = xp.pad(x, spatial_pairs(windows.padding, first))
        lead = (slice(None),) * (2 if first else 1)
        parts = [x[(*lead, *place, ...)] for place in _places(windows)]
        y = xp.stack(parts, axis=2 if first else ndim - 1)
        (batch,), count = known(x.shape[0]), prod(windows.outs)
        channels = x.shape[1 if first else -1]
        if first:
            return xp.reshape(y, (batch, channels * len(parts), count))
        return xp.reshape(y, (batch, count, len(parts) * channels))
    except Exception as error:
        return explain(error, unfold)


def fold(
    patches: A,
    size: int | Sequence[int],
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    dilations: Steps = 1,
    data_format: str = "channel_last",
) -> A:
    """Windows put back at their positions in an array of spatial `size`; overlapping elements are
    summed.

    The inverse of `unfold` where windows do not overlap, and always its transpose.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.fold(np.ones((1, 3, 2)), (4,), 2, 1, "VALID").ravel()
    array([1., 2., 2., 1.])
    """
    try:
        if isinstance(patches, dict):
            options = {"dilations": dilations, "data_format": data_format}
            return call_leafwise(fold, (patches, size, window, strides, padding), options)
        xp = xp_of(patches)
        check_real("fold", xp, patches)
        if len(patches.shape) != 3:
            raise ShapeError(
                "fold() expects patches of 3 axes, as unfold() gives them, got "
                f"{tuple(patches.shape)}."
            )
        sizes = tuple(size) if isinstance(size, (list, tuple)) else (size,)
        first = is_first("fold", "data_format", data_format, all_formats(len(sizes)))
        windows = checked_windows("fold", sizes, window, strides, padding, dilations)
        outs, pairs = windows.outs, windows.padding
        elements, count = prod(windows.window), prod(outs)
        found, inner = (
            (patches.shape[2], patches.shape[1]) if first else (patches.shape[1], patches.shape[2])
        )
        if found != count or inner % elements:
            raise ShapeError(
                f"fold() to {sizes} by windows {windows.window} and strides {windows.strides} "
                f"expects {count} patches of a multiple of {elements} elements, got "
                f"{tuple(patches.shape)} in {data_format!r}."
            )
        channels = inner // elements
        (batch,) = known(patches.shape[0])
        if first:
            rows = xp.reshape(patches, (batch, channels, elements, *outs))
        else:
            rows = xp.reshape(patches, (batch, *outs, elements, channels))
        padded = [n + low + high for n, (low, high) in zip(sizes, pairs, strict=True)]
        start = 2 if first else 1
        lead = (slice(None),) * start
        total = xp.zeros_like(rows[(*lead, 0)] if first else rows[..., 0, :])
        total = xp.pad(
            total,
            [
                (0, padded[i - start] - outs[i - start])
                if start <= i < start + len(outs)
                else (0, 0)
                for i in range(len(outs) + 2)
            ],
        )
        for j, place in enumerate(_places(windows)):
            row = rows[(*lead, j)] if first else rows[..., j, :]
            total = xp.index_add(total, (*lead, *place), row)
        inside = [slice(low, low + n) for n, (low, _) in zip(sizes, pairs, strict=True)]
        return total[(*lead, *inside, ...)]
    except Exception as error:
        return explain(error, fold)


def _places(windows: Windows) -> list[tuple[slice, ...]]:
    """For each element of the window, the slices of the padded array that it sees."""
    axes = list(zip(windows.dilations, windows.strides, windows.outs, strict=True))
    return [
        tuple(
            [
                slice(j * d, j * d + (out - 1) * s + 1, s)
                for j, (d, s, out) in zip(offset, axes, strict=True)
            ]
        )
        for offset in product(*[range(k) for k in windows.window])
    ]
