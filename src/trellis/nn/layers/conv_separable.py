"""Convolutions that treat channels and positions apart."""

from typing import Unpack

from ..._array.manipulation import reshape
from ..._core.typing import A
from ...functional._windows import Padding, Steps
from ...functional.convolution import depthwise_conv2d
from ..init import Initializer
from .conv import Conv2D, Convolution
from .layer import GLOROT, ZEROS, Layer, Options


class DepthwiseConv2D(Convolution):
    """Each channel with a filter of its own; `w` has the shape of the filter + (channels,).

    >>> import numpy as np, trellis
    >>> trellis.nn.DepthwiseConv2D(3, 3, 1, "SAME")(np.ones((2, 8, 8, 3), "float32")).shape
    (2, 8, 8, 3)
    """

    dims = 2

    def __init__(
        self,
        num_channels: int,
        filter_shape: Steps,
        strides: Steps,
        padding: Padding,
        with_bias: bool = True,
        data_format: str = "channel_last",
        dilations: Steps = 1,
        weight_initializer: Initializer = GLOROT,
        bias_initializer: Initializer = ZEROS,
        **options: Unpack[Options],
    ):
        """A convolution of each channel by itself.

        Arguments:
            num_channels: channels of the input and of the result
            filter_shape: height and width of the filter, or one number for both
            strides: steps along height and width
            padding: as in `Conv2D`
            with_bias: whether `b` is added to the result
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            dilations: distance between the taps of the filter
            weight_initializer: initial values of `w`
            bias_initializer: initial values of `b`
            options: those of `Module`
        """
        super().__init__(
            num_channels, num_channels, filter_shape, strides, padding, with_bias, data_format,
            dilations, num_channels, weight_initializer, bias_initializer, **options,
        )  # fmt: skip

    def _filter_shape(self) -> tuple[int, ...]:
        return (*self._kernel, self._channels[0])

    def _forward(self, x: A) -> A:
        v, is_last = self.v, self._format == "channel_last"
        y = depthwise_conv2d(
            x,
            v["w"],
            self._strides,
            self._padding,
            data_format="NHWC" if is_last else "NCHW",
            dilations=self._dilations,
        )
        if not self._with_bias:
            return y
        return y + (v["b"] if is_last else reshape(v["b"], (-1, 1, 1)))


class SeparableConv2D(Layer):
    """A depthwise convolution, then one of size 1 that mixes the channels.

    >>> import numpy as np, trellis
    >>> trellis.nn.SeparableConv2D(3, 4, 3, 1, "SAME")(np.ones((2, 8, 8, 3), "float32")).shape
    (2, 8, 8, 4)
    """

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
        **options: Unpack[Options],
    ):
        """A depthwise and a pointwise convolution.

        Arguments:
            input_channels: channels of the input
            output_channels: channels of the result
            filter_shape: of the depthwise part, as in `Conv2D`
            strides: of the depthwise part, as in `Conv2D`
            padding: of the depthwise part, as in `Conv2D`
            with_bias: whether the pointwise part has a bias
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            dilations: of the depthwise part, as in `Conv2D`
            options: those of `Module`
        """
        self._depthwise = DepthwiseConv2D(
            input_channels, filter_shape, strides, padding, False, data_format, dilations
        )
        self._pointwise = Conv2D(
            input_channels, output_channels, 1, 1, "VALID", with_bias, data_format
        )
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        y: A = self._pointwise(self._depthwise(x))
        return y
