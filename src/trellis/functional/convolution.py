"""Convolutions: every argument is checked, and padding becomes explicit (low, high) pairs, here and once.

The filters are not flipped (cross-correlation). Layouts, with g groups:

| dims | data_format | filters channel_last / channel_first | of transposed convolutions |
|---|---|---|---|
| 1 | NWC, NCW | (W, I/g, O) / (O, I/g, W) | (W, O/g, I) / (I, O/g, W) |
| 2 | NHWC, NCHW | (H, W, I/g, O) / (O, I/g, H, W) | (H, W, O/g, I) / (I, O/g, H, W) |
| 3 | NDHWC, NCDHW | (D, H, W, I/g, O) / (O, I/g, D, H, W) | (D, H, W, O/g, I) / (I, O/g, D, H, W) |
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError, ShapeError
from .._core.tree import call_leafwise
from .._core.typing import A
from ._checks import as_floats, has_nest, per_axis, whole_number

# "SAME", "VALID", one int for all sides, or one (low, high) pair per spatial axis.
Padding: TypeAlias = str | int | Sequence[tuple[int, int]]
Steps: TypeAlias = int | Sequence[int]

_FORMATS = {
    1: {"NWC": False, "NCW": True},
    2: {"NHWC": False, "NCHW": True},
    3: {"NDHWC": False, "NCDHW": True},
}
_GENERAL = {"channel_last": False, "channel_first": True}


# Forward ---------------------------------------------------------------------------------------------


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

    `dilations` spreads the filter, `x_dilations` inserts zeros between the elements of `x`. With "SAME" the
    odd zero goes to the end. Integer arrays are computed in the default float.

    >>> import numpy as np, trellis
    >>> x, filters = np.array([1.0, 2, 3, 4, 5]).reshape(1, 5, 1), np.array([1.0, 10, 100]).reshape(3, 1, 1)
    >>> trellis.conv1d(x, filters, 2, "SAME").ravel()
    array([210., 432.,  54.])
    """
    if has_nest(x, filters, bias):
        kwargs = {"data_format": data_format, "filter_format": filter_format, "x_dilations": x_dilations,
                  "dilations": dilations, "bias": bias}  # fmt: skip
        return call_leafwise(conv1d, (x, filters, strides, padding), kwargs)
    return _forward(
        "conv1d",
        1,
        x,
        filters,
        bias,
        strides,
        padding,
        x_dilations,
        dilations,
        1,
        _FORMATS[1],
        data_format,
        filter_format,
    )


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
    if has_nest(x, filters, bias):
        kwargs = {"data_format": data_format, "filter_format": filter_format, "x_dilations": x_dilations,
                  "dilations": dilations, "bias": bias}  # fmt: skip
        return call_leafwise(conv2d, (x, filters, strides, padding), kwargs)
    return _forward(
        "conv2d",
        2,
        x,
        filters,
        bias,
        strides,
        padding,
        x_dilations,
        dilations,
        1,
        _FORMATS[2],
        data_format,
        filter_format,
    )


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
    if has_nest(x, filters, bias):
        kwargs = {"data_format": data_format, "filter_format": filter_format, "x_dilations": x_dilations,
                  "dilations": dilations, "bias": bias}  # fmt: skip
        return call_leafwise(conv3d, (x, filters, strides, padding), kwargs)
    return _forward(
        "conv3d",
        3,
        x,
        filters,
        bias,
        strides,
        padding,
        x_dilations,
        dilations,
        1,
        _FORMATS[3],
        data_format,
        filter_format,
    )


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
    """Convolution along two axes, each channel with its own filter; filters (H, W, C) or (H, W, C, 1).

    >>> import numpy as np, trellis
    >>> x, filters = np.arange(1.0, 9).reshape(1, 2, 2, 2), np.array([[[1.0, 10]], [[2, 20]]])
    >>> trellis.depthwise_conv2d(x, filters, 1, "VALID").tolist()
    [[[[11.0, 140.0], [17.0, 200.0]]]]
    """
    if has_nest(x, filters):
        kwargs = {"data_format": data_format, "dilations": dilations}
        return call_leafwise(depthwise_conv2d, (x, filters, strides, padding), kwargs)
    name = "depthwise_conv2d"
    xp = xp_of_all(x, filters)
    shape = tuple(filters.shape)
    if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] != 1):
        raise ShapeError(
            f"{name}() expects filters of shape (H, W, C) or (H, W, C, 1), got {shape}."
        )
    _check_rank(name, x, 4, data_format)
    channel_first = _is_first(name, "data_format", data_format, _FORMATS[2])
    channels = x.shape[1 if channel_first else 3]
    if shape[2] != channels:
        raise ShapeError(
            f"{name}() expects one filter per channel of x: filters of shape (H, W, {channels}), got {shape}."
        )
    filters = xp.reshape(filters, (shape[0], shape[1], 1, channels))
    return _forward(
        name,
        2,
        x,
        filters,
        None,
        strides,
        padding,
        1,
        dilations,
        channels,
        _FORMATS[2],
        data_format,
        "channel_last",
    )


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
    """Convolution along `dims` axes with groups of channels: output block j sees input block j only.

    >>> import numpy as np, trellis
    >>> x, filters = np.arange(1.0, 9).reshape(1, 2, 4), np.arange(1.0, 9).reshape(2, 2, 2)
    >>> trellis.conv_general_dilated(x, filters, 1, "VALID", dims=1, feature_group_count=2)
    array([[[ 74., 128.]]])
    """
    if has_nest(x, filters, bias):
        kwargs = {"dims": dims, "data_format": data_format, "filter_format": filter_format,
                  "feature_group_count": feature_group_count, "x_dilations": x_dilations, "dilations": dilations,
                  "bias": bias}  # fmt: skip
        return call_leafwise(conv_general_dilated, (x, filters, strides, padding), kwargs)
    name = "conv_general_dilated"
    _check_dims(name, dims)
    return _forward(
        name, dims, x, filters, bias, strides, padding, x_dilations, dilations, feature_group_count, _GENERAL, data_format,
        filter_format,
    )  # fmt: skip


