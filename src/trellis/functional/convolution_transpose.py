"""Transposed convolutions: the gradients of the forward ones, as functions.

See `convolution` for the layouts.
"""

from collections.abc import Sequence
from typing import Any

from .._backends.shared.convolution import TransposedConvSpec
from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Array
from ._arguments import whole_number
from ._convolution import Checked, Given, check_bias, check_dims, checked, wanted_filters
from ._layout import LETTERS, WORDS
from ._precision import as_floats
from ._windows import Padding, Steps, padding_kind


def conv1d_transpose(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    output_shape: Steps | None = None,
    data_format: str = "NWC",
    filter_format: str = "channel_last",
    dilations: Steps = 1,
    bias: A | None = None,
) -> A:
    """Transposed convolution along one axis: the gradient of `conv1d` with the same padding.

    Several input sizes of that `conv1d` can lead to the size of `x`; `output_shape` chooses one of
    them, as spatial sizes or as the whole shape.

    >>> import numpy as np, trellis
    >>> x = np.array([1.0, 2, 3]).reshape(1, 3, 1)
    >>> filters = np.array([1.0, 10, 100]).reshape(3, 1, 1)
    >>> trellis.conv1d_transpose(x, filters, 2, "SAME").ravel()
    array([  1.,  10., 102.,  20., 203.,  30.])
    """
    try:
        given = Given(strides, padding, dilations, data_format, filter_format, LETTERS[1])
        return _transposed("conv1d_transpose", 1, x, filters, bias, given, output_shape)
    except Exception as error:
        return explain(error, conv1d_transpose)


def conv2d_transpose(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    output_shape: Steps | None = None,
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
    try:
        given = Given(strides, padding, dilations, data_format, filter_format, LETTERS[2])
        return _transposed("conv2d_transpose", 2, x, filters, bias, given, output_shape)
    except Exception as error:
        return explain(error, conv2d_transpose)


def conv3d_transpose(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    output_shape: Steps | None = None,
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
    try:
        given = Given(strides, padding, dilations, data_format, filter_format, LETTERS[3])
        return _transposed("conv3d_transpose", 3, x, filters, bias, given, output_shape)
    except Exception as error:
        return explain(error, conv3d_transpose)


def conv_general_transpose(
    x: A,
    filters: A,
    strides: Steps,
    padding: Padding,
    /,
    *,
    dims: int = 2,
    output_shape: Steps | None = None,
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
    try:
        name = "conv_general_transpose"
        check_dims(name, dims)
        given = Given(
            strides, padding, dilations, data_format, filter_format, WORDS, feature_group_count
        )
        return _transposed(name, dims, x, filters, bias, given, output_shape)
    except Exception as error:
        return explain(error, conv_general_transpose)


def _transposed(name: str, dims: int, x: Array, filters: Array, bias: Array | None, given: Given,
                output_shape: Steps | None) -> Any:  # fmt: skip
    if has_nest(x, filters, bias):
        return call_leafwise(
            lambda x, filters, bias: _transposed(name, dims, x, filters, bias, given, output_shape),
            (x, filters, bias),
            {},
        )
    xp = xp_of_all(x, filters, bias)
    found = checked(name, dims, x, filters, given)
    if found.outer != found.channels:
        raise ShapeError(
            f"{name}() got x with {found.channels} channels and filters {tuple(filters.shape)} for "
            f"{found.outer}. In data_format {given.data_format!r} and filter_format "
            f"{given.filter_format!r} the filters must have shape "
            f"{wanted_filters(found, found.inner, found.channels)}: (O/groups, I) at the end of "
            "channel_last ones."
        )
    out_channels = found.inner * found.groups
    check_bias(name, bias, out_channels)
    if min(found.sizes) < 1:
        raise ShapeError(
            f"{name}() needs at least one element along every spatial axis, got x of shape "
            f"{tuple(x.shape)}."
        )
    wanted = _wanted_sizes(name, output_shape, x.shape[0], out_channels, found)
    kind = padding_kind(name, given.padding, dims)
    starts, outs = [], []
    for axis in range(dims):
        side: Any = kind if isinstance(kind, str) else kind[axis]
        size = None if wanted is None else wanted[axis]
        start, out = _start_and_size(name, side, found, axis, size, output_shape)
        starts.append(start)
        outs.append(out)
    x, filters, bias = as_floats(name, xp, x, filters, bias)
    spec = TransposedConvSpec(
        found.strides, tuple(starts), tuple(outs), found.dilations, found.groups,
        found.channel_first, found.filter_first,
    )  # fmt: skip
    return xp.conv_transpose(x, filters, bias, spec)


def _start_and_size(name: str, kind: Any, found: Checked, axis: int, wanted: int | None,
                    output_shape: int | Sequence[int] | None) -> tuple[int, int]:  # fmt: skip
    """Where the result begins in the full transposed convolution of one axis, and its size."""
    n, s = found.sizes[axis], found.strides[axis]
    span = (found.kernel[axis] - 1) * found.dilations[axis] + 1
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
                f"{name}() cannot give output_shape {output_shape!r}: the forward convolution maps "
                f"only sizes from {max(least, 1)} to {most} to the {n} elements of x, not {wanted}."
            )
        out = wanted
    if out < 1:
        raise ShapeError(
            f"{name}() would have no output: {kind} padding takes all of the {full} elements."
        )
    if kind == "SAME":
        return max(full - out, 0) // 2, out
    return (0 if kind == "VALID" else kind[0]), out


def _wanted_sizes(name: str, output_shape: int | Sequence[int] | None, batch: int | None,
                  channels: int, found: Checked) -> tuple[int, ...] | None:  # fmt: skip
    if output_shape is None:
        return None
    dims = len(found.sizes)
    entries = tuple(output_shape) if hasattr(output_shape, "__iter__") else (output_shape,)
    entries = tuple([whole_number(name, "output_shape", entry) for entry in entries])
    if len(entries) == dims:
        return entries
    if len(entries) != dims + 2:
        raise ShapeError(
            f"{name}() expects output_shape with {dims} spatial sizes, or the whole shape of "
            f"{dims + 2}, got {output_shape!r}."
        )
    at = 1 if found.channel_first else -1
    if entries[at] != channels or (batch is not None and entries[0] != batch):
        raise ShapeError(
            f"{name}() gives a batch of {batch} and {channels} channels, which output_shape "
            f"{output_shape!r} contradicts."
        )
    return entries[2:] if found.channel_first else entries[1:-1]
