"""Moving elements between channels and positions, and other sizes of images."""

from collections.abc import Sequence
from typing import Any, Unpack

from ... import functional as F
from ..._core.typing import A
from ...functional._windows import Padding, Steps
from .layer import FunctionLayer, Options


class _Rearranging(FunctionLayer):
    """What they share: positional arguments of the function, and options."""

    _arguments: tuple[Any, ...] = ()

    def _forward(self, x: A) -> A:
        y: A = type(self)._function(x, *self._arguments, **self._options)
        return y

    def extra_repr(self) -> str:
        return ", ".join([str(each) for each in self._arguments])


class PixelShuffle(_Rearranging):
    """(H, W, C * factor**2) -> (H * factor, W * factor, C).

    >>> import numpy as np, trellis
    >>> trellis.nn.PixelShuffle(2)(np.ones((1, 3, 5, 8))).shape
    (1, 6, 10, 2)
    """

    _function = staticmethod(F.pixel_shuffle)

    def __init__(self, factor: int, data_format: str = "channel_last", **options: Unpack[Options]):
        """Channels become pixels.

        Arguments:
            factor: how much larger height and width become
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._arguments = (factor,)
        is_first = self._is_channel_first(data_format, 2)
        self._begin(options, data_format="NCHW" if is_first else "NHWC")


class PixelUnshuffle(PixelShuffle):
    """(H * factor, W * factor, C) -> (H, W, C * factor**2): the inverse of `PixelShuffle`.

    >>> import numpy as np, trellis
    >>> trellis.nn.PixelUnshuffle(2)(np.ones((1, 6, 10, 2))).shape
    (1, 3, 5, 8)
    """

    _function = staticmethod(F.pixel_unshuffle)


class Unfold(_Rearranging):
    """All windows as rows: (batch, windows, elements * channels); see `functional.unfold`.

    >>> import numpy as np, trellis
    >>> trellis.nn.Unfold(2)(np.ones((1, 4, 6, 3))).shape
    (1, 6, 12)
    """

    _function = staticmethod(F.unfold)

    def __init__(
        self,
        window: Steps,
        strides: Steps | None = None,
        padding: Padding = "VALID",
        dilations: Steps = 1,
        data_format: str = "channel_last",
        **options: Unpack[Options],
    ):
        """Windows as rows.

        Arguments:
            window: size of the windows along each of the 1 to 3 spatial axes, or one for all
            strides: step from window to window, that of `window` unless given
            padding: "SAME", "VALID", an int, or one (low, high) pair per spatial axis
            dilations: distance between the elements of a window
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._arguments = (window, window if strides is None else strides, padding)
        self._begin(options, dilations=dilations, data_format=data_format)


class Fold(_Rearranging):
    """Windows put back into an array of spatial `size`, overlaps summed; see `functional.fold`.

    >>> import numpy as np, trellis
    >>> trellis.nn.Fold((4, 6), 2)(np.ones((1, 6, 12))).shape
    (1, 4, 6, 3)
    """

    _function = staticmethod(F.fold)

    def __init__(
        self,
        size: int | Sequence[int],
        window: Steps,
        strides: Steps | None = None,
        padding: Padding = "VALID",
        dilations: Steps = 1,
        data_format: str = "channel_last",
        **options: Unpack[Options],
    ):
        """Rows back to windows.

        Arguments:
            size: size of the result along each of its spatial axes
            window: size of the windows along each spatial axis, or one for all
            strides: step from window to window, that of `window` unless given
            padding: "SAME", "VALID", an int, or one (low, high) pair per spatial axis
            dilations: distance between the elements of a window
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._arguments = (size, window, window if strides is None else strides, padding)
        self._begin(options, dilations=dilations, data_format=data_format)


class Upsample(_Rearranging):
    """Images (or lines, or volumes) of another size, by a factor; see `functional.interpolate`.

    >>> import numpy as np, trellis
    >>> trellis.nn.Upsample(2)(np.ones((1, 4, 6, 3))).shape
    (1, 8, 12, 3)
    """

    _function = staticmethod(F.interpolate)

    def __init__(
        self,
        scale: float | Sequence[float] = 2,
        method: str = "nearest",
        align_corners: bool = False,
        data_format: str = "channel_last",
        **options: Unpack[Options],
    ):
        """Another size, by a factor.

        Arguments:
            scale: the factor, for all spatial axes or one for each
            method: "nearest"; or "linear", "bilinear", "bicubic", "trilinear" by the number of axes
            align_corners: whether the corners of both sizes lie on each other
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._arguments = (scale,)
        self._begin(options, method=method, align_corners=align_corners, data_format=data_format)
