"""Layers that drop: active in training mode only.

Their draws come from the library's stream, so `trellis.seed(s)` fixes them on every framework;
inside compiled functions from `trellis.random.stream(key)`.
"""

import math
from typing import Any, ClassVar, Unpack

from ..._array.creation import ones_like
from ..._core.typing import A, Array
from ...functional._arguments import probability
from ...functional.dense import dropout
from .layer import Layer, Options


class Dropout(Layer):
    """Set elements to zero with probability `prob`, and divide the others by 1 - prob if `scale`.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.Dropout(0.5)
    >>> layer.eval()(np.ones(3))
    array([1., 1., 1.])
    """

    def __init__(self, prob: float, scale: bool = True, **options: Unpack[Options]):
        """Dropout.

        Arguments:
            prob: the probability that an element is dropped
            scale: whether the others are divided by 1 - prob
            options: those of `Module`
        """
        self._prob = probability(type(self).__name__, "prob", prob)
        self._scale = scale
        super().__init__(**options)

    def _noise_shape(self, x: Array) -> list[int | None] | None:
        return None

    def _forward(self, x: A) -> A:
        if not self.training or self._prob == 0:
            return x
        return dropout(x, self._prob, scale=self._scale, noise_shape=self._noise_shape(x))

    def extra_repr(self) -> str:
        return f"{self._prob}"


class _ChannelDropout(Dropout):
    """Whole channels at once: one draw for each element of the batch and each channel."""

    dims: ClassVar[int]

    def __init__(
        self,
        prob: float,
        scale: bool = True,
        data_format: str = "channel_last",
        **options: Unpack[Options],
    ):
        """Dropout of channels.

        Arguments:
            prob: the probability that a channel is dropped
            scale: whether the others are divided by 1 - prob
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._is_first = self._is_channel_first(data_format, self.dims)
        super().__init__(prob, scale, **options)

    def _noise_shape(self, x: Array) -> list[int | None] | None:
        spatial = [1] * (len(x.shape) - 2)
        return [None, None, *spatial] if self._is_first else [None, *spatial, None]


class Dropout1D(_ChannelDropout):
    """Drop whole channels of (batch, width, channels), or of "NCW" data."""

    dims = 1


class Dropout2D(_ChannelDropout):
    """Drop whole channels of (batch, height, width, channels), or of "NCHW" data."""

    dims = 2


class Dropout3D(_ChannelDropout):
    """Drop whole channels of (batch, depth, height, width, channels), or of "NCDHW" data."""

    dims = 3


class DropPath(Dropout):
    """Drop whole elements of the batch: stochastic depth, for the branches of residual networks."""

    def _noise_shape(self, x: Array) -> list[int | None] | None:
        return [None, *[1] * (len(x.shape) - 1)]


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1, for SELU networks (Klambauer et al. 2017)."""

    def _forward(self, x: A) -> A:
        if not self.training or self._prob == 0:
            return x
        keep, low = 1 - self._prob, -1.7580993408473766
        mask: Any = dropout(ones_like(x), self._prob, scale=False)
        scale = 1 / math.sqrt(keep + low**2 * keep * self._prob) if keep else 0.0
        y: A = scale * (x * mask + low * (1 - mask)) - scale * self._prob * low
        return y
