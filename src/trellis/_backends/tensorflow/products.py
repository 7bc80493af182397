"""Products of matrices and contractions."""

from typing import Any

import tensorflow as tf

from ..._core.errors import ShapeError
from ..._core.shapes import check_lengths, normal_axes, normal_axis
from ._helpers import COMPLEX, FLOAT32, common, move, pair, rank
from ._types import Tensor

# Types without a kernel for contractions, and the type they wrap around in alike.
_WIDER = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.int32,
    tf.uint16: tf.int32,
    tf.uint32: tf.int64,
    tf.uint64: tf.int64,
}


def matmul(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    dtype = x1.dtype
    if dtype is not FLOAT32 and dtype in _WIDER:
        wide = _WIDER[dtype]
        return tf.cast(matmul(tf.cast(x1, wide), tf.cast(x2, wide)), x1.dtype)
    first, second = rank(x1), rank(x2)
    if first == 2 and second == 2:
        return tf.raw_ops.MatMul(a=x1, b=x2)  # without the layers of Python above it
    if first == 0 or second == 0:
        raise ShapeError(
            "matmul() expects arrays with at least one axis. Use multiply() for 0-d arrays."
        )
    if first == 1:
        x1 = tf.expand_dims(x1, 0)
    if second == 1:
        x2 = tf.expand_dims(x2, 1)
    result = tf.matmul(x1, x2)
    if first == 1 and second == 1:
        return tf.squeeze(result, [-2, -1])
    if first == 1:
        return tf.squeeze(result, [-2])
    return tf.squeeze(result, [-1]) if second == 1 else result


def matrix_transpose(x: Tensor, /) -> Any:
    if rank(x) < 2:
        raise ShapeError(f"matrix_transpose() expects at least two axes, got {rank(x)}.")
    return tf.linalg.matrix_transpose(x)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    x1, x2 = pair(x1, x2)
    if not isinstance(axes, int):
        axes = [normal_axes(tuple(axes[0]), rank(x1)), normal_axes(tuple(axes[1]), rank(x2))]
    if x1.dtype in _WIDER:
        wide = _WIDER[x1.dtype]
        return tf.cast(tf.tensordot(tf.cast(x1, wide), tf.cast(x2, wide), axes), x1.dtype)
    return tf.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = pair(x1, x2)
    if x1.dtype in COMPLEX:
        x1 = tf.math.conj(x1)
    first, second = normal_axis(axis, rank(x1)), normal_axis(axis, rank(x2))
    x1, x2 = move(x1, first, -1), move(x2, second, -1)
    check_lengths("vecdot", "vectors", x1.shape[-1], x2.shape[-1])
    if x1.dtype.is_bool:
        return tf.reduce_any(x1 & x2, -1)
    return tf.reduce_sum(x1 * x2, -1)


def einsum(subscripts: str, /, *xs: Any) -> Any:
    xs = tuple(common(xs))
    dtype = xs[0].dtype
    inputs, _, output = subscripts.partition("->")
    if "..." in inputs and "->" in subscripts and "..." not in output:
        # Axes that the output does not name are summed, those of an ellipsis too.
        y = einsum(f"{inputs}->...{output}", *xs)
        return tf.reduce_sum(y, list(range(rank(y) - len(output.replace(" ", "")))))
    if dtype in _WIDER:
        wide = _WIDER[dtype]
        return tf.cast(tf.einsum(subscripts, *[tf.cast(x, wide) for x in xs]), dtype)
    return tf.einsum(subscripts, *xs)
