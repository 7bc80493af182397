"""Convolutions: arguments are checked, and padding becomes explicit pairs, here and once.

The filters are not flipped (cross-correlation). Layouts, with g groups:

| dims | data_format | filters channel_last / channel_first | of transposed convolutions |
|---|---|---|---|
| 1 | NWC, NCW | (W, I/g, O) / (O, I/g, W) | (W, O/g, I) / (I, O/g, W) |
| 2 | NHWC, NCHW | (H, W, I/g, O) / (O, I/g, H, W) | (H, W, O/g, I) / (I, O/g, H, W) |
| 3 | NDHWC, NCDHW | (D, H, W, I/g, O) / (O, I/g, D, H, W) | (D, H, W, O/g, I) / (I, O/g, D, H, W) |
"""

from typing import Any

from .._backends.shared.convolution import ConvSpec
from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Array
from ._arguments import per_axis
from ._convolution import Given, check_bias, check_dims, checked, wanted_filters
from ._layout import LETTERS, WORDS, check_rank, is_first
from ._precision import as_floats
from ._windows import Padding, Steps, windows_on


def conv1d(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NWC",
    filter_format: str = "channel_last",
    x_dilations: Steps = 1,
    dilations: Steps = 1,
    bias: A | None = None,
) -> A:
    """Convolution along one axis.

    `dilations` spreads the filter, `x_dilations` inserts zeros between the elements of `x`. With
    "SAME" the odd zero goes to the end. Integer arrays are computed in the default float.

    >>> import numpy as np, trellis
    >>> x = np.array([1.0, 2, 3, 4, 5]).reshape(1, 5, 1)
    >>> filters = np.array([1.0, 10, 100]).reshape(3, 1, 1)
    >>> trellis.conv1d(x, filters, 2, "SAME").ravel()
    array([210., 432.,  54.])
    """
    try:
        given = Given(strides, padding, dilations, data_format, filter_format, LETTERS[1])
        return _convolved("conv1d", 1, x, filters, bias, given, x_dilations)
    except Exception as error:
        return explain(error, conv1d)


def conv2d(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NHWC",
    filter_format: str = "channel_last",
    x_dilations: Steps = 1,
    dilations: Steps = 1,
    bias: A | None = None,
) -> A:
    """Convolution along two axes; see `conv1d` for the options.

    >>> import numpy as np, trellis
    >>> x, filters = np.arange(9.0).reshape(1, 3, 3, 1), np.ones((2, 2, 1, 1))
    >>> trellis.conv2d(x, filters, 1, "VALID")[0, :, :, 0]
    array([[ 8., 12.],
           [20., 24.]])
    """
    try:
        given = Given(strides, padding, dilations, data_format, filter_format, LETTERS[2])
        return _convolved("conv2d", 2, x, filters, bias, given, x_dilations)
    except Exception as error:
        return explain(error, conv2d)


def conv3d(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NDHWC",
    filter_format: str = "channel_last",
    x_dilations: Steps = 1,
    dilations: Steps = 1,
    bias: A | None = None,
) -> A:
    """Convolution along three axes; see `conv1d` for the options.

    >>> import numpy as np, trellis
    >>> x = np.arange(1.0, 9).reshape(1, 2, 2, 2, 1)
    >>> trellis.conv3d(x, x.reshape(2, 2, 2, 1, 1), 1, "VALID").ravel()
    array([204.])
    """
    try:
        given = Given(strides, padding, dilations, data_format, filter_format, LETTERS[3])
        return _convolved("conv3d", 3, x, filters, bias, given, x_dilations)
    except Exception as error:
        return explain(error, conv3d)


