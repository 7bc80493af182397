"""Pooling, in the layouts and with the padding of the convolutions.

Padding is never chosen by a maximum and never counted by an average (unless asked for). Of equal
maxima the first in row-major order wins, with all of the gradient.
"""

from typing import Any, TypeAlias

from .._backends.shared.windows import WindowSpec
from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.leafwise import call_leafwise
from .._core.typing import A, Array
from ._arguments import flag
from ._layout import LETTERS, along, check_rank, is_first, spatial_pairs, spatial_sizes
from ._precision import precise
from ._windows import Padding, Pairs, Steps, Windows, checked_windows

# window, strides, padding, dilations and ceil_mode, not checked yet
_Given: TypeAlias = tuple[Steps, Steps, Padding, Steps, bool]


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
    ceil_mode: bool = False,
) -> A | tuple[A, A]:
    """The largest element of every window along one axis; see `max_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.max_pool1d(np.array([1.0, 3, 2, 5]).reshape(1, 4, 1), 2, 2, "VALID").ravel()
    array([3., 5.])
    """
    try:
        given = (window, strides, padding, dilations, ceil_mode)
        return _max_pool("max_pool1d", 1, x, given, data_format, return_indices)
    except Exception as error:
        return explain(error, max_pool1d)


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
    ceil_mode: bool = False,
) -> A | tuple[A, A]:
    """The largest element of every window along two axes.

    `padding` is "SAME", "VALID", an int or one (low, high) pair per spatial axis. With
    `return_indices` the result is (values, indices), where an index counts the positions of the
    input plane, h * W + w, padding not included. With `ceil_mode` a last window that the input
    fills only in part counts too, if it starts within the input or the padding before it (torch).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> y, i = F.max_pool2d(np.arange(16.0).reshape(1, 4, 4, 1), 2, 2, "VALID", return_indices=True)
    >>> y.ravel(), i.ravel()
    (array([ 5.,  7., 13., 15.]), array([ 5,  7, 13, 15]))
    """
    try:
        given = (window, strides, padding, dilations, ceil_mode)
        return _max_pool("max_pool2d", 2, x, given, data_format, return_indices)
    except Exception as error:
        return explain(error, max_pool2d)


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
    ceil_mode: bool = False,
) -> A | tuple[A, A]:
    """The largest element of every window along three axes; see `max_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2, 1), 2, 1, "VALID").ravel()
    array([7.])
    """
    try:
        given = (window, strides, padding, dilations, ceil_mode)
        return _max_pool("max_pool3d", 3, x, given, data_format, return_indices)
    except Exception as error:
        return explain(error, max_pool3d)


def avg_pool1d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NWC",
    count_include_pad: bool = False,
    ceil_mode: bool = False,
) -> A:
    """The mean of every window along one axis; see `avg_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.avg_pool1d(np.array([1.0, 3, 2, 6]).reshape(1, 4, 1), 2, 2, "VALID").ravel()
    array([2., 4.])
    """
    try:
        given = (window, strides, padding, 1, ceil_mode)
        return _avg_pool("avg_pool1d", 1, x, given, data_format, count_include_pad)
    except Exception as error:
        return explain(error, avg_pool1d)


def avg_pool2d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NHWC",
    count_include_pad: bool = False,
    ceil_mode: bool = False,
) -> A:
    """The mean of every window along two axes, over the elements that are not padding.

    With `count_include_pad` the padding counts as zeros (torch's default; TensorFlow and Keras
    never count it). With `ceil_mode` a last window that the input fills only in part counts too, if
    it starts within the input or the padding before it; what lies beyond the padding never counts.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.avg_pool2d(np.ones((1, 2, 2, 1)), 2, 2, 1, count_include_pad=True).ravel()
    array([0.25, 0.25, 0.25, 0.25])
    """
    try:
        given = (window, strides, padding, 1, ceil_mode)
        return _avg_pool("avg_pool2d", 2, x, given, data_format, count_include_pad)
    except Exception as error:
        return explain(error, avg_pool2d)


def avg_pool3d(
    x: A,
    window: Steps,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NDHWC",
    count_include_pad: bool = False,
    ceil_mode: bool = False,
) -> A:
    """The mean of every window along three axes; see `avg_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2, 1), 2, 1, "VALID").ravel()
    array([3.5])
    """
    try:
        given = (window, strides, padding, 1, ceil_mode)
        return _avg_pool("avg_pool3d", 3, x, given, data_format, count_include_pad)
    except Exception as error:
        return explain(error, avg_pool3d)


