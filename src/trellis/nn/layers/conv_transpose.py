"""Transposed convolutions. Filters are stored channel last: kernel + (out, in)."""

from typing import Unpack

from ..._core.typing import A
from ...functional._windows import Padding, Steps
from ...functional.convolution_transpose import conv_general_transpose
from ..init import Initializer
from .conv import Convolution
from .layer import GLOROT, ZEROS, Options


class TransposedConvolution(Convolution):
    """What transposed convolutions share; `dims` is the number of spatial axes."""

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
        output_shape: Steps | None = None,
        **options: Unpack[Options],
    ):
        """A transposed convolution: the arguments of `Conv2D`, of which it is the gradient.

        Arguments:
            input_channels: channels of the input
            output_channels: channels of the result
            filter_shape: size of the filter along each spatial axis, or one for all
            strides: how many elements of the result one step in the input is
            padding: that of the convolution of which this is the gradient
            with_bias: whether `b` is added to the result
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            dilations: distance between the elements of the filter
            groups: output block j sees input block j only; divides both numbers of channels
            weight_initializer: initial values of `w`
            bias_initializer: initial values of `b`
            output_shape: spatial sizes of the result, where several are possible
            options: those of `Module`
        """
        self._output_shape = output_shape
        super().__init__(
            input_channels, output_channels, filter_shape, strides, padding, with_bias, data_format,
            dilations, groups, weight_initializer, bias_initializer, **options,
        )  # fmt: skip

    def _filter_shape(self) -> tuple[int, ...]:
        fan_in, fan_out = self._channels
        return (*self._kernel, fan_out // self._groups, fan_in)

    def _forward(self, x: A) -> A:
        v = self.v
        options = {**self._common(v), "output_shape": self._output_shape}
        return conv_general_transpose(x, v["w"], self._strides, self._padding, **options)


class Conv1DTranspose(TransposedConvolution):
    """Transposed convolution along one axis; `w` has shape filter + (out, in), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv1DTranspose(3, 5, 3, 2, "SAME")(np.ones((2, 4, 3), "float32")).shape
    (2, 8, 5)
    """

    dims = 1


class Conv2DTranspose(TransposedConvolution):
    """Transposed convolution along two axes; `w` has shape filter + (out, in), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv2DTranspose(3, 5, 3, 2, "SAME")(np.ones((2, 4, 4, 3), "float32")).shape
    (2, 8, 8, 5)
    """

    dims = 2


class Conv3DTranspose(TransposedConvolution):
    """Transposed convolution along three axes; `w` has shape filter + (out, in), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv3DTranspose(3, 5, 3, 2, "SAME")(np.ones((2, 4, 4, 4, 3), "float32")).shape
    (2, 8, 8, 8, 5)
    """

    dims = 3
