"""Sums, products, extremes and statistics along axes."""

import math
from typing import Any

import tensorflow as tf

from ..._core.errors import ShapeError
from ..._core.shapes import normal_axes, normal_axis, only_axis
from ._helpers import (
    COMPLEX,
    FLOAT32,
    INEXACT,
    SIGNED,
    UNSIGNED,
    cast,
    floating,
    move,
    rank,
    reduced_axes,
    sizes,
    tensor,
    truth,
)
from ._types import Tensor
from .casting import as_dtype, astype

# As in elementwise.py: without the layers of Python above the kernels.
_raw = tf.raw_ops


def _widened(x: Tensor, dtype: Any) -> Any:
    """Sums and products of integers are counted in 64 bits."""
    if dtype is not None:
        return astype(x, as_dtype(dtype), copy=False)
    if x.dtype in UNSIGNED:
        return cast(x, tf.uint64)
    if x.dtype in SIGNED or x.dtype is tf.bool:
        return cast(x, tf.int64)
    return tensor(x)


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    if dtype is not None or x.dtype is not FLOAT32:
        x = _widened(x, dtype)
    return _raw.Sum(input=x, axis=reduced_axes(axis, rank(x)), keep_dims=keepdims)


def _axis(axis: Any, x: Tensor) -> Any:
    return None if axis is None else reduced_axes(axis, rank(x))


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    x = _widened(x, dtype)
    if x.dtype not in INEXACT:
        return tf.reduce_prod(x, _axis(axis, x), keepdims)
    # One axis at the end, so that the gradient below needs to know only that one.
    axes = normal_axes(axis, rank(x))
    kept = [i for i in range(rank(x)) if i not in axes]
    shape = sizes(x)
    rows = tf.transpose(x, [*kept, *axes])
    count = 1
    for a in axes:
        count = count * shape[a]
    result = _row_product(tf.reshape(rows, [shape[i] for i in kept] + [count]))
    if keepdims:
        return tf.reshape(result, [1 if i in axes else n for i, n in enumerate(shape)])
    return result


@tf.custom_gradient
def _row_product(x: Tensor) -> Any:
    """The product of the last axis. TensorFlow's second derivative divides by x: NaN where x is
    zero.
    """

    def grad(upstream: Tensor) -> Any:
        before, after = _running_product(x, True, False), _running_product(x, True, True)
        return upstream[..., None] * tf.math.conj(before * after)

    return tf.reduce_prod(x, -1), grad


def _running_product(x: Tensor, exclusive: bool, reverse: bool) -> Any:
    """tf.math.cumprod of the last axis with a gradient that does not divide by x."""

    @tf.custom_gradient
    def product(x: Tensor) -> Any:
        def grad(upstream: Tensor) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = _doubling_product(x, exclusive, reverse)
            return tape.gradient(y, x, upstream)

        return tf.math.cumprod(x, -1, exclusive, reverse), grad

    return product(x)


def _doubling_product(x: Tensor, exclusive: bool, reverse: bool) -> Any:
    """The running product in log2(n) multiplications of shifted copies."""
    if reverse:
        x = tf.reverse(x, [-1])
    count = x.shape[-1]
    if count is None:
        raise ShapeError(
            "The gradient of a running product needs an axis whose size is known while tracing."
        )
    if exclusive:
        x = _shifted(x, 1)
    step = 1
    while step < count:
        x = x * _shifted(x, step)
        step *= 2
    return tf.reverse(x, [-1]) if reverse else x


def _shifted(x: Tensor, step: int) -> Any:
    """Shift to the right, with ones coming in."""
    return tf.concat([tf.ones_like(x[..., :step]), x[..., :-step]], -1)