def _forward(
    name: str, dims: int, x: Any, filters: Any, bias: Any, strides: Any, padding: Any, x_dilations: Any, dilations: Any,
    groups: Any, formats: dict[str, bool], data_format: Any, filter_format: Any,
) -> Any:  # fmt: skip
    xp = xp_of_all(x, filters, bias)
    channel_first = _is_first(name, "data_format", data_format, formats)
    filter_first = _is_first(name, "filter_format", filter_format, _GENERAL)
    _check_rank(name, x, dims + 2, data_format)
    _check_filter_rank(name, filters, dims)
    strides = per_axis(name, "strides", strides, dims)
    dilations = per_axis(name, "dilations", dilations, dims)
    x_dilations = per_axis(name, "x_dilations", x_dilations, dims)
    groups = _checked_groups(name, groups)
    sizes, channels = _split_shape(x.shape, channel_first)
    shape = tuple(filters.shape)
    kernel = shape[2:] if filter_first else shape[:-2]
    in_group, out_channels = (shape[1], shape[0]) if filter_first else (shape[-2], shape[-1])
    _check_kernel(name, kernel, shape)
    if channels % groups:
        raise ShapeError(
            f"{name}() cannot split {channels} input channels of x into {groups} groups of equal size."
        )
    if out_channels % groups:
        raise ShapeError(
            f"{name}() cannot split the {out_channels} output channels of filters {shape} into {groups} groups."
        )
    if in_group * groups != channels:
        raise ShapeError(
            f"{name}() got x with {channels} channels, {channels // groups} in each of {groups} group(s), and filters "
            f"{shape} for {in_group}. In data_format {data_format!r} and filter_format {filter_format!r} the filters "
            f"must have shape {_wanted(kernel, channels // groups, out_channels, filter_first)}."
        )
    _check_bias(name, bias, out_channels)
    spread = [(n - 1) * xd + 1 for n, xd in zip(sizes, x_dilations, strict=True)]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pairs = _forward_pairs(name, padding, spread, spans, strides)
    for n, span, (low, high) in zip(spread, spans, pairs, strict=True):
        if n < 1 or n + low + high < span:
            raise ShapeError(
                f"{name}() would have no output: the filter spans {span} elements (kernel {kernel}, dilations {dilations}) "
                f"and the padded input has {n + low + high}. Use more padding or a smaller filter."
            )
    x, filters, bias = as_floats(name, xp, x, filters, bias)
    return xp.conv(
        x, filters, bias, strides=strides, padding=pairs, x_dilations=x_dilations, dilations=dilations, groups=groups,
        channel_first=channel_first, filter_first=filter_first,
    )  # fmt: skip


