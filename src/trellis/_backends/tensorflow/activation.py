"""Activations: TensorFlow's own where there is one."""

import math
from functools import partial
from typing import Any

import tensorflow as tf

from ..._core.shapes import normal_axes
from . import _portable
from ._helpers import rank
from ._recorded import Backward, recorded
from ._types import Tensor


def relu(x: Tensor, /) -> Any:
    return tf.nn.relu(x) if x.dtype is not tf.bool else tf.identity(x)


def sigmoid(x: Tensor, /) -> Any:
    return tf.sigmoid(x)


def silu(x: Tensor, /) -> Any:
    return x * tf.sigmoid(x)


def softplus(x: Tensor, /) -> Any:
    return tf.nn.softplus(x)


def gelu(x: Tensor, /, *, approximate: bool = False) -> Any:
    return recorded(*(_GELU_BY_TANH if approximate else _GELU), tf.convert_to_tensor(x))


# The derivative is computed together with the value: the backward pass needs nothing else.


def _gelu_and_slope(x: Tensor) -> tuple[Any, Backward]:
    twice = 1 + tf.math.erf(x * math.sqrt(0.5))
    slope = 0.5 * twice + x * (tf.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi)))
    return 0.5 * x * twice, lambda g: [g * slope]


def _gelu_by_tanh_and_slope(x: Tensor) -> tuple[Any, Backward]:
    square = 0.044715 * (x * x)
    y = tf.tanh(math.sqrt(2 / math.pi) * (x * (1 + square)))
    half = 0.5 * x
    inner = (1 + 3 * square) * math.sqrt(2 / math.pi)
    slope = 0.5 * (1 + y) + half * (1 - y * y) * inner
    return half * (1 + y), lambda g: [g * slope]


_GELU = (partial(_portable.gelu, approximate=False), _gelu_and_slope)
_GELU_BY_TANH = (partial(_portable.gelu, approximate=True), _gelu_by_tanh_and_slope)


def elu(x: Tensor, /, *, alpha: float, scale: float) -> Any:
    is_positive = x > 0
    low = tf.math.expm1(tf.minimum(x, 0.0))
    return tf.where(is_positive, scale * x, (scale * alpha) * low)


# oneDNN's kernel, which TensorFlow may choose, raises for more.
MOST_AXES = 5


def softmax(x: Tensor, /, *, axis: Any) -> Any:
    y = raw_softmax(x, axis=axis)
    if not isinstance(axis, int):
        return y
    # oneDNN's kernel leaves nan where it stands and has 0 beside it: the whole row becomes nan.
    total = tf.raw_ops.Sum(input=y, axis=axis, keep_dims=True)
    nothing = tf.raw_ops.StopGradient(input=tf.raw_ops.Sub(x=total, y=total))
    return tf.raw_ops.AddV2(x=y, y=nothing)


def raw_softmax(x: Tensor, /, *, axis: Any) -> Any:
    """Rows with nan are not nan everywhere."""
    if isinstance(axis, int) and rank(x) <= MOST_AXES:
        return tf.nn.softmax(x, axis)
    axes = normal_axes(axis, rank(x))
    parts = tf.exp(x - tf.stop_gradient(tf.reduce_max(x, axes, True)))
    return parts / tf.reduce_sum(parts, axes, True)


def log_softmax(x: Tensor, /, *, axis: Any) -> Any:
    if isinstance(axis, int) and rank(x) <= MOST_AXES:
        return tf.nn.log_softmax(x, axis)
    return x - tf.reduce_logsumexp(x, normal_axes(axis, rank(x)), True)


_INDEX_DTYPES = (tf.int64, tf.int32)


def class_losses(logits: Tensor, targets: Tensor, /, *, axis: int, reduction: str) -> Any:
    """Cross entropy of class indices in one kernel; None where it does not apply."""
    if axis != len(logits.shape) - 1 or targets.dtype not in _INDEX_DTYPES:
        return None
    if "CPU" not in logits.device and not tf.inside_function():
        return None  # other devices return nan for a target out of range
    try:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
    except tf.errors.InvalidArgumentError:
        return None
    if reduction == "none":
        return losses
    return tf.reduce_sum(losses) if reduction == "sum" else tf.reduce_mean(losses)
