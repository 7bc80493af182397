"""Pooling, in the layouts and with the padding of the convolutions: channels last unless said otherwise.

Padding is never chosen by a maximum and never counted by an average (unless asked for). Of equal maxima the first in
row-major order wins, with all of the gradient.
"""

from collections.abc import Sequence
from typing import Any

from .._backends.shared.windows import larger, positions
from .._core.dispatch import xp_of
from .._core.errors import ArgumentError, ShapeError
from .._core.tree import call_leafwise
from .._core.typing import A
from ._arguments import along, is_channel_first, precise, spatial_sizes
from ._checks import per_axis
from .convolution import Padding, Steps, _forward_pairs

# Windows ---------------------------------------------------------------------------------------------


def max_pool1d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NWC",
    dilations: Steps = 1,
    return_indices: bool = False,
) -> A | tuple[A, A]:
    """The largest element of every window along one axis; see `max_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.max_pool1d(np.array([1.0, 3, 2, 5]).reshape(1, 4, 1), 2, 2, "VALID").ravel()
    array([3., 5.])
    """
    return _max_pool(
        "max_pool1d", 1, x, window, strides, padding, data_format, dilations, return_indices
    )


def max_pool2d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NHWC",
    dilations: Steps = 1,
    return_indices: bool = False,
) -> A | tuple[A, A]:
    """The largest element of every window along two axes.

    `padding` is "SAME", "VALID", an int or one (low, high) pair per spatial axis. With `return_indices` the result is
    (values, indices), where an index counts the positions of the input plane, h * W + w, padding not included.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> y, i = F.max_pool2d(np.arange(16.0).reshape(1, 4, 4, 1), 2, 2, "VALID", return_indices=True)
    >>> y.ravel(), i.ravel()
    (array([ 5.,  7., 13., 15.]), array([ 5,  7, 13, 15]))
    """
    return _max_pool(
        "max_pool2d", 2, x, window, strides, padding, data_format, dilations, return_indices
    )


def max_pool3d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NDHWC",
    dilations: Steps = 1,
    return_indices: bool = False,
) -> A | tuple[A, A]:
    """The largest element of every window along three axes; see `max_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2, 1), 2, 1, "VALID").ravel()
    array([7.])
    """
    return _max_pool(
        "max_pool3d", 3, x, window, strides, padding, data_format, dilations, return_indices
    )


def avg_pool1d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NWC",
    count_include_pad: bool = False,
) -> A:
    """The mean of every window along one axis; see `avg_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.avg_pool1d(np.array([1.0, 3, 2, 6]).reshape(1, 4, 1), 2, 2, "VALID").ravel()
    array([2., 4.])
    """
    return _avg_pool("avg_pool1d", 1, x, window, strides, padding, data_format, count_include_pad)


def avg_pool2d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NHWC",
    count_include_pad: bool = False,
) -> A:
    """The mean of every window along two axes, over the elements that are not padding.

    With `count_include_pad` the padding counts as zeros (torch's default; TensorFlow and Keras never count it).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.avg_pool2d(np.ones((1, 2, 2, 1)), 2, 2, 1, count_include_pad=True).ravel()
    array([0.25, 0.25, 0.25, 0.25])
    """
    return _avg_pool("avg_pool2d", 2, x, window, strides, padding, data_format, count_include_pad)


def avg_pool3d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NDHWC",
    count_include_pad: bool = False,
) -> A:
    """The mean of every window along three axes; see `avg_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2, 1), 2, 1, "VALID").ravel()
    array([3.5])
    """
    return _avg_pool("avg_pool3d", 3, x, window, strides, padding, data_format, count_include_pad)


def _max_pool(
    name: str,
    dims: int,
    x: Any,
    window: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
    indices: bool,
) -> Any:
    if isinstance(x, dict):
        return call_leafwise(
            lambda leaf: _max_pool(
                name, dims, leaf, window, strides, padding, data_format, dilations, indices
            ),
            (x,),
            {},
        )
    xp = xp_of(x)
    first, _, window, strides, dilations, pairs = _geometry(
        name, dims, x, window, strides, padding, dilations, data_format
    )
    y, kind = precise(name, xp, x)
    y, found = xp.max_pool(
        y,
        window=window,
        strides=strides,
        padding=pairs,
        dilations=dilations,
        channel_first=first,
        indices=indices,
    )
    y = xp.astype(y, kind, copy=False)
    return (y, found) if indices else y


