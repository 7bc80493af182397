"""Normalisation. Data are channel last unless `data_format` says otherwise."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ..._array.creation import ones, zeros, zeros_like
from ..._array.manipulation import moveaxis
from ..._core.errors import ArgumentError, ShapeError
from ..._core.typing import A, Device, DTypeLike
from ...functional import normalization as functions
from .layer import Layer


class LayerNorm(Layer):
    """Mean 0 and variance 1 over the last axes, of the given shape; then `* w + b`.

    >>> import numpy as np, trellis
    >>> trellis.nn.LayerNorm(2)(np.array([[1.0, 3.0]], "float32")).round(3)
    array([[-1.,  1.]], dtype=float32)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        /,
        *,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        with_bias: bool = True,
        **options: Any,
    ):
        self._shape = _as_shape(normalized_shape)
        self._axes = tuple(range(-len(self._shape), 0))
        self._eps, self._with_w = eps, elementwise_affine
        self._with_b = with_bias and elementwise_affine
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        return _affine(self._shape, self._with_w, self._with_b, device, dtype)

    def _forward(self, x: A) -> A:
        v = self.v
        weight, bias = v.w if self._with_w else None, v.b if self._with_b else None
        if not self._with_w:
            _check_shape(self, x, self._shape)
        return functions.layer_norm(x, axis=self._axes, weight=weight, bias=bias, epsilon=self._eps)

    def extra_repr(self) -> str:
        return ", ".join([str(n) for n in self._shape])


class RMSNorm(Layer):
    """Root mean square 1 over the last axes, of the given shape; then `* w`.

    >>> import numpy as np, trellis
    >>> trellis.nn.RMSNorm(2)(np.array([[3.0, 4.0]], "float32")).round(3)
    array([[0.849, 1.131]], dtype=float32)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        /,
        *,
        eps: float = 1e-6,
        elementwise_affine: bool = True,
        **options: Any,
    ):
        self._shape = _as_shape(normalized_shape)
        self._axes = tuple(range(-len(self._shape), 0))
        self._eps, self._with_w = eps, elementwise_affine
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        return _affine(self._shape, self._with_w, False, device, dtype)

    def _forward(self, x: A) -> A:
        if not self._with_w:
            _check_shape(self, x, self._shape)
        weight = self.v.w if self._with_w else None
        return functions.rms_norm(x, axis=self._axes, weight=weight, epsilon=self._eps)

    def extra_repr(self) -> str:
        return ", ".join([str(n) for n in self._shape])


class _BatchNorm(Layer):
    """What the three batch norms share; `dims` are the ranks they take."""

    dims: ClassVar[tuple[int, ...]]
    formats: ClassVar[dict[str, int]]

    def __init__(
        self,
        num_features: int,
        /,
        *,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        data_format: str | None = None,
        **options: Any,
    ):
        self._num_features, self._eps, self._momentum = num_features, eps, momentum
        self._is_affine, self._is_tracking = affine, track_running_stats
        self._axis = _channel_axis(self, data_format)
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        shape = (self._num_features,)
        if self._is_tracking:
            self.register_buffer("mean", zeros(shape, dtype=dtype, device=device))
            self.register_buffer("var", ones(shape, dtype=dtype, device=device))
        return _affine(shape, self._is_affine, self._is_affine, device, dtype)

    def _forward(self, x: A) -> A:
        _check_rank(self, x, self.dims)
        v = self.v
        options: dict[str, Any] = {
            "weight": v.w if self._is_affine else None, "bias": v.b if self._is_affine else None,
            "epsilon": self._eps, "channel_axis": self._axis,
        }  # fmt: skip
        if not self._is_tracking:
            blank = zeros_like(moveaxis(x, self._axis, -1)[(0,) * (len(x.shape) - 1)])
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

    def extra_repr(self) -> str:
        return str(self._num_features)


class BatchNorm1D(_BatchNorm):
    """Batch normalisation of (batch, channels) or (batch, width, channels); see `BatchNorm2D`.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.BatchNorm1D(1)
    >>> layer(np.array([[1.0], [3.0]], "float32")).round(3).tolist()
    [[-1.0], [1.0]]
    """

    dims = (2, 3)
    formats: ClassVar[dict[str, int]] = {"NWC": -1, "NCW": 1}


class BatchNorm2D(_BatchNorm):
    """Each channel of (batch, height, width, channels) with mean 0 and variance 1; then `* w + b`.

    In training the statistics are those of the batch, and the buffers `mean` and `var` follow them:
    `(1 - momentum) * old + momentum * new`, with the unbiased variance. In evaluation the buffers serve. Inside
    a compiled function that trains, call the model as `model.apply(v, buffers, x)`, which returns the new
    buffers.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.BatchNorm2D(3)
    >>> layer(np.ones((2, 4, 4, 3), "float32")).shape
    (2, 4, 4, 3)
    >>> layer.buffers.mean
    array([0.1, 0.1, 0.1], dtype=float32)
    """

    dims = (4,)
    formats: ClassVar[dict[str, int]] = {"NHWC": -1, "NCHW": 1}


class BatchNorm3D(_BatchNorm):
    """Batch normalisation of (batch, depth, height, width, channels); see `BatchNorm2D`."""

    dims = (5,)
    formats: ClassVar[dict[str, int]] = {"NDHWC": -1, "NCDHW": 1}


class GroupNorm(Layer):
    """Each group of channels of each sample with mean 0 and variance 1; then `* w + b`.

    >>> import numpy as np, trellis
    >>> trellis.nn.GroupNorm(2, 4)(np.ones((2, 5, 4), "float32")).shape
    (2, 5, 4)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        /,
        *,
        eps: float = 1e-5,
        affine: bool = True,
        channel_axis: int = -1,
        **options: Any,
    ):
        if num_groups < 1 or num_channels % num_groups:
            raise ShapeError(
                f"GroupNorm() cannot split {num_channels} channels into {num_groups} equal groups."
            )
        self._sizes, self._eps = (num_groups, num_channels), eps
        self._is_affine, self._axis = affine, channel_axis
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        return _affine((self._sizes[1],), self._is_affine, self._is_affine, device, dtype)

    def _forward(self, x: A) -> A:
        v = self.v
        return functions.group_norm(
            x,
            self._sizes[0],
            weight=v.w if self._is_affine else None,
            bias=v.b if self._is_affine else None,
            epsilon=self._eps,
            channel_axis=self._axis,
        )

    def extra_repr(self) -> str:
        return f"{self._sizes[0]}, {self._sizes[1]}"


