"""Moving elements between channels and positions: pixel shuffle, patches."""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from .._core.dispatch import xp_of
from .._core.errors import ArgumentError, ShapeError
from .._core.tree import call_leafwise
from .._core.typing import A
from ._arguments import is_channel_first, spatial_sizes
from ._checks import per_axis, whole_number
from .convolution import Padding, Steps, _forward_pairs

# Pixels ----------------------------------------------------------------------------------------------


def pixel_shuffle(x: A, factor: int, /, *, data_format: str = "NHWC") -> A:
    """(H, W, C * factor**2) -> (H * factor, W * factor, C).

    Channel c * factor**2 + i * factor + j becomes channel c at offset (i, j), in both data formats, as in torch.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.pixel_shuffle(np.arange(4).reshape(1, 1, 1, 4), 2)[0, :, :, 0]
    array([[0, 1],
           [2, 3]])
    """
    if isinstance(x, dict):
        return call_leafwise(pixel_shuffle, (x, factor), {"data_format": data_format})
    xp, r, first, batch, (height, width), channels = _pixels(
        "pixel_shuffle", x, factor, data_format
    )
    if channels % (r * r):
        raise ShapeError(
            f"pixel_shuffle() with factor {r} needs channels divisible by {r * r}, got {channels} in {tuple(x.shape)}."
        )
    c = channels // (r * r)
    if first:
        y = xp.permute_dims(xp.reshape(x, (batch, c, r, r, height, width)), (0, 1, 4, 2, 5, 3))
        return xp.reshape(y, (batch, c, height * r, width * r))
    y = xp.permute_dims(xp.reshape(x, (batch, height, width, c, r, r)), (0, 1, 4, 2, 5, 3))
    return xp.reshape(y, (batch, height * r, width * r, c))


def pixel_unshuffle(x: A, factor: int, /, *, data_format: str = "NHWC") -> A:
    """(H * factor, W * factor, C) -> (H, W, C * factor**2): the inverse of `pixel_shuffle`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.pixel_unshuffle(np.arange(4).reshape(1, 2, 2, 1), 2).ravel()
    array([0, 1, 2, 3])
    """
    if isinstance(x, dict):
        return call_leafwise(pixel_unshuffle, (x, factor), {"data_format": data_format})
    xp, r, first, batch, (height, width), channels = _pixels(
        "pixel_unshuffle", x, factor, data_format
    )
    if height % r or width % r:
        raise ShapeError(
            f"pixel_unshuffle() with factor {r} needs height and width divisible by it, got {height} x {width}."
        )
    h, w = height // r, width // r
    if first:
        y = xp.permute_dims(xp.reshape(x, (batch, channels, h, r, w, r)), (0, 1, 3, 5, 2, 4))
        return xp.reshape(y, (batch, channels * r * r, h, w))
    y = xp.permute_dims(xp.reshape(x, (batch, h, r, w, r, channels)), (0, 1, 3, 5, 2, 4))
    return xp.reshape(y, (batch, h, w, channels * r * r))


def _pixels(
    name: str, x: Any, factor: Any, data_format: Any
) -> tuple[Any, int, bool, int, Any, int]:
    first = is_channel_first(name, data_format, len(x.shape), 2)
    r = whole_number(name, "factor", factor)
    if r < 1:
        raise ArgumentError(f"{name}() expects factor of at least 1, got {factor!r}.")
    sizes = spatial_sizes(name, x, first)
    batch = -1 if x.shape[0] is None else x.shape[0]
    return xp_of(x), r, first, batch, sizes, x.shape[1 if first else -1]