def _avg_pool(
    name: str,
    dims: int,
    x: Any,
    window: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    count_include_pad: bool,
) -> Any:
    if isinstance(x, dict):
        return call_leafwise(
            lambda leaf: _avg_pool(
                name, dims, leaf, window, strides, padding, data_format, count_include_pad
            ),
            (x,),
            {},
        )
    xp = xp_of(x)
    first, sizes, window, strides, _, pairs = _geometry(
        name, dims, x, window, strides, padding, 1, data_format
    )
    y, kind = precise(name, xp, x)
    ndim = dims + 2
    if any([pair != (0, 0) for pair in pairs]):
        y = xp.pad(y, [(0, 0), (0, 0), *pairs] if first else [(0, 0), *pairs, (0, 0)])
    # One axis after another: a mean of means is the mean, where every row of a window counts the same.
    for i in range(dims):
        axis = i + (2 if first else 1)
        out = (sizes[i] + sum(pairs[i]) - window[i]) // strides[i] + 1
        parts = [_strided(y, axis, j, out, strides[i]) for j in range(window[i])]
        y = parts[0]
        for part in parts[1:]:
            y = y + part
        counts = (
            [window[i]] * out
            if count_include_pad
            else _counts(sizes[i], window[i], strides[i], pairs[i][0], out)
        )
        if min(counts) == max(counts):
            y = y / counts[0]
        else:
            scale = xp.asarray([1 / count for count in counts], dtype=y.dtype, device=xp.device(y))
            y = y * along(xp, scale, (axis,), ndim)
    return xp.astype(y, kind, copy=False)


def _counts(size: int, window: int, stride: int, low: int, out: int) -> list[int]:
    """How many elements of each window are not padding."""
    starts = [i * stride - low for i in range(out)]
    return [min(start + window, size) - max(start, 0) for start in starts]


def _strided(x: Any, axis: int, start: int, count: int, step: int) -> Any:
    return x[(slice(None),) * axis + (slice(start, start + (count - 1) * step + 1, step),)]


def _geometry(
    name: str,
    dims: int,
    x: Any,
    window: Any,
    strides: Any,
    padding: Any,
    dilations: Any,
    data_format: Any,
) -> Any:
    first = is_channel_first(name, data_format, len(x.shape), dims)
    sizes = spatial_sizes(name, x, first)
    window = per_axis(name, "window", window, dims)
    strides = per_axis(name, "strides", strides, dims)
    dilations = per_axis(name, "dilations", dilations, dims)
    spans = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    pairs = _forward_pairs(name, padding, sizes, spans, strides)
    for n, span, (low, high) in zip(sizes, spans, pairs, strict=True):
        if n < 1 or n + low + high < span:
            raise ShapeError(
                f"{name}() would have no output: the window spans {span} elements and the padded input has "
                f"{n + low + high}. Use more padding or a smaller window."
            )
    for n, k, s, d, (low, high) in zip(sizes, window, strides, dilations, pairs, strict=True):
        if (low or high) and not _all_see_input(n, k, s, d, low, high):
            raise ArgumentError(
                f"{name}() has windows that lie in the padding alone, with nothing to choose from: padding {padding!r} "
                f"for window {window} and dilations {dilations}. Use padding smaller than the window."
            )
    return first, sizes, window, strides, dilations, pairs


def _all_see_input(size: int, window: int, stride: int, dilation: int, low: int, high: int) -> bool:
    """Whether every window has an element that is not padding."""
    if dilation == 1:
        return low < window and high < window
    out = (size + low + high - (window - 1) * dilation - 1) // stride + 1
    hits = [
        any([0 <= i * stride - low + j * dilation < size for j in range(window)])
        for i in range(out)
    ]
    return all(hits)


# Whole planes ----------------------------------------------------------------------------------------


def global_avg_pool(x: A, /, *, data_format: str = "channel_last", keepdims: bool = False) -> A:
    """The mean over all positions: (batch, ..., channels) -> (batch, channels).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.global_avg_pool(np.arange(4.0).reshape(1, 2, 2, 1))
    array([[1.5]])
    """
    if isinstance(x, dict):
        return call_leafwise(
            global_avg_pool, (x,), {"data_format": data_format, "keepdims": keepdims}
        )
    xp = xp_of(x)
    axes = _spatial_axes("global_avg_pool", x, data_format)
    y, kind = precise("global_avg_pool", xp, x)
    return xp.astype(xp.mean(y, axis=axes, keepdims=keepdims), kind, copy=False)


def global_max_pool(x: A, /, *, data_format: str = "channel_last", keepdims: bool = False) -> A:
    """The maximum over all positions: (batch, ..., channels) -> (batch, channels).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.global_max_pool(np.arange(4.0).reshape(1, 2, 2, 1))
    array([[3.]])
    """
    if isinstance(x, dict):
        return call_leafwise(
            global_max_pool, (x,), {"data_format": data_format, "keepdims": keepdims}
        )
    xp = xp_of(x)
    axes = _spatial_axes("global_max_pool", x, data_format)
    # Not `max`, whose gradient is divided among equal maxima by some frameworks.
    first, shape = axes[0] == 2, tuple([-1 if size is None else size for size in x.shape])
    count = 1
    for size in spatial_sizes("global_max_pool", x, first):
        count *= size
    flat = xp.reshape(x, (*shape[:2], count) if first else (shape[0], count, shape[-1]))
    axis = 2 if first else 1
    y = xp.take_along_axis(flat, xp.argmax(flat, axis=axis, keepdims=True), axis=axis)
    if keepdims:
        return xp.reshape(y, tuple([1 if i in axes else size for i, size in enumerate(shape)]))
    return xp.squeeze(y, axis=axis)


