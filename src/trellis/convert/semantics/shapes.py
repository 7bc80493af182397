"""Sizes and shapes that are known only when a model runs."""

from typing import Any

import trellis


def size(x: Any, axis: int, /) -> int:
    """How long an axis is, for models that keep it open."""
    return x.shape[axis]  # type: ignore[no-any-return]


def count(x: Any, /) -> int:
    """How many elements an array has."""
    total = 1
    for n in x.shape:
        total = total * n
    return total


def strided(x: Any, shape: Any, strides: Any, /, *, offset: int = 0) -> Any:
    """Elements of `x`, in their order in memory, `strides` steps apart along each axis."""
    flat = trellis.reshape(x, (-1,))
    places: Any = offset
    for axis, (n, step) in enumerate(zip(shape, strides)):
        steps = [i * step for i in range(n)]
        line = trellis.asarray(steps, dtype="int32", backend=trellis.backend_of(x))
        places = trellis.add(trellis.reshape(line, (n,) + (1,) * (len(shape) - axis - 1)), places)
    return trellis.take(flat, places, axis=0)


def columns(x: Any, window: Any, dilations: Any, padding: Any, strides: Any, /) -> Any:
    """The windows of images (N, C, H, W) as columns: (N, C * window, places), as torch's unfold."""
    pads = ((0, 0), (0, 0), *[(p, p) for p in padding])
    x = trellis.pad(x, pads) if any([p != 0 for p in padding]) else x
    n, channels, height, width = x.shape
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, window)]
    outs = [(s - span) // step + 1 for s, span, step in zip((height, width), spans, strides)]
    pieces = []
    for i in range(window[0]):
        for j in range(window[1]):
            top, left = i * dilations[0], j * dilations[1]
            rows = slice(top, top + (outs[0] - 1) * strides[0] + 1, strides[0])
            cols = slice(left, left + (outs[1] - 1) * strides[1] + 1, strides[1])
            pieces.append(x[:, :, rows, cols])
    stacked = trellis.stack(pieces, axis=2)
    return trellis.reshape(stacked, (n, channels * len(pieces), outs[0] * outs[1]))
