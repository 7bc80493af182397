"""What forward and transposed convolutions share: their arguments as given and as checked."""

from collections.abc import Mapping
from typing import NamedTuple

from .._core.errors import ArgumentError, ShapeError
from .._core.typing import Array
from ._arguments import per_axis, whole_number
from ._layout import WORDS, check_rank, is_first, spatial_sizes
from ._windows import Padding, Steps


class Given(NamedTuple):
    """What the caller says about a convolution, not checked yet."""

    strides: Steps
    padding: Padding
    dilations: Steps
    data_format: str
    filter_format: str
    formats: Mapping[str, bool]  # the data formats that the function knows
    groups: int = 1


class Checked(NamedTuple):
    """The same, checked, with the sizes of the arrays."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int
    channel_first: bool
    filter_first: bool
    sizes: tuple[int, ...]  # spatial, of x
    channels: int
    kernel: tuple[int, ...]  # spatial, of the filters
    inner: int  # the channels of the filters: (..., inner, outer) or (outer, inner, ...)
    outer: int


def checked(name: str, dims: int, x: Array, filters: Array, given: Given) -> Checked:
    """All that can be checked without knowing in which direction the convolution goes."""
    channel_first = is_first(name, "data_format", given.data_format, given.formats)
    filter_first = is_first(name, "filter_format", given.filter_format, WORDS)
    check_rank(name, x, dims, given.data_format)
    shape = tuple(filters.shape)
    if len(shape) != dims + 2:
        raise ShapeError(
            f"{name}() expects filters with {dims + 2} axes ({dims} spatial ones and two of "
            f"channels), got shape {shape}."
        )
    sizes = spatial_sizes(name, x, channel_first)
    channels = x.shape[1 if channel_first else -1]
    if channels is None:
        raise ShapeError(
            f"{name}() needs a known number of channels while tracing, got x of shape "
            f"{tuple(x.shape)}. Give tf.function a signature with it."
        )
    groups = whole_number(name, "feature_group_count", given.groups, least=1)
    if channels % groups:
        raise ShapeError(
            f"{name}() cannot split {channels} input channels of x into {groups} groups of equal "
            "size."
        )
    kernel = shape[2:] if filter_first else shape[:-2]
    if min(kernel) < 1:
        raise ShapeError(
            f"{name}() expects filters of at least one element along every axis, got shape {shape}."
        )
    inner, outer = (shape[1], shape[0]) if filter_first else (shape[-2], shape[-1])
    strides = per_axis(name, "strides", given.strides, dims)
    dilations = per_axis(name, "dilations", given.dilations, dims)
    return Checked(
        strides,
        dilations,
        groups,
        channel_first,
        filter_first,
        sizes,
        channels,
        kernel,
        inner,
        outer,
    )


def check_dims(name: str, dims: object) -> None:
    """Raise unless there are 1, 2 or 3 spatial axes."""
    if isinstance(dims, bool) or dims not in (1, 2, 3):
        raise ArgumentError(f"{name}() works in 1, 2 or 3 dimensions, got dims={dims!r}.")


def check_bias(name: str, bias: Array | None, channels: int) -> None:
    """Raise unless there is one bias per output channel, or none at all."""
    if bias is not None and tuple(bias.shape) != (channels,):
        raise ShapeError(
            f"{name}() expects bias of shape ({channels},), one per output channel, "
            f"got {tuple(bias.shape)}."
        )


def wanted_filters(found: Checked, inner: int, outer: int) -> tuple[int, ...]:
    """The shape that filters with these channels have."""
    return (outer, inner, *found.kernel) if found.filter_first else (*found.kernel, inner, outer)
