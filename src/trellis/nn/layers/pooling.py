"""Pooling: one number for each window. The strides are those of the window unless given."""

from collections.abc import Callable
from typing import Any, ClassVar, Unpack

from ... import functional as F
from ..._core.typing import A
from ...functional._layout import LETTERS
from ...functional._windows import Padding, Steps
from .layer import Layer, Options


class _Pool(Layer):
    _function: ClassVar[Callable[..., Any]]
    dims: ClassVar[int]

    def __init__(
        self,
        window: Steps,
        strides: Steps | None = None,
        padding: Padding = "VALID",
        data_format: str = "channel_last",
        **options: Unpack[Options],
    ):
        """Pooling over windows.

        Arguments:
            window: size of the windows along each spatial axis, or one for all
            strides: step from window to window, that of `window` unless given
            padding: "SAME", "VALID", an int, or one (low, high) pair per spatial axis
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._window, self._padding = window, padding
        self._strides = window if strides is None else strides
        is_first = self._is_channel_first(data_format, self.dims)
        last, first = LETTERS[self.dims]
        self._format = first if is_first else last
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        sizes = (self._window, self._strides, self._padding)
        y: A = type(self)._function(x, *sizes, data_format=self._format)
        return y

    def extra_repr(self) -> str:
        return f"{self._window}, {self._strides}, {self._padding!r}"


class MaxPool1D(_Pool):
    """The largest element of every window along one axis."""

    _function, dims = staticmethod(F.max_pool1d), 1


class MaxPool2D(_Pool):
    """The largest element of every window along two axes.

    >>> import numpy as np, trellis
    >>> trellis.nn.MaxPool2D(2)(np.ones((1, 4, 6, 3), "float32")).shape
    (1, 2, 3, 3)
    """

    _function, dims = staticmethod(F.max_pool2d), 2


class MaxPool3D(_Pool):
    """The largest element of every window along three axes."""

    _function, dims = staticmethod(F.max_pool3d), 3


class AvgPool1D(_Pool):
    """The mean of every window along one axis; padding does not count."""

    _function, dims = staticmethod(F.avg_pool1d), 1


class AvgPool2D(_Pool):
    """The mean of every window along two axes; padding does not count.

    >>> import numpy as np, trellis
    >>> trellis.nn.AvgPool2D(3, 1, "SAME")(np.ones((1, 4, 6, 3), "float32")).shape
    (1, 4, 6, 3)
    """

    _function, dims = staticmethod(F.avg_pool2d), 2


class AvgPool3D(_Pool):
    """The mean of every window along three axes; padding does not count."""

    _function, dims = staticmethod(F.avg_pool3d), 3


class _GlobalPool(Layer):
    _function: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        data_format: str = "channel_last",
        keepdims: bool = False,
        **options: Unpack[Options],
    ):
        """Pooling over all positions.

        Arguments:
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            keepdims: whether the spatial axes stay, with one element each
            options: those of `Module`
        """
        self._options: dict[str, Any] = {"data_format": data_format, "keepdims": keepdims}
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        y: A = type(self)._function(x, **self._options)
        return y


class GlobalAvgPool(_GlobalPool):
    """The mean over all positions: (batch, ..., channels) -> (batch, channels)."""

    _function = staticmethod(F.global_avg_pool)


class GlobalMaxPool(_GlobalPool):
    """The maximum over all positions: (batch, ..., channels) -> (batch, channels)."""

    _function = staticmethod(F.global_max_pool)


class _AdaptivePool(Layer):
    _function: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        output_size: Steps,
        data_format: str = "channel_last",
        **options: Unpack[Options],
    ):
        """Pooling to a given size.

        Arguments:
            output_size: size of the result along each of the 1 to 3 spatial axes, or one for all
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._output_size, self._data_format = output_size, data_format
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        y: A = type(self)._function(x, self._output_size, data_format=self._data_format)
        return y

    def extra_repr(self) -> str:
        return str(self._output_size)


class AdaptiveAvgPool(_AdaptivePool):
    """Means over windows that divide each of the 1 to 3 spatial axes into `output_size` parts."""

    _function = staticmethod(F.adaptive_avg_pool)


class AdaptiveMaxPool(_AdaptivePool):
    """Maxima over windows that divide each of the 1 to 3 spatial axes into `output_size` parts."""

    _function = staticmethod(F.adaptive_max_pool)