# Patches ---------------------------------------------------------------------------------------------


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
    """All windows of `x` (1 to 3 spatial axes) as rows, so that a convolution is one product of matrices.

    Channel last: (batch, windows, elements * channels), a row in the order of filters (H, W, C). Channel first:
    (batch, channels * elements, windows), as in torch. Padding is zeros.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.unfold(np.arange(4.0).reshape(1, 4, 1), 2, 1, "VALID")[0]
    array([[0., 1.],
           [1., 2.],
           [2., 3.]])
    """
    if isinstance(x, dict):
        options = {"dilations": dilations, "data_format": data_format}
        return call_leafwise(unfold, (x, window, strides, padding), options)
    xp = xp_of(x)
    ndim = len(x.shape)
    first = is_channel_first("unfold", data_format, ndim)
    sizes = spatial_sizes("unfold", x, first)
    window, strides, dilations, pairs, outs = _patches(
        "unfold", sizes, window, strides, padding, dilations
    )
    if any([pair != (0, 0) for pair in pairs]):
        x = xp.pad(x, [(0, 0), (0, 0), *pairs] if first else [(0, 0), *pairs, (0, 0)])
    lead = (slice(None),) * (2 if first else 1)
    parts = [x[(*lead, *place)] for place in _places(window, strides, dilations, outs)]
    y = xp.stack(parts, axis=2 if first else ndim - 1)
    batch, count = -1 if x.shape[0] is None else x.shape[0], prod(outs)
    channels = x.shape[1 if first else -1]
    if first:
        return xp.reshape(y, (batch, channels * len(parts), count))
    return xp.reshape(y, (batch, count, len(parts) * channels))


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
    """Windows put back at their places in an array of spatial sizes `size`; overlapping elements add up.

    The inverse of `unfold` where windows do not overlap, and always its transpose.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.fold(np.ones((1, 3, 2)), (4,), 2, 1, "VALID").ravel()
    array([1., 2., 2., 1.])
    """
    if isinstance(patches, dict):
        options = {"dilations": dilations, "data_format": data_format}
        return call_leafwise(fold, (patches, size, window, strides, padding), options)
    xp = xp_of(patches)
    if len(patches.shape) != 3:
        raise ShapeError(
            f"fold() expects patches of 3 axes, as unfold() gives them, got {tuple(patches.shape)}."
        )
    sizes = tuple(size) if isinstance(size, (list, tuple)) else (size,)
    first = is_channel_first("fold", data_format, len(sizes) + 2)
    window, strides, dilations, pairs, outs = _patches(
        "fold", sizes, window, strides, padding, dilations
    )
    elements: int = prod(window)  # type: ignore[arg-type]
    count: int = prod(outs)
    found, inner = (
        (patches.shape[2], patches.shape[1]) if first else (patches.shape[1], patches.shape[2])
    )
    if found != count or inner % elements:
        raise ShapeError(
            f"fold() to {sizes} by windows {window} and strides {strides} expects {count} patches of a multiple of {elements} "
            f"elements, got {tuple(patches.shape)} in {data_format!r}."
        )
    channels = inner // elements
    batch = -1 if patches.shape[0] is None else patches.shape[0]
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
            (0, padded[i - start] - outs[i - start]) if start <= i < start + len(outs) else (0, 0)
            for i in range(len(outs) + 2)
        ],
    )
    for j, place in enumerate(_places(window, strides, dilations, outs)):
        row = rows[(*lead, j)] if first else rows[..., j, :]
        total = xp.index_add(total, (*lead, *place), row)
    inside = [slice(low, low + n) for n, (low, _) in zip(sizes, pairs, strict=True)]
    return total[(*lead, *inside)]


def _patches(name: str, sizes: Any, window: Any, strides: Any, padding: Any, dilations: Any) -> Any:
    dims = len(sizes)
    window = per_axis(name, "window", window, dims)
    strides = per_axis(name, "strides", strides, dims)
    dilations = per_axis(name, "dilations", dilations, dims)
    spans = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    pairs = _forward_pairs(name, padding, sizes, spans, strides)
    outs = [
        (n + low + high - span) // s + 1
        for n, (low, high), span, s in zip(sizes, pairs, spans, strides, strict=True)
    ]
    if min(outs) < 1:
        raise ShapeError(
            f"{name}() would have no window: they span {spans} elements, and {sizes} with padding {pairs} has fewer."
        )
    return window, strides, dilations, pairs, outs


def _places(window: Any, strides: Any, dilations: Any, outs: Any) -> list[tuple[slice, ...]]:
    """For each element of the window, the slices of the padded array that it sees."""
    return [
        tuple(
            [
                slice(j * d, j * d + (out - 1) * s + 1, s)
                for j, d, s, out in zip(offset, dilations, strides, outs, strict=True)
            ]
        )
        for offset in product(*[range(k) for k in window])
    ]