def _max_pool(
    name: str, dims: int, x: Array, given: _Given, data_format: str, with_indices: bool
) -> Any:
    if isinstance(x, dict):
        return call_leafwise(
            lambda leaf: _max_pool(name, dims, leaf, given, data_format, with_indices), (x,), {}
        )
    xp = xp_of(x)
    first, sizes, windows = _checked(name, dims, x, given, data_format)
    padding = _up_to_the_last(windows, sizes)
    spec = WindowSpec(windows.window, windows.strides, padding, windows.dilations, first)
    y, kind = precise(name, xp, x)
    y, found = xp.max_pool(y, spec, indices=with_indices)
    y = xp.astype(y, kind, copy=False)
    return (y, found) if with_indices else y


def _avg_pool(
    name: str, dims: int, x: Array, given: _Given, data_format: str, count_include_pad: bool
) -> Any:
    if isinstance(x, dict):
        return call_leafwise(
            lambda leaf: _avg_pool(name, dims, leaf, given, data_format, count_include_pad),
            (x,),
            {},
        )
    xp = xp_of(x)
    first, sizes, windows = _checked(name, dims, x, given, data_format)
    y, kind = precise(name, xp, x)
    y = averaged(xp, y, first, sizes, windows, count_include_pad)
    return xp.astype(y, kind, copy=False)


def averaged(
    xp: Any,
    y: Any,
    first: bool,
    sizes: tuple[int, ...],
    windows: Windows,
    count_include_pad: bool,
    divisor: int | None = None,
) -> Any:
    """The mean of every window of floats, or its sum over `divisor`.

    One axis after another: a mean of means is the mean, where every row of a window counts the
    same.
    """
    padding = _up_to_the_last(windows, sizes)
    if any([pair != (0, 0) for pair in padding]):
        y = xp.pad(y, spatial_pairs(padding, first))
    for i, out in enumerate(windows.outs):
        axis = i + (2 if first else 1)
        window, stride, dilation = windows.window[i], windows.strides[i], windows.dilations[i]
        parts = [_strided(y, axis, j * dilation, out, stride) for j in range(window)]
        y = parts[0]
        for part in parts[1:]:
            y = y + part
        if divisor is not None:
            continue
        low, high = windows.padding[i]
        begin, end = (0, sizes[i] + low + high) if count_include_pad else (low, low + sizes[i])
        counts = [
            sum([begin <= k * stride + j * dilation < end for j in range(window)])
            for k in range(out)
        ]
        if min(counts) == max(counts):
            y = y / max(counts[0], 1)
        else:
            shares = [1 / count if count else 0.0 for count in counts]
            scale = xp.asarray(shares, dtype=y.dtype, device=xp.device(y))
            y = y * along(xp, scale, (axis,), len(y.shape))
    return y if divisor in (None, 1) else y / divisor


def _up_to_the_last(windows: Windows, sizes: tuple[int, ...]) -> Pairs:
    """The padding, with what the last window of `ceil_mode` needs beyond it."""
    pairs = []
    for i, (low, high) in enumerate(windows.padding):
        span = (windows.window[i] - 1) * windows.dilations[i] + 1
        end = (windows.outs[i] - 1) * windows.strides[i] + span
        pairs.append((low, max(high, end - sizes[i] - low)))
    return tuple(pairs)


def _strided(x: Array, axis: int, start: int, count: int, step: int) -> Any:
    return x[(slice(None),) * axis + (slice(start, start + (count - 1) * step + 1, step), ...)]


def _checked(
    name: str, dims: int, x: Array, given: _Given, data_format: str
) -> tuple[bool, tuple[int, ...], Windows]:
    """Whether channels come first, the spatial sizes, and the windows."""
    first = is_first(name, "data_format", data_format, LETTERS[dims])
    check_rank(name, x, dims, data_format)
    sizes = spatial_sizes(name, x, first)
    flag(name, "ceil_mode", given[-1])
    windows = checked_windows(name, sizes, *given)
    for i, (low, high) in enumerate(windows.padding):
        if (low or high) and not _all_see_input(windows, i, sizes[i]):
            raise ArgumentError(
                f"{name}() has windows entirely inside the padding, with no element to choose "
                f"from: padding {given[2]!r} for window {windows.window} and dilations "
                f"{windows.dilations}. Use padding smaller than the window."
            )
    return first, sizes, windows


def _all_see_input(windows: Windows, axis: int, size: int) -> bool:
    """Whether every window has an element along an axis that is not padding."""
    window, stride = windows.window[axis], windows.strides[axis]
    dilation, (low, high) = windows.dilations[axis], windows.padding[axis]
    if dilation == 1:
        return low < window and high < window
    hits = [
        any([0 <= i * stride - low + j * dilation < size for j in range(window)])
        for i in range(windows.outs[axis])
    ]
    return all(hits)