def _forward_pairs(
    name: str, padding: Any, sizes: Any, spans: Any, strides: Any
) -> tuple[tuple[int, int], ...]:
    """One (low, high) pair per axis; `sizes` and `spans` are those after dilation."""
    kind = _padding_kind(name, padding, len(strides))
    if kind == "VALID":
        return ((0, 0),) * len(strides)
    if kind == "SAME":
        pairs = []
        for n, span, s in zip(sizes, spans, strides, strict=True):
            total = max((-(-n // s) - 1) * s + span - n, 0)
            pairs.append((total // 2, total - total // 2))
        return tuple(pairs)
    return kind


# Transposed ------------------------------------------------------------------------------------------


def conv1d_transpose(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    output_shape: Any = None,
    data_format: str = "NWC",
    filter_format: str = "channel_last",
    dilations: Steps = 1,
    bias: A | None = None,
) -> A:
    """Transposed convolution along one axis: the gradient of `conv1d` with the same padding.

    Several input sizes of that `conv1d` can lead to the size of `x`; `output_shape` chooses one of them,
    as spatial sizes or as the whole shape.

    >>> import numpy as np, trellis
    >>> x, filters = np.array([1.0, 2, 3]).reshape(1, 3, 1), np.array([1.0, 10, 100]).reshape(3, 1, 1)
    >>> trellis.conv1d_transpose(x, filters, 2, "SAME").ravel()
    array([  1.,  10., 102.,  20., 203.,  30.])
    """
    if has_nest(x, filters, bias):
        kwargs = {"output_shape": output_shape, "data_format": data_format, "filter_format": filter_format,
                  "dilations": dilations, "bias": bias}  # fmt: skip
        return call_leafwise(conv1d_transpose, (x, filters, strides, padding), kwargs)
    return _transposed(
        "conv1d_transpose", 1, x, filters, bias, strides, padding, output_shape, dilations, 1, _FORMATS[1], data_format,
        filter_format,
    )  # fmt: skip


def conv2d_transpose(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    output_shape: Any = None,
    data_format: str = "NHWC",
    filter_format: str = "channel_last",
    dilations: Steps = 1,
    bias: A | None = None,
) -> A:
    """Transposed convolution along two axes; see `conv1d_transpose` for the options.

    >>> import numpy as np, trellis
    >>> x, filters = np.array([[1.0, 2], [3, 4]]).reshape(1, 2, 2, 1), np.ones((2, 2, 1, 1))
    >>> trellis.conv2d_transpose(x, filters, 1, "SAME")[0, :, :, 0]
    array([[ 1.,  3.],
           [ 4., 10.]])
    """
    if has_nest(x, filters, bias):
        kwargs = {"output_shape": output_shape, "data_format": data_format, "filter_format": filter_format,
                  "dilations": dilations, "bias": bias}  # fmt: skip
        return call_leafwise(conv2d_transpose, (x, filters, strides, padding), kwargs)
    return _transposed(
        "conv2d_transpose", 2, x, filters, bias, strides, padding, output_shape, dilations, 1, _FORMATS[2], data_format,
        filter_format,
    )  # fmt: skip


def conv3d_transpose(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    output_shape: Any = None,
    data_format: str = "NDHWC",
    filter_format: str = "channel_last",
    dilations: Steps = 1,
    bias: A | None = None,
) -> A:
    """Transposed convolution along three axes; see `conv1d_transpose` for the options.

    >>> import numpy as np, trellis
    >>> x = np.ones((1, 2, 2, 2, 1))
    >>> trellis.conv3d_transpose(x, np.ones((2, 2, 2, 1, 1)), 1, "SAME")[0, 1, :, :, 0]
    array([[2., 4.],
           [4., 8.]])
    """
    if has_nest(x, filters, bias):
        kwargs = {"output_shape": output_shape, "data_format": data_format, "filter_format": filter_format,
                  "dilations": dilations, "bias": bias}  # fmt: skip
        return call_leafwise(conv3d_transpose, (x, filters, strides, padding), kwargs)
    return _transposed(
        "conv3d_transpose", 3, x, filters, bias, strides, padding, output_shape, dilations, 1, _FORMATS[3], data_format,
        filter_format,
    )  # fmt: skip


def conv_general_transpose(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    dims: int = 2,
    output_shape: Any = None,
    data_format: str = "channel_last",
    filter_format: str = "channel_last",
    dilations: Steps = 1,
    feature_group_count: int = 1,
    bias: A | None = None,
) -> A:
    """Transposed convolution along `dims` axes with groups: the gradient of `conv_general_dilated`.

    >>> import numpy as np, trellis
    >>> x, filters = np.array([[[1.0, 2]]]), np.array([[[3.0, 4]]])
    >>> trellis.conv_general_transpose(x, filters, 1, "VALID", dims=1, feature_group_count=2)
    array([[[3., 8.]]])
    """
    if has_nest(x, filters, bias):
        kwargs = {"dims": dims, "output_shape": output_shape, "data_format": data_format,
                  "filter_format": filter_format, "dilations": dilations,
                  "feature_group_count": feature_group_count, "bias": bias}  # fmt: skip
        return call_leafwise(conv_general_transpose, (x, filters, strides, padding), kwargs)
    name = "conv_general_transpose"
    _check_dims(name, dims)
    return _transposed(
        name, dims, x, filters, bias, strides, padding, output_shape, dilations, feature_group_count, _GENERAL, data_format,
        filter_format,
    )  # fmt: skip


def _transposed(
    name: str, dims: int, x: Any, filters: Any, bias: Any, strides: Any, padding: Any, output_shape: Any, dilations: Any,
    groups: Any, formats: dict[str, bool], data_format: Any, filter_format: Any,
) -> Any:  # fmt: skip
    xp = xp_of_all(x, filters, bias)
    channel_first = _is_first(name, "data_format", data_format, formats)
    filter_first = _is_first(name, "filter_format", filter_format, _GENERAL)
    _check_rank(name, x, dims + 2, data_format)
    _check_filter_rank(name, filters, dims)
    strides = per_axis(name, "strides", strides, dims)
    dilations = per_axis(name, "dilations", dilations, dims)
    groups = _checked_groups(name, groups)
    sizes, channels = _split_shape(x.shape, channel_first)
    shape = tuple(filters.shape)
    kernel = shape[2:] if filter_first else shape[:-2]
    out_group, in_channels = (shape[1], shape[0]) if filter_first else (shape[-2], shape[-1])
    _check_kernel(name, kernel, shape)
    if channels % groups:
        raise ShapeError(
            f"{name}() cannot split {channels} input channels of x into {groups} groups of equal size."
        )
    if in_channels != channels:
        raise ShapeError(
            f"{name}() got x with {channels} channels and filters {shape} for {in_channels}. In data_format "
            f"{data_format!r} and filter_format {filter_format!r} the filters must have shape "
            f"{_wanted(kernel, out_group, channels, filter_first)}: (O/groups, I) at the end of channel_last ones."
        )
    out_channels = out_group * groups
    _check_bias(name, bias, out_channels)
    for n in sizes:
        if n < 1:
            raise ShapeError(
                f"{name}() needs at least one element along every spatial axis, got x of shape {tuple(x.shape)}."
            )
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    kind = _padding_kind(name, padding, dims)
    wanted = _wanted_sizes(name, output_shape, x.shape[0], out_channels, channel_first, dims)
    starts, outs = [], []
    for axis in range(dims):
        start, out = _transposed_size(
            name, kind if isinstance(kind, str) else kind[axis], sizes[axis], spans[axis], strides[axis],
            None if wanted is None else wanted[axis], output_shape,
        )  # fmt: skip
        starts.append(start)
        outs.append(out)
    x, filters, bias = as_floats(name, xp, x, filters, bias)
    return xp.conv_transpose(
        x, filters, bias, strides=strides, starts=tuple(starts), outs=tuple(outs), dilations=dilations, groups=groups,
        channel_first=channel_first, filter_first=filter_first,
    )  # fmt: skip


def _transposed_size(
    name: str, kind: Any, n: int, span: int, s: int, wanted: int | None, output_shape: Any
) -> tuple[int, int]:
    """Where the result begins in the full transposed convolution of length (n-1)*s + span, and its size."""
    full = (n - 1) * s + span
    if kind == "SAME":
        least, most, out = (n - 1) * s + 1, n * s, n * s
    elif kind == "VALID":
        least, most, out = full, full + s - 1, n * s + max(span - s, 0)
    else:
        least = full - kind[0] - kind[1]
        most, out = least + s - 1, least
    if wanted is not None:
        if not max(least, 1) <= wanted <= most:
            raise ShapeError(
                f"{name}() cannot give output_shape {output_shape!r}: the forward convolution maps only sizes from "
                f"{max(least, 1)} to {most} to the {n} elements of x, not {wanted}."
            )
        out = wanted
    if out < 1:
        raise ShapeError(
            f"{name}() would have no output: {kind} padding takes all of the {full} elements."
        )
    if kind == "SAME":
        return max(full - out, 0) // 2, out
    return (0 if kind == "VALID" else kind[0]), out


def _wanted_sizes(
    name: str, output_shape: Any, batch: Any, channels: int, channel_first: bool, dims: int
) -> tuple[int, ...] | None:
    if output_shape is None:
        return None
    entries = tuple(output_shape) if hasattr(output_shape, "__iter__") else (output_shape,)
    entries = tuple([whole_number(name, "output_shape", entry) for entry in entries])
    if len(entries) == dims:
        return entries
    if len(entries) != dims + 2:
        raise ShapeError(
            f"{name}() expects output_shape with {dims} spatial sizes, or the whole shape of {dims + 2}, got {output_shape!r}."
        )
    sizes, found = _split_shape(entries, channel_first)
    if found != channels or (batch is not None and entries[0] != batch):
        raise ShapeError(
            f"{name}() gives a batch of {batch} and {channels} channels, which output_shape {output_shape!r} contradicts."
        )
    return sizes


# Checks ----------------------------------------------------------------------------------------------


def _is_first(name: str, what: str, value: Any, formats: dict[str, bool]) -> bool:
    if not isinstance(value, str) or value not in formats:
        raise ArgumentError(
            f"{name}() knows the {what}s {' and '.join(map(repr, formats))}, got {value!r}."
        )
    return formats[value]


def _check_dims(name: str, dims: Any) -> None:
    if isinstance(dims, bool) or dims not in (1, 2, 3):
        raise ArgumentError(f"{name}() works in 1, 2 or 3 dimensions, got dims={dims!r}.")


def _check_rank(name: str, x: Any, rank: int, data_format: Any) -> None:
    if len(x.shape) != rank:
        raise ShapeError(
            f"{name}() expects x with {rank} axes ({data_format}), got shape {tuple(x.shape)} with {len(x.shape)}."
        )


def _check_filter_rank(name: str, filters: Any, dims: int) -> None:
    if len(filters.shape) != dims + 2:
        raise ShapeError(
            f"{name}() expects filters with {dims + 2} axes ({dims} spatial ones and two of channels), "
            f"got shape {tuple(filters.shape)}."
        )


def _check_kernel(name: str, kernel: Any, shape: Any) -> None:
    for size in kernel:
        if size < 1:
            raise ShapeError(
                f"{name}() expects filters of at least one element along every axis, got shape {shape}."
            )


def _check_bias(name: str, bias: Any, channels: int) -> None:
    if bias is not None and tuple(bias.shape) != (channels,):
        raise ShapeError(
            f"{name}() expects bias of shape ({channels},), one per output channel, got {tuple(bias.shape)}."
        )


def _checked_groups(name: str, groups: Any) -> int:
    number = whole_number(name, "feature_group_count", groups)
    if number < 1:
        raise ArgumentError(f"{name}() expects feature_group_count of at least 1, got {groups!r}.")
    return number


def _split_shape(shape: Any, channel_first: bool) -> tuple[tuple[int, ...], int]:
    """Spatial sizes and channels; the batch may be unknown while tracing, these not."""
    shape = tuple(shape)
    sizes, channels = (shape[2:], shape[1]) if channel_first else (shape[1:-1], shape[-1])
    if channels is None or any([n is None for n in sizes]):
        raise ShapeError(
            f"Convolutions need known spatial sizes and channels while tracing, got {shape}; only the batch may be "
            "open. Give tf.function a signature with these sizes."
        )
    return sizes, channels


def _wanted(kernel: Any, inner: int, outer: int, filter_first: bool) -> tuple[int, ...]:
    return (outer, inner, *kernel) if filter_first else (*kernel, inner, outer)


def _padding_kind(name: str, padding: Any, dims: int) -> Any:
    """ "SAME", "VALID", or one (low, high) pair per axis."""
    if isinstance(padding, str):
        kind = padding.upper()
        if kind not in ("SAME", "VALID"):
            raise ArgumentError(
                f"{name}() knows the paddings 'SAME' and 'VALID', an int, or one (low, high) pair per axis, got {padding!r}."
            )
        return kind
    if isinstance(padding, (list, tuple)):
        are_pairs = all([isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in padding])
        if not are_pairs or len(padding) != dims:
            raise ArgumentError(
                f"{name}() expects padding with one (low, high) pair for each of its {dims} spatial axes, for example "
                f"{[(1, 1)] * dims}, got {padding!r}."
            )
        pairs = tuple(
            [
                (whole_number(name, "padding", low), whole_number(name, "padding", high))
                for low, high in padding
            ]
        )
    else:
        size = whole_number(name, "padding", padding)
        pairs = ((size, size),) * dims
    for low, high in pairs:
        if low < 0 or high < 0:
            raise ArgumentError(
                f"{name}() expects padding of at least 0 on every side, got {padding!r}."
            )
    return pairs