def depthwise_conv2d(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    data_format: str = "NHWC",
    dilations: Steps = 1,
) -> A:
    """Convolution along two axes, each channel with its own filter: (H, W, C) or (H, W, C, 1).

    >>> import numpy as np, trellis
    >>> x, filters = np.arange(1.0, 9).reshape(1, 2, 2, 2), np.array([[[1.0, 10]], [[2, 20]]])
    >>> trellis.depthwise_conv2d(x, filters, 1, "VALID").tolist()
    [[[[11.0, 140.0], [17.0, 200.0]]]]
    """
    try:
        if has_nest(x, filters):
            kwargs = {"data_format": data_format, "dilations": dilations}
            return call_leafwise(depthwise_conv2d, (x, filters, strides, padding), kwargs)
        name = "depthwise_conv2d"
        shape = tuple(filters.shape)
        if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] != 1):
            raise ShapeError(
                f"{name}() expects filters of shape (H, W, C) or (H, W, C, 1), got {shape}."
            )
        channel_first = is_first(name, "data_format", data_format, LETTERS[2])
        check_rank(name, x, 2, data_format)
        channels = x.shape[1 if channel_first else 3]
        if shape[2] != channels:
            raise ShapeError(
                f"{name}() expects one filter per channel of x: filters of shape (H, W, "
                f"{channels}), got {shape}."
            )
        rows = xp_of_all(x, filters).reshape(filters, (shape[0], shape[1], 1, channels))
        given = Given(
            strides, padding, dilations, data_format, "channel_last", LETTERS[2], channels
        )
        return _convolved(name, 2, x, rows, None, given, 1)
    except Exception as error:
        return explain(error, depthwise_conv2d)


def conv_general_dilated(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    dims: int = 2,
    data_format: str = "channel_last",
    filter_format: str = "channel_last",
    feature_group_count: int = 1,
    x_dilations: Steps = 1,
    dilations: Steps = 1,
    bias: A | None = None,
) -> A:
    """Convolution along `dims` axes with groups: output block j sees input block j only.

    >>> import numpy as np, trellis
    >>> x, filters = np.arange(1.0, 9).reshape(1, 2, 4), np.arange(1.0, 9).reshape(2, 2, 2)
    >>> trellis.conv_general_dilated(x, filters, 1, "VALID", dims=1, feature_group_count=2)
    array([[[ 74., 128.]]])
    """
    try:
        name = "conv_general_dilated"
        check_dims(name, dims)
        given = Given(
            strides, padding, dilations, data_format, filter_format, WORDS, feature_group_count
        )
        return _convolved(name, dims, x, filters, bias, given, x_dilations)
    except Exception as error:
        return explain(error, conv_general_dilated)


def _convolved(name: str, dims: int, x: Array, filters: Array, bias: Array | None, given: Given,
               x_dilations: Steps) -> Any:  # fmt: skip
    if has_nest(x, filters, bias):
        return call_leafwise(
            lambda x, filters, bias: _convolved(name, dims, x, filters, bias, given, x_dilations),
            (x, filters, bias),
            {},
        )
    xp = xp_of_all(x, filters, bias)
    found = checked(name, dims, x, filters, given)
    x_dilations = per_axis(name, "x_dilations", x_dilations, dims)
    groups, channels = found.groups, found.channels
    if found.outer % groups:
        raise ShapeError(
            f"{name}() cannot split the {found.outer} output channels of filters "
            f"{tuple(filters.shape)} into {groups} groups."
        )
    if found.inner * groups != channels:
        raise ShapeError(
            f"{name}() got x with {channels} channels, {channels // groups} in each of {groups} "
            f"group(s), and filters {tuple(filters.shape)} for {found.inner}. In data_format "
            f"{given.data_format!r} and filter_format {given.filter_format!r} the filters must "
            f"have shape {wanted_filters(found, channels // groups, found.outer)}."
        )
    check_bias(name, bias, found.outer)
    spread = found.sizes
    if max(x_dilations) > 1:
        spread = tuple([(n - 1) * step + 1 for n, step in zip(spread, x_dilations, strict=True)])
    windows = windows_on(name, spread, found.kernel, found.strides, given.padding, found.dilations)
    x, filters, bias = as_floats(name, xp, x, filters, bias)
    spec = ConvSpec(
        found.strides, windows.padding, x_dilations, found.dilations, groups,
        found.channel_first, found.filter_first,
    )  # fmt: skip
    return xp.conv(x, filters, bias, spec)
