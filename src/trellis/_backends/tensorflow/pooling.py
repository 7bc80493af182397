"""Maxima over windows: TensorFlow's kernel where it is right."""

import sys
from typing import Any

import tensorflow as tf

from ..shared.windows import WindowSpec, max_over_windows
from ._private import is_recording
from ._types import Tensor


def max_pool(x: Tensor, spec: WindowSpec, *, indices: bool) -> tuple[Any, Any]:
    """Maxima and, if asked for, their positions in the input plane."""

    def in_steps() -> Any:
        return max_over_windows(sys.modules[__package__], x, spec, indices)

    if indices or not is_recording() or not _fits(x, spec):
        return in_steps()
    # The kernel passes over nan, and the maximum of -inf is the lowest number to it. The sum is
    # finite only where there are none of them.
    is_plain = tf.math.is_finite(tf.reduce_sum(x))
    return tf.cond(is_plain, lambda: _by_kernel(x, spec), lambda: in_steps()[0]), None


def _fits(x: Tensor, spec: WindowSpec) -> bool:
    """Whether there is a kernel, and every window sees a number."""
    sizes = x.shape[1:-1]
    if spec.channel_first or max(spec.dilations) > 1 or len(sizes) > 3 or x.dtype != tf.float32:
        return False
    if not x.shape[1:].is_fully_defined() or 0 in x.shape:
        return False
    for size, window, stride, (low, high) in zip(sizes, *spec[:3], strict=True):
        last = (size + low + high - window) // stride * stride
        if low >= window or last >= low + size:
            return False
    return True


def _by_kernel(x: Tensor, spec: WindowSpec) -> Any:
    if any([max(pair) > 0 for pair in spec.padding]):
        x = tf.pad(x, [(0, 0), *spec.padding, (0, 0)], constant_values=float("-inf"))
    if len(spec.window) == 1:
        y = tf.nn.max_pool2d(tf.expand_dims(x, 1), (1, *spec.window), (1, *spec.strides), "VALID")
        return tf.squeeze(y, 1)
    kernel = tf.nn.max_pool2d if len(spec.window) == 2 else tf.nn.max_pool3d
    return kernel(x, spec.window, spec.strides, "VALID")
