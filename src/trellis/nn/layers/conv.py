"""Convolutions. Filters are stored channel last: kernel + (in, out)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from ..._core.dispatch import xp_of
from ..._core.typing import A, Array, Device, DTypeLike
from ...functional._windows import Padding, Steps
from ...functional.convolution import conv_general_dilated
from ..init import Initializer
from .layer import GLOROT, ZEROS, Layer, Options, per_axis, weight_and_bias


class Convolution(Layer):
    """What all convolutions share; `dims` is the number of spatial axes."""

    dims: ClassVar[int]

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter_shape: Steps,
        strides: Steps,
        padding: Padding,
        with_bias: bool = True,
        data_format: str = "channel_last",
        dilations: Steps = 1,
        groups: int = 1,
        weight_initializer: Initializer = GLOROT,
        bias_initializer: Initializer = ZEROS,
        **options: Unpack[Options],
    ):
        """A convolution over `dims` axes.

        Arguments:
            input_channels: channels of the input
            output_channels: channels of the result
            filter_shape: size of the filter along each spatial axis, or one for all
            strides: step of the filter along each spatial axis, or one for all
            padding: "SAME", "VALID", an int, or one (low, high) pair per spatial axis
            with_bias: whether `b` is added to the result
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            dilations: distance between the elements of the filter
            groups: output block j sees input block j only; divides both numbers of channels
            weight_initializer: initial values of `w`
            bias_initializer: initial values of `b`
            options: those of `Module`
        """
        self._channels = (input_channels, output_channels)
        self._kernel = per_axis(filter_shape, self.dims)
        self._strides, self._padding, self._dilations = strides, padding, dilations
        is_first = self._is_channel_first(data_format, self.dims)
        self._format = "channel_first" if is_first else "channel_last"
        self._groups, self._with_bias = groups, with_bias
        self._initializers = (weight_initializer, bias_initializer)
        super().__init__(**options)

    def _filter_shape(self) -> tuple[int, ...]:
        fan_in, fan_out = self._channels
        return (*self._kernel, fan_in // self._groups, fan_out)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        area = math.prod(self._kernel)
        fans = [area * channels // self._groups for channels in self._channels]
        out = self._channels[1] if self._with_bias else None
        v = weight_and_bias(
            self._initializers, self._filter_shape(), (fans[0], fans[1]), out, device, dtype
        )
        w = v["w"]
        is_first = self._format == "channel_first"
        return {**v, "w": xp_of(w).laid_out_filters(w, self.dims, is_first)}

    def _common(self, v: Mapping[str, Array]) -> dict[str, Any]:
        """The options that the functions of both directions take."""
        return {
            "dims": self.dims,
            "data_format": self._format,
            "feature_group_count": self._groups,
            "dilations": self._dilations,
            "bias": v["b"] if self._with_bias else None,
        }

    def _forward(self, x: A) -> A:
        v = self.v
        return conv_general_dilated(x, v["w"], self._strides, self._padding, **self._common(v))

    def extra_repr(self) -> str:
        channels, kernel = self._channels, self._kernel
        return f"{channels[0]}, {channels[1]}, {kernel}, {self._strides}, {self._padding!r}"


class Conv1D(Convolution):
    """Convolution along one axis; `w` has the shape of the filter + (in, out), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv1D(3, 4, 3, 1, "SAME")(np.ones((2, 8, 3), "float32")).shape
    (2, 8, 4)
    """

    dims = 1


class Conv2D(Convolution):
    """Convolution along two axes; `w` has the shape of the filter + (in, out), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv2D(3, 4, 3, 1, "SAME")(np.ones((2, 8, 8, 3), "float32")).shape
    (2, 8, 8, 4)
    """

    dims = 2


class Conv3D(Convolution):
    """Convolution along three axes; `w` has the shape of the filter + (in, out), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv3D(3, 4, 3, 1, "SAME")(np.ones((2, 8, 8, 8, 3), "float32")).shape
    (2, 8, 8, 8, 4)
    """

    dims = 3
