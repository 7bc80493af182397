"""Normalisation. Data are channel last unless `data_format` says otherwise."""

from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

from ..._array.creation import ones, zeros, zeros_like
from ..._array.manipulation import moveaxis
from ..._core.errors import ShapeError
from ..._core.typing import A, Array, Device, DTypeLike
from ...functional import normalization as functions
from .layer import Layer, Options


class _Norm(Layer):
    """What all of them share: a scale `w` and an offset `b`, if there are any."""

    def _set(self, shape: tuple[int, ...], eps: float, with_w: bool, with_b: bool) -> None:
        self._shape, self._eps = shape, eps
        self._with_w, self._with_b = with_w, with_b

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        v = {}
        if self._with_w:
            v["w"] = ones(self._shape, dtype=dtype, device=device)
        if self._with_b:
            v["b"] = zeros(self._shape, dtype=dtype, device=device)
        return v

    def _weights(self) -> dict[str, Any]:
        """The arguments of the function that come from the variables."""
        v = self.v
        weight, bias = v.w if self._with_w else None, v.b if self._with_b else None
        return {"weight": weight, "bias": bias, "epsilon": self._eps}

    def extra_repr(self) -> str:
        return ", ".join([str(n) for n in self._shape])


class LayerNorm(_Norm):
    """Mean 0 and variance 1 over the last axes, of the given shape; then `* w + b`.

    >>> import numpy as np, trellis
    >>> trellis.nn.LayerNorm(2)(np.array([[1.0, 3.0]], "float32")).round(3)
    array([[-1.,  1.]], dtype=float32)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        with_bias: bool = True,
        **options: Unpack[Options],
    ):
        """Layer normalisation.

        Arguments:
            normalized_shape: sizes of the last axes, over which mean and variance are taken
            eps: added to the variance
            elementwise_affine: whether there are `w` and `b`
            with_bias: whether there is `b`
            options: those of `Module`
        """
        with_b = with_bias and elementwise_affine
        self._set(_as_shape(normalized_shape), eps, elementwise_affine, with_b)
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        if not self._with_w:
            _check_shape(self, x, self._shape)
        axes = tuple(range(-len(self._shape), 0))
        return functions.layer_norm(x, axis=axes, **self._weights())


class RMSNorm(_Norm):
    """Root mean square 1 over the last axes, of the given shape; then `* w`.

    >>> import numpy as np, trellis
    >>> trellis.nn.RMSNorm(2)(np.array([[3.0, 4.0]], "float32")).round(3)
    array([[0.849, 1.131]], dtype=float32)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-6,
        elementwise_affine: bool = True,
        **options: Unpack[Options],
    ):
        """Normalisation by the root mean square.

        Arguments:
            normalized_shape: sizes of the last axes, over which the mean is taken
            eps: added to the mean of squares
            elementwise_affine: whether there is `w`
            options: those of `Module`
        """
        self._set(_as_shape(normalized_shape), eps, elementwise_affine, False)
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        if not self._with_w:
            _check_shape(self, x, self._shape)
        axes = tuple(range(-len(self._shape), 0))
        weight = self.v.w if self._with_w else None
        return functions.rms_norm(x, axis=axes, weight=weight, epsilon=self._eps)


class _ChannelNorm(_Norm):
    """What norms of `dims` spatial axes share; `ranks` are the numbers of axes they take."""

    dims: ClassVar[int]
    ranks: ClassVar[tuple[int, ...]]

    def _check_rank(self, x: Array) -> None:
        if len(x.shape) not in self.ranks:
            wanted = " or ".join([str(n) for n in self.ranks])
            raise ShapeError(
                f"{type(self).__name__} expects {wanted} axes, got an array of shape "
                f"{tuple(x.shape)}."
            )


