"""Pooling: one number for each window. The strides are those of the window unless given."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ... import functional as functions
from ..._core.typing import A
from .layer import Layer

Sizes = int | Sequence[int]
Padding = str | int | Sequence[Any]


class _Pool(Layer):
    function: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        window: Sizes,
        strides: Sizes | None = None,
        padding: Padding = "VALID",
        /,
        *,
        data_format: str | None = None,
        **options: Any,
    ):
        self._window, self._padding = window, padding
        self._strides = window if strides is None else strides
        self._options: dict[str, Any] = {} if data_format is None else {"data_format": data_format}
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        y: A = type(self).function(x, self._window, self._strides, self._padding, **self._options)
        return y

    def extra_repr(self) -> str:
        return f"{self._window}, {self._strides}, {self._padding!r}"


class MaxPool1D(_Pool):
    """The largest element of every window along one axis."""

    function = staticmethod(functions.max_pool1d)


class MaxPool2D(_Pool):
    """The largest element of every window along two axes.

    >>> import numpy as np, trellis
    >>> trellis.nn.MaxPool2D(2)(np.ones((1, 4, 6, 3), "float32")).shape
    (1, 2, 3, 3)
    """

    function = staticmethod(functions.max_pool2d)


class MaxPool3D(_Pool):
    """The largest element of every window along three axes."""

    function = staticmethod(functions.max_pool3d)


class AvgPool1D(_Pool):
    """The mean of every window along one axis; padding does not count."""

    function = staticmethod(functions.avg_pool1d)


class AvgPool2D(_Pool):
    """The mean of every window along two axes; padding does not count.

    >>> import numpy as np, trellis
    >>> trellis.nn.AvgPool2D(3, 1, "SAME")(np.ones((1, 4, 6, 3), "float32")).shape
    (1, 4, 6, 3)
    """

    function = staticmethod(functions.avg_pool2d)


class AvgPool3D(_Pool):
    """The mean of every window along three axes; padding does not count."""

    function = staticmethod(functions.avg_pool3d)


class _GlobalPool(Layer):
    function: ClassVar[Callable[..., Any]]

    def __init__(
        self, *, data_format: str = "channel_last", keepdims: bool = False, **options: Any
    ):
        self._options = {"data_format": data_format, "keepdims": keepdims}
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        y: A = type(self).function(x, **self._options)
        return y


class GlobalAvgPool(_GlobalPool):
    """The mean over all positions: (batch, ..., channels) -> (batch, channels)."""

    function = staticmethod(functions.global_avg_pool)


class GlobalMaxPool(_GlobalPool):
    """The maximum over all positions: (batch, ..., channels) -> (batch, channels)."""

    function = staticmethod(functions.global_max_pool)


class _AdaptivePool(Layer):
    function: ClassVar[Callable[..., Any]]

    def __init__(self, output_size: Sizes, /, *, data_format: str = "channel_last", **options: Any):
        self._output_size, self._data_format = output_size, data_format
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        y: A = type(self).function(x, self._output_size, data_format=self._data_format)
        return y

    def extra_repr(self) -> str:
        return str(self._output_size)


class AdaptiveAvgPool(_AdaptivePool):
    """Means over windows that divide each of the 1 to 3 spatial axes into `output_size` parts."""

    function = staticmethod(functions.adaptive_avg_pool)


class AdaptiveMaxPool(_AdaptivePool):
    """Maxima over windows that divide each of the 1 to 3 spatial axes into `output_size` parts."""

    function = staticmethod(functions.adaptive_max_pool)