def _spatial_axes(name: str, x: Any, data_format: Any) -> tuple[int, ...]:
    ndim = len(x.shape)
    if ndim < 3:
        raise ShapeError(
            f"{name}() expects x of at least 3 axes, batch, positions and channels, got {tuple(x.shape)}."
        )
    first = is_channel_first(name, data_format, ndim)
    return tuple(range(2, ndim)) if first else tuple(range(1, ndim - 1))


# Adaptive --------------------------------------------------------------------------------------------


def adaptive_avg_pool(
    x: A, output_size: int | Sequence[int], /, *, data_format: str = "channel_last"
) -> A:
    """Means over windows that divide the input into `output_size` parts along each of its 1 to 3 spatial axes.

    Window i of n elements goes from floor(i * n / out) to ceil((i + 1) * n / out), as in torch.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.adaptive_avg_pool(np.arange(5.0).reshape(1, 5, 1), 2).ravel()
    array([1., 3.])
    """
    if isinstance(x, dict):
        return call_leafwise(adaptive_avg_pool, (x, output_size), {"data_format": data_format})
    xp = xp_of(x)
    first, sizes, outs = _adaptive("adaptive_avg_pool", x, output_size, data_format)
    y, kind = precise("adaptive_avg_pool", xp, x)
    for i, (size, out) in enumerate(zip(sizes, outs, strict=True)):
        axis = i + (2 if first else 1)
        rows = [
            [1 / (high - low) if low <= k < high else 0.0 for k in range(size)]
            for low, high in _parts(size, out)
        ]
        matrix = xp.asarray(rows, dtype=y.dtype, device=xp.device(y))
        y = xp.moveaxis(xp.tensordot(y, matrix, axes=((axis,), (1,))), -1, axis)
    return xp.astype(y, kind, copy=False)


def adaptive_max_pool(
    x: A,
    output_size: int | Sequence[int],
    /,
    *,
    data_format: str = "channel_last",
    return_indices: bool = False,
) -> A | tuple[A, A]:
    """Maxima over windows that divide the input into `output_size` parts along each of its 1 to 3 spatial axes.

    The windows are those of `adaptive_avg_pool`, the indices those of `max_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.adaptive_max_pool(np.arange(5.0).reshape(1, 5, 1), 2).ravel()
    array([2., 4.])
    """
    if isinstance(x, dict):
        options = {"data_format": data_format, "return_indices": return_indices}
        return call_leafwise(adaptive_max_pool, (x, output_size), options)
    xp = xp_of(x)
    first, sizes, outs = _adaptive("adaptive_max_pool", x, output_size, data_format)
    start = 2 if first else 1
    if all([size % out == 0 for size, out in zip(sizes, outs, strict=True)]):
        window = tuple([size // out for size, out in zip(sizes, outs, strict=True)])
        values, found = xp.max_pool(
            x, window=window, strides=window, padding=((0, 0),) * len(sizes), dilations=(1,) * len(sizes),
            channel_first=first, indices=return_indices,
        )  # fmt: skip
        return (values, found) if return_indices else values
    places: Any = positions(xp, x, sizes, start) if return_indices else None
    y: Any = x
    # The last axis first: then the first of equal rows wins, and within it the first of equal elements.
    for i in reversed(range(len(sizes))):
        parts = _parts(sizes[i], outs[i])
        width = max([high - low for low, high in parts])
        chosen, found = None, None
        for j in range(width):
            picks = xp.asarray([min(low + j, high - 1) for low, high in parts], device=xp.device(x))
            candidate = xp.take(y, picks, axis=start + i)
            place = None if places is None else xp.take(places, picks, axis=start + i)
            chosen, found = larger(xp, chosen, found, candidate, place)
        y, places = chosen, found
    return (y, places) if return_indices else y


def _adaptive(
    name: str, x: Any, output_size: Any, data_format: Any
) -> tuple[bool, tuple[int, ...], tuple[int, ...]]:
    ndim = len(x.shape)
    if not 3 <= ndim <= 5:
        raise ShapeError(
            f"{name}() expects x of 3 to 5 axes, batch, 1 to 3 spatial axes and channels, got {tuple(x.shape)}."
        )
    first = is_channel_first(name, data_format, ndim)
    sizes = spatial_sizes(name, x, first)
    if min(sizes) < 1:
        raise ShapeError(
            f"{name}() expects at least one element along every spatial axis, got {tuple(x.shape)}."
        )
    return first, sizes, per_axis(name, "output_size", output_size, len(sizes))


def _parts(size: int, out: int) -> list[tuple[int, int]]:
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]