class _BatchNorm(_ChannelNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        data_format: str = "channel_last",
        **options: Unpack[Options],
    ):
        """Batch normalisation.

        Arguments:
            num_features: number of channels
            eps: added to the variance
            momentum: the share of each batch in the running statistics, as in torch; Keras counts
                the share of the old ones instead, 1 - momentum
            affine: whether there are `w` and `b`
            track_running_stats: whether running statistics are kept, for evaluation
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._set((num_features,), eps, affine, affine)
        self._momentum, self._is_tracking = momentum, track_running_stats
        self._axis = 1 if self._is_channel_first(data_format, self.dims) else -1
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        if self._is_tracking:
            self.register_buffer("mean", zeros(self._shape, dtype=dtype, device=device))
            self.register_buffer("var", ones(self._shape, dtype=dtype, device=device))
        return super()._create_variables(device=device, dtype=dtype)

    def _forward(self, x: A) -> A:
        self._check_rank(x)
        options = {**self._weights(), "channel_axis": self._axis}
        if not self._is_tracking:
            blank = zeros_like(moveaxis(x, self._axis, -1)[(*[0] * (len(x.shape) - 1), ...)])
            return functions.batch_norm(x, blank, blank, training=True, **options)[0]
        kept = self.buffers
        if not self.training:
            return functions.batch_norm(x, kept.mean, kept.var, **options)[0]
        y, mean, var = functions.batch_norm(
            x, kept.mean, kept.var, training=True, momentum=self._momentum, **options
        )
        self.register_buffer("mean", mean)
        self.register_buffer("var", var)
        return y


class BatchNorm1D(_BatchNorm):
    """Batch normalisation of (batch, channels) or (batch, width, channels); see `BatchNorm2D`.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.BatchNorm1D(1)
    >>> layer(np.array([[1.0], [3.0]], "float32")).round(3).tolist()
    [[-1.0], [1.0]]
    """

    dims, ranks = 1, (2, 3)


class BatchNorm2D(_BatchNorm):
    """Each channel of (batch, height, width, channels) with mean 0 and variance 1; then `* w + b`.

    In training the statistics are those of the batch, and the buffers `mean` and `var` follow them:
    `(1 - momentum) * old + momentum * new`, with the unbiased variance. In evaluation the buffers
    serve. Inside a compiled function that trains, call the model as `model.apply(v, buffers, x)`,
    which returns the new buffers.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.BatchNorm2D(3)
    >>> layer(np.ones((2, 4, 4, 3), "float32")).shape
    (2, 4, 4, 3)
    >>> layer.buffers.mean
    array([0.1, 0.1, 0.1], dtype=float32)
    """

    dims, ranks = 2, (4,)


class BatchNorm3D(_BatchNorm):
    """Batch normalisation of (batch, depth, height, width, channels); see `BatchNorm2D`."""

    dims, ranks = 3, (5,)


class GroupNorm(_Norm):
    """Each group of channels of each sample with mean 0 and variance 1; then `* w + b`.

    >>> import numpy as np, trellis
    >>> trellis.nn.GroupNorm(2, 4)(np.ones((2, 5, 4), "float32")).shape
    (2, 5, 4)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        channel_axis: int = -1,
        **options: Unpack[Options],
    ):
        """Group normalisation.

        Arguments:
            num_groups: number of groups, a divisor of `num_channels`
            num_channels: number of channels
            eps: added to the variance
            affine: whether there are `w` and `b`
            channel_axis: the axis of the channels
            options: those of `Module`
        """
        if num_groups < 1 or num_channels % num_groups:
            raise ShapeError(
                f"GroupNorm() cannot split {num_channels} channels into {num_groups} equal groups."
            )
        self._set((num_channels,), eps, affine, affine)
        self._num_groups, self._axis = num_groups, channel_axis
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        return functions.group_norm(x, self._num_groups, channel_axis=self._axis, **self._weights())

    def extra_repr(self) -> str:
        return f"{self._num_groups}, {self._shape[0]}"


class _InstanceNorm(_ChannelNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        affine: bool = False,
        data_format: str = "channel_last",
        **options: Unpack[Options],
    ):
        """Instance normalisation.

        Arguments:
            num_features: number of channels
            eps: added to the variance
            affine: whether there are `w` and `b`
            data_format: "channel_last" or "channel_first", or in letters, such as "NHWC"
            options: those of `Module`
        """
        self._set((num_features,), eps, affine, affine)
        self._axis = 1 if self._is_channel_first(data_format, self.dims) else -1
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        self._check_rank(x)
        return functions.instance_norm(x, channel_axis=self._axis, **self._weights())


class InstanceNorm1D(_InstanceNorm):
    """Each channel of each sample of (batch, width, channels) with mean 0 and variance 1."""

    dims, ranks = 1, (3,)


class InstanceNorm2D(_InstanceNorm):
    """Each channel of each sample of (batch, height, width, channels) with mean 0 and variance 1.

    >>> import numpy as np, trellis
    >>> trellis.nn.InstanceNorm2D(3)(np.ones((2, 4, 4, 3), "float32")).shape
    (2, 4, 4, 3)
    """

    dims, ranks = 2, (4,)


class InstanceNorm3D(_InstanceNorm):
    """Each channel of each sample of a batch of volumes with mean 0 and variance 1."""

    dims, ranks = 3, (5,)


# Helpers ------------------------------------------------------------------------------------------


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _check_shape(layer: object, x: Array, shape: tuple[int, ...]) -> None:
    if tuple(x.shape[-len(shape) :]) != shape:
        raise ShapeError(
            f"{type(layer).__name__} expects an array that ends with {shape}, got {tuple(x.shape)}."
        )
