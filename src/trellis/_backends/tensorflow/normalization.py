"""Layer normalisation by its formula; TensorFlow has no kernel for it."""

from typing import Any

import tensorflow as tf

from ..exports import hand_on


def layer_norm(x: Any, weight: Any, bias: Any, /, *, axes: tuple[int, ...], epsilon: float) -> Any:
    """Mean 0 and variance 1 along `axes`, then times weight plus bias, whose axes are those."""
    # Two passes: what the rounded mean leaves is subtracted again.
    away = x - tf.stop_gradient(tf.reduce_mean(x, axes, True))
    away = away - tf.reduce_mean(away, axes, True)
    y = away * tf.math.rsqrt(tf.reduce_mean(away * away, axes, True) + epsilon)
    sizes = (
        [] if weight is None and bias is None else list((bias if weight is None else weight).shape)
    )
    shape = [sizes.pop(0) if i in axes and sizes else 1 for i in range(len(x.shape))]
    y = y if weight is None else y * tf.reshape(weight, shape)
    return y if bias is None else y + tf.reshape(bias, shape)


hand_on(globals())