def _refuse_nothing(name: str, x: Tensor, axes: Any) -> None:
    """No element is the largest of none; TensorFlow answers with an infinity."""
    if x.shape.rank is None or 0 not in x.shape.as_list():
        return
    for axis in normal_axes(axes, x.shape.rank):
        if x.shape[axis] == 0:
            raise ShapeError(f"{name}() over axis {axis} of length 0 has no element to choose.")


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if x.dtype is tf.bool:
        return tf.reduce_any(x, _axis(axis, x), keepdims)
    axes = _axis(axis, x)
    _refuse_nothing("max", x, axes)
    return tf.reduce_max(x, axes, keepdims)


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if x.dtype is tf.bool:
        return tf.reduce_all(x, _axis(axis, x), keepdims)
    axes = _axis(axis, x)
    _refuse_nothing("min", x, axes)
    return tf.reduce_min(x, axes, keepdims)


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    axes = reduced_axes(axis, rank(x))
    y = _raw.Mean(input=x, axis=axes, keep_dims=keepdims)
    # Of nothing the kernel answers 0 for complex numbers.
    return y if x.dtype not in COMPLEX else y + _nothing(x, axes, keepdims)


def _nothing(x: Tensor, axes: Any, keepdims: bool) -> Any:
    """nan where no element is reduced, 0 elsewhere."""
    count = _raw.Sum(input=tf.ones_like(x, x.dtype.real_dtype), axis=axes, keep_dims=keepdims)
    zero = tf.zeros_like(count)
    nan = tf.where(tf.equal(count, 0), zero / zero, zero)
    return tf.complex(nan, nan)


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    x = floating(x)
    axes = normal_axes(axis, rank(x))
    distance = tf.abs(x - tf.reduce_mean(x, axes, True)) if x.dtype in COMPLEX else None
    squares = tf.square(x - tf.reduce_mean(x, axes, True) if distance is None else distance)
    shape = sizes(x)
    count = 1
    for a in axes:
        count = count * shape[a]
    total = tf.reduce_sum(squares, axes, keepdims)
    divisor = tf.cast(count, total.dtype) - tf.cast(correction, total.dtype)
    # The standard's answer where there are too few elements.
    return total / tf.where(divisor > 0, divisor, tf.cast(math.nan, divisor.dtype))


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return tf.reduce_all(truth(x), _axis(axis, x), keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return tf.reduce_any(truth(x), _axis(axis, x), keepdims)


def logsumexp(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    if x.dtype not in COMPLEX:
        return tf.reduce_logsumexp(x, _axis(axis, x), keepdims)
    axes = _axis(axis, x)
    peak = tf.stop_gradient(tf.reduce_max(tf.math.real(x), axes, True))
    peak = tf.where(tf.math.is_finite(peak), peak, tf.zeros_like(peak))
    high = tf.cast(peak, x.dtype)
    total = tf.math.log(tf.reduce_sum(tf.exp(x - high), axes, keepdims))
    return total + (high if keepdims else tf.reshape(high, sizes(total)))


# Running totals -----------------------------------------------------------------------------------


def _running_axis(x: Tensor, axis: int | None, function: str) -> tuple[Any, int]:
    if axis is None:
        return tf.reshape(x, [-1]), only_axis(function, rank(x))
    return x, normal_axis(axis, rank(x))


def _with_initial(total: Any, axis: int, initial: Any) -> Any:
    shape = [1 if i == axis else n for i, n in enumerate(sizes(total))]
    return tf.concat([tf.fill(shape, tf.cast(initial, total.dtype)), total], axis)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    x, axis = _running_axis(_widened(x, dtype), axis, "cumulative_sum")
    total = tf.cumsum(x, axis)
    return _with_initial(total, axis, 0) if include_initial else total


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    x, axis = _running_axis(_widened(x, dtype), axis, "cumulative_prod")
    if x.dtype in INEXACT:
        total = move(_running_product(move(x, axis, -1), False, False), -1, axis)
    else:
        total = tf.math.cumprod(x, axis)
    return _with_initial(total, axis, 1) if include_initial else total
