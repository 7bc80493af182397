"""The static numbers of a convolution, as a backend gets them: checked and complete."""

from typing import NamedTuple

Sizes = tuple[int, ...]


class ConvSpec(NamedTuple):
    """A forward convolution; the tuples have one entry per spatial axis."""

    strides: Sizes
    padding: tuple[tuple[int, int], ...]  # (low, high)
    x_dilations: Sizes  # zeros between the elements of the input
    dilations: Sizes  # zeros between the elements of the filter
    groups: int
    channel_first: bool  # of data and result
    filter_first: bool  # of the filters: (out, in, ...) instead of (..., in, out)


class TransposedConvSpec(NamedTuple):
    """`outs` elements from `starts` on of a full transposed convolution, zeros beyond its end."""

    strides: Sizes
    starts: Sizes
    outs: Sizes
    dilations: Sizes
    groups: int
    channel_first: bool
    filter_first: bool
