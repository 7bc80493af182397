"""Dense layers by one matrix product."""

from typing import Any

import tensorflow as tf

from ._types import Tensor


def linear(x: Tensor, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` for a weight of two axes (out, in)."""
    x, weight = tf.convert_to_tensor(x), tf.convert_to_tensor(weight)
    dtype = x.dtype
    if dtype.is_bool:
        arrays = [None if a is None else tf.cast(a, tf.int64) for a in (x, weight, bias)]
        return tf.cast(linear(*arrays), dtype)
    if dtype.is_integer and dtype not in (tf.int32, tf.int64):
        # MatMul has no kernels for these; int64 wraps around to the same result.
        x, weight = tf.cast(x, tf.int64), tf.cast(weight, tf.int64)
    if dtype.is_floating and dtype.size < 4:
        # Sums in float32, those of the gradients too.
        x, weight = tf.cast(x, tf.float32), tf.cast(weight, tf.float32)
        bias = None if bias is None else tf.cast(bias, tf.float32)
        return tf.cast(linear(x, weight, bias), dtype)
    is_flat = x.shape.rank == 2
    rows = x if is_flat else tf.reshape(x, [-1, weight.shape[1]])
    y = tf.cast(tf.matmul(rows, weight, transpose_b=True), dtype)
    if bias is not None:
        # Its gradient is one operation; that of a broadcast sum is five.
        y = tf.nn.bias_add(y, bias) if dtype.is_floating else y + bias
    if is_flat:
        return y
    shape = [*x.shape[:-1], weight.shape[0]]
    if None not in shape:
        return tf.reshape(y, shape)
    y = tf.reshape(y, tf.concat([tf.shape(x)[:-1], weight.shape[:1]], 0))
    y.set_shape(shape)  # says it to the tracer; an operation that checks would stay in the graph
    return y
