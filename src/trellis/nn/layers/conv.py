"""Convolutions. Filters are stored channel last: kernel + (in, out), transposed ones kernel + (out, in)."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ..._array.manipulation import reshape
from ..._core.errors import ArgumentError
from ..._core.typing import A, Device, DTypeLike
from ...functional.convolution import conv_general_dilated, depthwise_conv2d
from ...functional.convolution_transpose import conv_general_transpose
from ..init import GlorotUniform, Initializer, Zeros
from .layer import Layer, per_axis

Sizes = int | Sequence[int]
Padding = str | int | Sequence[Any]

_FORMATS = {
    1: {"NWC": "channel_last", "NCW": "channel_first"},
    2: {"NHWC": "channel_last", "NCHW": "channel_first"},
    3: {"NDHWC": "channel_last", "NCDHW": "channel_first"},
}


class _Convolution(Layer):
    """What all convolutions share; `dims` is the number of spatial axes."""

    dims: ClassVar[int]

    def _set(
        self,
        channels: tuple[int, int],
        filter_shape: Sizes,
        strides: Sizes,
        padding: Padding,
        data_format: str,
        dilations: Sizes,
        with_bias: bool,
        groups: int,
        initializers: tuple[Initializer, Initializer],
    ) -> None:
        formats = _FORMATS[self.dims]
        if data_format not in formats:
            raise ArgumentError(
                f"{type(self).__name__}() knows the data_formats {' and '.join(formats)}, got {data_format!r}."
            )
        self._channels, self._kernel = channels, per_axis(filter_shape, self.dims)
        self._strides, self._padding, self._dilations = strides, padding, dilations
        self._format, self._groups = formats[data_format], groups
        self._with_bias, self._initializers = with_bias, initializers

    def _filter_shape(self) -> tuple[int, ...]:
        fan_in, fan_out = self._channels
        return (*self._kernel, fan_in // self._groups, fan_out)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        area = math.prod(self._kernel)
        fan_in, fan_out = self._channels
        options: dict[str, Any] = {
            "fan_in": area * fan_in // self._groups, "fan_out": area * fan_out // self._groups,
            "dtype": dtype, "device": device,
        }  # fmt: skip
        make_w, make_b = self._initializers
        v = {"w": make_w(self._filter_shape(), **options)}
        if self._with_bias:
            v["b"] = make_b((fan_out,), **options)
        return v

    def extra_repr(self) -> str:
        return f"{self._channels[0]}, {self._channels[1]}, {self._kernel}, {self._strides}, {self._padding!r}"


class _Conv(_Convolution):
    def _forward(self, x: A) -> A:
        v = self.v
        return conv_general_dilated(
            x,
            v["w"],
            self._strides,
            self._padding,
            dims=self.dims,
            data_format=self._format,
            feature_group_count=self._groups,
            dilations=self._dilations,
            bias=v["b"] if self._with_bias else None,
        )


class _ConvTranspose(_Convolution):
    _output_shape: Any

    def _filter_shape(self) -> tuple[int, ...]:
        fan_in, fan_out = self._channels
        return (*self._kernel, fan_out // self._groups, fan_in)

    def _forward(self, x: A) -> A:
        v = self.v
        return conv_general_transpose(
            x,
            v["w"],
            self._strides,
            self._padding,
            dims=self.dims,
            output_shape=self._output_shape,
            data_format=self._format,
            dilations=self._dilations,
            feature_group_count=self._groups,
            bias=v["b"] if self._with_bias else None,
        )


class Conv1D(_Conv):
    """Convolution along one axis; `w` has the shape of the filter + (in, out), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv1D(3, 4, 3, 1, "SAME")(np.ones((2, 8, 3), "float32")).shape
    (2, 8, 4)
    """

    dims = 1

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter_size: Sizes,
        strides: Sizes,
        padding: Padding,
        /,
        *,
        with_bias: bool = True,
        data_format: str = "NWC",
        dilations: Sizes = 1,
        groups: int = 1,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        **options: Any,
    ):
        self._set(
            (input_channels, output_channels), filter_size, strides, padding, data_format, dilations, with_bias,
            groups, (weight_initializer, bias_initializer),
        )  # fmt: skip
        super().__init__(**options)


class Conv2D(_Conv):
    """Convolution along two axes; `w` has the shape of the filter + (in, out), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv2D(3, 4, 3, 1, "SAME")(np.ones((2, 8, 8, 3), "float32")).shape
    (2, 8, 8, 4)
    """

    dims = 2

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter_shape: Sizes,
        strides: Sizes,
        padding: Padding,
        /,
        *,
        with_bias: bool = True,
        data_format: str = "NHWC",
        dilations: Sizes = 1,
        groups: int = 1,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        **options: Any,
    ):
        self._set(
            (input_channels, output_channels), filter_shape, strides, padding, data_format, dilations, with_bias,
            groups, (weight_initializer, bias_initializer),
        )  # fmt: skip
        super().__init__(**options)


class Conv3D(_Conv):
    """Convolution along three axes; `w` has the shape of the filter + (in, out), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv3D(3, 4, 3, 1, "SAME")(np.ones((2, 8, 8, 8, 3), "float32")).shape
    (2, 8, 8, 8, 4)
    """

    dims = 3

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter_shape: Sizes,
        strides: Sizes,
        padding: Padding,
        /,
        *,
        with_bias: bool = True,
        data_format: str = "NDHWC",
        dilations: Sizes = 1,
        groups: int = 1,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        **options: Any,
    ):
        self._set(
            (input_channels, output_channels), filter_shape, strides, padding, data_format, dilations, with_bias,
            groups, (weight_initializer, bias_initializer),
        )  # fmt: skip
        super().__init__(**options)


class Conv1DTranspose(_ConvTranspose):
    """Transposed convolution along one axis; `w` has the shape of the filter + (out, in), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv1DTranspose(3, 5, 3, 2, "SAME")(np.ones((2, 4, 3), "float32")).shape
    (2, 8, 5)
    """

    dims = 1

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter_size: Sizes,
        strides: Sizes,
        padding: Padding,
        /,
        *,
        output_shape: Any = None,
        with_bias: bool = True,
        data_format: str = "NWC",
        dilations: Sizes = 1,
        groups: int = 1,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        **options: Any,
    ):
        self._output_shape = output_shape
        self._set(
            (input_channels, output_channels), filter_size, strides, padding, data_format, dilations, with_bias,
            groups, (weight_initializer, bias_initializer),
        )  # fmt: skip
        super().__init__(**options)


class Conv2DTranspose(_ConvTranspose):
    """Transposed convolution along two axes; `w` has the shape of the filter + (out, in), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv2DTranspose(3, 5, 3, 2, "SAME")(np.ones((2, 4, 4, 3), "float32")).shape
    (2, 8, 8, 5)
    """

    dims = 2

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter_shape: Sizes,
        strides: Sizes,
        padding: Padding,
        /,
        *,
        output_shape: Any = None,
        with_bias: bool = True,
        data_format: str = "NHWC",
        dilations: Sizes = 1,
        groups: int = 1,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        **options: Any,
    ):
        self._output_shape = output_shape
        self._set(
            (input_channels, output_channels), filter_shape, strides, padding, data_format, dilations, with_bias,
            groups, (weight_initializer, bias_initializer),
        )  # fmt: skip
        super().__init__(**options)


class Conv3DTranspose(_ConvTranspose):
    """Transposed convolution along three axes; `w` has the shape of the filter + (out, in), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Conv3DTranspose(3, 5, 3, 2, "SAME")(np.ones((2, 4, 4, 4, 3), "float32")).shape
    (2, 8, 8, 8, 5)
    """

    dims = 3

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter_shape: Sizes,
        strides: Sizes,
        padding: Padding,
        /,
        *,
        output_shape: Any = None,
        with_bias: bool = True,
        data_format: str = "NDHWC",
        dilations: Sizes = 1,
        groups: int = 1,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        **options: Any,
    ):
        self._output_shape = output_shape
        self._set(
            (input_channels, output_channels), filter_shape, strides, padding, data_format, dilations, with_bias,
            groups, (weight_initializer, bias_initializer),
        )  # fmt: skip
        super().__init__(**options)


class DepthwiseConv2D(_Convolution):
    """Convolution along two axes, each channel with a filter of its own; `w` (height, width, channels).

    >>> import numpy as np, trellis
    >>> trellis.nn.DepthwiseConv2D(3, 3, 1, "SAME")(np.ones((2, 8, 8, 3), "float32")).shape
    (2, 8, 8, 3)
    """

    dims = 2

    def __init__(
        self,
        num_channels: int,
        filter_shape: Sizes,
        strides: Sizes,
        padding: Padding,
        /,
        *,
        with_bias: bool = True,
        data_format: str = "NHWC",
        dilations: Sizes = 1,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        **options: Any,
    ):
        self._data_format = data_format
        self._set(
            (num_channels, num_channels), filter_shape, strides, padding, data_format, dilations, with_bias,
            num_channels, (weight_initializer, bias_initializer),
        )  # fmt: skip
        super().__init__(**options)

    def _filter_shape(self) -> tuple[int, ...]:
        return (*self._kernel, self._channels[0])

    def _forward(self, x: A) -> A:
        v = self.v
        y = depthwise_conv2d(
            x,
            v["w"],
            self._strides,
            self._padding,
            data_format=self._data_format,
            dilations=self._dilations,
        )
        if not self._with_bias:
            return y
        return y + (v["b"] if self._format == "channel_last" else reshape(v["b"], (-1, 1, 1)))


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
        filter_shape: Sizes,
        strides: Sizes,
        padding: Padding,
        /,
        *,
        with_bias: bool = True,
        data_format: str = "NHWC",
        dilations: Sizes = 1,
        **options: Any,
    ):
        self._depthwise = DepthwiseConv2D(
            input_channels, filter_shape, strides, padding,
            with_bias=False, data_format=data_format, dilations=dilations,
        )  # fmt: skip
        self._pointwise = Conv2D(
            input_channels,
            output_channels,
            1,
            1,
            "VALID",
            with_bias=with_bias,
            data_format=data_format,
        )
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        y: A = self._pointwise(self._depthwise(x))
        return y
