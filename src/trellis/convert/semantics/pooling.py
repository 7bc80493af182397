"""Pools as torch and ONNX mean them: channels first, padding for each end, sizes rounded up.

`x` is (N, C, *spatial); without a batch axis it is a batch of one. With `ceil_mode` a last window
that begins inside the input or its begin padding counts, even if it reaches beyond the end.
"""

import math
from collections.abc import Sequence
from typing import Any

from ... import functional as F
from ..._array.casting import astype, dtype
from ..._array.indexing import scatter
from ..._array.manipulation import expand_dims, pad, squeeze
from ..._core.dispatch import xp_of
from .convolution import Pairs

_MAX_POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def max_pool(
    x: Any,
    /,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int] | None = None,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window; with `return_indices` its place in the input plane too,
    counted in row-major order.

    >>> import numpy as np
    >>> x = np.array([1.0, 3, 2, 5, 4]).reshape(1, 1, 5)
    >>> max_pool(x, window=(2,), strides=(2,), padding=[(0, 0)], ceil_mode=True).ravel()
    array([3., 5., 4.])
    """
    dims = len(window)
    alone = len(x.shape) == dims + 1
    if alone:
        x = expand_dims(x, 0)
    kind = dtype(x)
    y: Any = _MAX_POOLS[dims](
        x,
        tuple(window),
        tuple(strides),
        tuple(padding),
        data_format=_LAYOUTS[dims],
        dilations=1 if dilations is None else dilations,
        return_indices=return_indices,
        ceil_mode=ceil_mode,
    )
    y, places = y if return_indices else (y, None)
    y = astype(y, kind, copy=False)
    if alone:
        y = squeeze(y, 0)
        places = None if places is None else squeeze(places, 0)
    return (y, places) if return_indices else y


def avg_pool(
    x: Any,
    /,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    divisor: int | None = None,
) -> Any:
    """The mean of every window over its elements, with `count_include_pad` also over the zeros of
    `padding` (never over what `ceil_mode` adds); or its sum over `divisor`.

    >>> import numpy as np
    >>> x = np.array([1.0, 3, 2, 5, 4]).reshape(1, 1, 5)
    >>> avg_pool(x, window=(2,), strides=(2,), padding=[(0, 0)], ceil_mode=True).ravel()
    array([2. , 3.5, 4. ])
    """
    dims = len(window)
    alone = len(x.shape) == dims + 1
    if alone:
        x = expand_dims(x, 0)
    dilations, spans, reached = _reached(x, window, strides, padding, dilations, ceil_mode)
    kind = str(dtype(x))
    y = astype(x, "float32") if kind in ("float16", "bfloat16") else x
    sizes = x.shape[2:]
    if any([size for pair in reached for size in pair]):
        y = pad(y, [(0, 0), (0, 0), *reached])
    # One axis after another: how many elements a window counts is a product over its axes.
    for i in range(dims):
        low, high = padding[i]
        outs = (sizes[i] + low + reached[i][1] - spans[i]) // strides[i] + 1
        starts = [j * strides[i] - low for j in range(outs)]
        y = _window_sums(y, i + 2, window[i], strides[i], dilations[i], outs)
        if divisor is None:
            first, last = (-low, sizes[i] + high) if count_include_pad else (0, sizes[i])
            counts = [_inside(s, window[i], dilations[i], first, last) for s in starts]
            y = _over(y, counts, i + 2)
    if divisor is not None and divisor != 1:
        y = y / divisor
    y = astype(y, kind, copy=False)
    return squeeze(y, 0) if alone else y


def pooled_size(n: int, span: int, stride: int, pair: tuple[int, int], ceil_mode: bool) -> int:
    """How many windows that span so many elements there are on an axis of n.

    >>> pooled_size(5, 2, 2, (0, 0), True)
    3
    """
    room = n + pair[0] + pair[1] - span
    if not ceil_mode:
        return room // stride + 1
    outs = -(-room // stride) + 1
    return outs - 1 if (outs - 1) * stride >= n + pair[0] else outs


def _reached(
    x: Any, window: Sequence[int], strides: Sequence[int], padding: Pairs,
    dilations: Sequence[int] | None, ceil_mode: bool,
) -> tuple[tuple[int, ...], list[int], list[tuple[int, int]]]:  # fmt: skip
    """The dilations, how many elements a window spans, and the padding with as much more at the
    end as the last window reaches beyond it."""
    known = (1,) * len(window) if dilations is None else tuple(dilations)
    spans = [(k - 1) * d + 1 for k, d in zip(window, known, strict=True)]
    pairs = []
    for i in range(len(spans)):
        n, (low, high) = x.shape[i + 2], padding[i]
        if ceil_mode:
            outs = pooled_size(n, spans[i], strides[i], (low, high), True)
            high = max((outs - 1) * strides[i] + spans[i] - n - low, 0)
        pairs.append((low, high))
    return known, spans, pairs


def _window_sums(y: Any, axis: int, window: int, stride: int, dilation: int, outs: int) -> Any:
    total = None
    for j in range(window):
        start = j * dilation
        cut = slice(start, start + (outs - 1) * stride + 1, stride)
        part = y[(slice(None),) * axis + (cut,)]
        total = part if total is None else total + part
    return total


def _inside(start: int, window: int, dilation: int, first: int, last: int) -> int:
    """How many elements of a window lie in the half-open range."""
    return sum([first <= start + j * dilation < last for j in range(window)])


def _over(y: Any, counts: list[int], axis: int) -> Any:
    if min(counts) == max(counts):
        return y / counts[0]
    shape = [1] * len(y.shape)
    shape[axis] = len(counts)
    scales = [1 / count if count else 0.0 for count in counts]
    xp = xp_of(y)
    row = xp.asarray(scales, dtype=y.dtype, device=xp.device(y))
    return y * xp.reshape(row, tuple(shape))


def max_pool_with_places(
    x: Any, /, *, column_major: bool = False, dtype: str = "int64", **options: Any
) -> tuple[Any, Any]:
    """The largest elements and their places in the whole array, as ONNX counts them: in row-major
    order, or within each plane in column-major order."""
    xp = xp_of(x)
    y, places = max_pool(x, return_indices=True, **options)
    n, c, *sizes = x.shape
    places = astype(places, dtype, copy=False)
    plane = math.prod(sizes)
    if column_major:
        rest, total, stride = places, None, plane
        for size in reversed(sizes):
            stride = stride // size
            part = (rest % size) * stride
            total = part if total is None else total + part
            rest = rest // size
        places = total
    starts = xp.arange(n * c, dtype=dtype, device=xp.device(x)) * plane
    return y, places + xp.reshape(starts, (n, c) + (1,) * len(sizes))


def max_unpool(
    x: Any,
    places: Any,
    shape: Sequence[int] | None = None,
    /,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> Any:
    """Zeros but for the elements of `x`, at their places in the array that they were pooled from.

    With a `shape` larger than that array, they keep their places in its corner.
    """
    xp = xp_of(x)
    dims = len(window)
    sizes = [
        (x.shape[i + 2] - 1) * strides[i] + window[i] - pads[i] - pads[i + dims]
        for i in range(dims)
    ]
    whole = (x.shape[0], x.shape[1], *sizes)
    empty = xp.zeros((math.prod(whole),), dtype=x.dtype, device=xp.device(x))
    y = scatter(empty, xp.reshape(places, (-1,)), xp.reshape(x, (-1,)))
    y = xp.reshape(y, whole)
    if shape is None:
        return y
    return pad(y, [(0, want - n) for n, want in zip(whole, shape, strict=True)])
