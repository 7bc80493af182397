"""Convolutions as torch and ONNX mean them: channels first, padding said for each end.

`x` is (N, C, *spatial), the filters (O, I/groups, *window); those of transposed convolutions are
(I, O/groups, *window). `padding` has one (begin, end) pair for each spatial axis.
"""

from collections.abc import Sequence
from typing import Any

from ... import functional as F
from ..._array.manipulation import pad, reshape
from ..._core.typing import Array

Pairs = Sequence[tuple[int, int]]


def convolution(
    x: Array,
    filters: Array,
    bias: Array | None = None,
    /,
    *,
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int],
    groups: int = 1,
) -> Any:
    """Convolution along one to three axes.

    Negative padding cuts elements off.

    >>> import numpy as np
    >>> x, filters = np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2))
    >>> convolution(x, filters, strides=(2,), padding=[(1, 0)], dilations=(1,)).ravel()
    array([0., 3.])
    """
    dims = len(strides)
    if any([size < 0 for pair in padding for size in pair]):
        cuts = [slice(max(-low, 0), min(high, 0) or None) for low, high in padding]
        x = x[(slice(None), slice(None), *cuts)]
        padding = [(max(low, 0), max(high, 0)) for low, high in padding]
    return F.conv_general_dilated(
        x,
        filters,
        tuple(strides),
        tuple([(low, high) for low, high in padding]),
        dims=dims,
        data_format="channel_first",
        filter_format="channel_first",
        feature_group_count=groups,
        dilations=tuple(dilations),
        bias=bias,
    )


def transposed_convolution(
    x: Array,
    filters: Array,
    bias: Array | None = None,
    /,
    *,
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int],
    output_padding: Sequence[int] | None = None,
    groups: int = 1,
) -> Any:
    """The gradient of a convolution: each spatial axis of n elements becomes one of
    `(n - 1) * stride + span - begin - end + output_padding`.

    Negative padding adds places that no input reaches; they hold the bias.

    >>> import numpy as np
    >>> x, filters = np.array([[[1.0, 2.0]]]), np.array([[[1.0, 10.0, 100.0]]])
    >>> options = {"strides": (2,), "padding": [(1, 1)], "dilations": (1,)}
    >>> transposed_convolution(x, filters, output_padding=(1,), **options).ravel()
    array([ 10., 102.,  20., 200.])
    """
    dims = len(strides)
    extra = tuple(output_padding) if output_padding else (0,) * dims
    ends = [(low, high - more) for (low, high), more in zip(padding, extra, strict=True)]
    inside = tuple([(max(low, 0), max(high, 0)) for low, high in ends])
    y = F.conv_general_transpose(
        x,
        filters,
        tuple(strides),
        inside,
        dims=dims,
        data_format="channel_first",
        filter_format="channel_first",
        feature_group_count=groups,
        dilations=tuple(dilations),
    )
    beyond = [(max(-low, 0), max(-high, 0)) for low, high in ends]
    if any([size for pair in beyond for size in pair]):
        y = pad(y, [(0, 0), (0, 0), *beyond])
    return y if bias is None else y + reshape(bias, (-1,) + (1,) * dims)