class _InstanceNorm(Layer):
    """Each channel of each sample with mean 0 and variance 1 over its positions; `affine` adds `* w + b`."""

    dims: ClassVar[tuple[int, ...]]
    formats: ClassVar[dict[str, int]]

    def __init__(
        self,
        num_features: int,
        /,
        *,
        eps: float = 1e-5,
        affine: bool = False,
        data_format: str | None = None,
        **options: Any,
    ):
        self._num_features, self._eps, self._is_affine = num_features, eps, affine
        self._axis = _channel_axis(self, data_format)
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        return _affine((self._num_features,), self._is_affine, self._is_affine, device, dtype)

    def _forward(self, x: A) -> A:
        _check_rank(self, x, self.dims)
        v = self.v
        return functions.instance_norm(
            x,
            weight=v.w if self._is_affine else None,
            bias=v.b if self._is_affine else None,
            epsilon=self._eps,
            channel_axis=self._axis,
        )

    def extra_repr(self) -> str:
        return str(self._num_features)


class InstanceNorm1D(_InstanceNorm):
    """Each channel of each sample of (batch, width, channels) with mean 0 and variance 1."""

    dims = (3,)
    formats: ClassVar[dict[str, int]] = {"NWC": -1, "NCW": 1}


class InstanceNorm2D(_InstanceNorm):
    """Each channel of each sample of (batch, height, width, channels) with mean 0 and variance 1.

    >>> import numpy as np, trellis
    >>> trellis.nn.InstanceNorm2D(3)(np.ones((2, 4, 4, 3), "float32")).shape
    (2, 4, 4, 3)
    """

    dims = (4,)
    formats: ClassVar[dict[str, int]] = {"NHWC": -1, "NCHW": 1}


class InstanceNorm3D(_InstanceNorm):
    """Each channel of each sample of (batch, depth, height, width, channels) with mean 0 and variance 1."""

    dims = (5,)
    formats: ClassVar[dict[str, int]] = {"NDHWC": -1, "NCDHW": 1}


# Helpers -------------------------------------------------------------------------------------------------


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _affine(
    shape: tuple[int, ...], with_w: bool, with_b: bool, device: Device, dtype: DTypeLike
) -> dict[str, Any]:
    v = {}
    if with_w:
        v["w"] = ones(shape, dtype=dtype, device=device)
    if with_b:
        v["b"] = zeros(shape, dtype=dtype, device=device)
    return v


def _channel_axis(layer: Any, data_format: str | None) -> int:
    formats: dict[str, int] = layer.formats
    if data_format is None:
        return -1
    if data_format not in formats:
        raise ArgumentError(
            f"{type(layer).__name__}() knows the data_formats {' and '.join(formats)}, got {data_format!r}."
        )
    return formats[data_format]


def _check_rank(layer: Any, x: Any, dims: tuple[int, ...]) -> None:
    if len(x.shape) not in dims:
        wanted = " or ".join([str(n) for n in dims])
        raise ShapeError(
            f"{type(layer).__name__} expects {wanted} axes, got an array of shape {tuple(x.shape)}."
        )


def _check_shape(layer: Any, x: Any, shape: tuple[int, ...]) -> None:
    if tuple(x.shape[-len(shape) :]) != shape:
        raise ShapeError(
            f"{type(layer).__name__} expects an array that ends with {shape}, got {tuple(x.shape)}."
        )
