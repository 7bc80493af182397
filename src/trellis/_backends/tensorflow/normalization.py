"""Layer normalisation by its formula, for which TensorFlow has no kernel; batches by the kernel."""

from typing import Any

import tensorflow as tf

from ._recorded import Backward, recorded
from ._types import Tensor


def layer_norm(
    x: Tensor, weight: Any, bias: Any, /, *, axes: tuple[int, ...], epsilon: float
) -> Any:
    """Mean 0 and variance 1 along `axes`, then times weight plus bias, whose axes are those."""
    x = tf.convert_to_tensor(x)
    affine = [None if p is None else tf.convert_to_tensor(p) for p in (weight, bias)]
    sizes = [] if weight is None and bias is None else [x.shape[axis] for axis in axes]
    shape = [sizes.pop(0) if i in axes and sizes else 1 for i in range(len(x.shape))]
    others = [i for i in range(len(x.shape)) if i not in axes]

    def formula(x: Tensor, *given: Any) -> Any:
        return _scaled(_normal(x, axes, epsilon)[0], given)

    def forward(x: Tensor, *given: Any) -> tuple[Any, Backward]:
        normal, factor = _normal(x, axes, epsilon)

        def backward(g: Tensor) -> list[Any]:
            found = []
            if weight is not None:
                found.append(tf.reduce_sum(g * normal, others))
            if bias is not None:
                found.append(tf.reduce_sum(g, others))
            h = g if weight is None else g * tf.reshape(given[0], shape)
            along = normal * tf.reduce_mean(h * normal, axes, True)
            return [(h - tf.reduce_mean(h, axes, True) - along) * factor, *found]

        return _scaled(normal, given), backward

    def _scaled(y: Tensor, given: tuple[Any, ...]) -> Any:
        y = y if weight is None else y * tf.reshape(given[0], shape)
        return y if bias is None else y + tf.reshape(given[-1], shape)

    return recorded(formula, forward, x, *[p for p in affine if p is not None])


def _normal(x: Tensor, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any]:
    """Mean 0 and variance 1, and the factor that made it 1."""
    # Two passes: what the rounded mean leaves is subtracted again.
    away = x - tf.stop_gradient(tf.reduce_mean(x, axes, True))
    away = away - tf.reduce_mean(away, axes, True)
    factor = tf.math.rsqrt(tf.reduce_mean(away * away, axes, True) + epsilon)
    return away * factor, factor


def batch_norm(x: Tensor, weight: Any, bias: Any, /, *, channel: int, epsilon: float) -> Any:
    """Mean 0 and variance 1 for each channel, then times weight plus bias; and the moments."""
    rank = len(x.shape)
    if x.dtype is not tf.float32 or channel != rank - 1 or _has_gpu or x.shape[-1] is None:
        return None
    x, channels = tf.convert_to_tensor(x), x.shape[-1]
    weight = tf.ones(channels) if weight is None else tf.convert_to_tensor(weight)
    bias = tf.zeros(channels) if bias is None else tf.convert_to_tensor(bias)
    moments = []  # type: ignore[var-annotated]

    def formula(x: Tensor, weight: Any, bias: Any) -> Any:
        y, mean, variance, *_ = _fused(_near_zero(x, tf.stop_gradient(_first(x))), weight, bias)
        moments[:] = tf.stop_gradient(mean), tf.stop_gradient(variance), _first(x)
        return y if rank == 4 else tf.reshape(y, tf.shape(x))

    def forward(x: Tensor, weight: Any, bias: Any) -> tuple[Any, Backward]:
        first = _first(x)
        images, shape = _near_zero(x, first), None if rank == 4 else tf.shape(x)
        y, mean, variance, *kept = _fused(images, weight, bias)
        moments[:] = mean, variance, first

        def backward(g: Tensor) -> list[Any]:
            g = g if rank == 4 else tf.reshape(g, [-1, 1, 1, channels])
            by_x, by_weight, by_bias, *_ = tf.raw_ops.FusedBatchNormGradV3(
                y_backprop=g,
                x=images,
                scale=weight,
                reserve_space_1=kept[0],
                reserve_space_2=kept[1],
                reserve_space_3=kept[2],
                epsilon=epsilon,
            )
            return [by_x if rank == 4 else tf.reshape(by_x, shape), by_weight, by_bias]

        return y if rank == 4 else tf.reshape(y, shape), backward

    def _first(x: Tensor) -> Any:
        return tf.slice(x, [0] * rank, [1] * channel + [channels])

    # The kernel's mean is rounded: far from zero that costs digits. Any element is near enough to
    # the mean of its channel to take its place.
    def _near_zero(x: Tensor, first: Any) -> Any:
        away = x - first
        return away if rank == 4 else tf.reshape(away, [-1, 1, 1, channels])

    def _fused(images: Any, weight: Any, bias: Any) -> Any:
        return tf.raw_ops.FusedBatchNormV3(
            x=images, scale=weight, offset=bias, mean=[], variance=[], epsilon=epsilon
        )

    y = recorded(formula, forward, x, weight, bias)
    mean, variance, first = moments
    return y, mean + tf.stop_gradient(tf.reshape(first, [-1])), variance


# There the kernel has a least epsilon, and formats of its own.
_has_gpu = bool(tf.config.list_physical_devices("GPU"))
