"""Finding elements and choosing between them."""

from typing import Any

import tensorflow as tf

from ..._core.errors import ShapeError
from ..._core.guards import not_bools
from ..._core.shapes import normal_axis
from ._helpers import (
    FLOATING,
    SCALARS,
    default_complex,
    default_float,
    move,
    pair,
    rank,
    sizes,
    sort_key,
    tensor,
)
from ._types import Tensor


def _extreme(find: Any, x: Tensor, axis: int | None, keepdims: bool) -> Any:
    x = tensor(x)
    shape = [1] * rank(x)
    if axis is None:
        x, place = tf.reshape(x, [-1]), 0
    else:
        place = normal_axis(axis, rank(x))
    if x.dtype is tf.bool:
        x = tf.cast(x, tf.uint8)
    if x.shape[place] == 0:
        raise ShapeError(
            "argmax() and argmin() of nothing: the array has no element along the axis."
        )
    found = find(x, place)
    if x.dtype in FLOATING:
        # The first NaN wins, as on the other frameworks; TensorFlow passes over them.
        nan = tf.math.is_nan(x)
        found = tf.where(tf.reduce_any(nan, place), tf.argmax(tf.cast(nan, tf.uint8), place), found)
    if not keepdims:
        return found
    return tf.reshape(found, shape) if axis is None else tf.expand_dims(found, place)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return _extreme(tf.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return _extreme(tf.argmin, x, axis, keepdims)


def _nonzero(x: Tensor) -> Any:
    return tf.convert_to_tensor(x) if x.dtype is tf.bool else tf.not_equal(x, tf.zeros([], x.dtype))


def nonzero(x: Tensor, /) -> tuple[Any, ...]:
    if rank(x) == 0:
        raise ShapeError(
            "nonzero() of a 0-d array has no axis to count along. Reshape it to (1,) first."
        )
    return tuple(tf.unstack(tf.where(_nonzero(x)), num=rank(x), axis=1))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    x1, x2 = pair(x1, x2)
    if sorter is not None:
        x1 = tf.gather(x1, sorter)
    # Keys put NaN at the end, where sort() leaves it.
    keys, values = sort_key(x1), sort_key(x2)
    # tf.searchsorted cannot tell how many rows there are if there is nothing to search for.
    bound = tf.raw_ops.LowerBound if side == "left" else tf.raw_ops.UpperBound
    found = bound(sorted_inputs=keys[None], values=tf.reshape(values, [1, -1]), out_type=tf.int64)
    return tf.reshape(found, sizes(x2))


def where(condition: Tensor, x1: Any, x2: Any, /) -> Any:
    if isinstance(x1, SCALARS) and isinstance(x2, SCALARS):
        x1, x2 = pair(_of_number(x1), _of_number(x2))
    else:
        x1, x2 = pair(x1, x2)
    if condition.dtype is not tf.bool:
        raise not_bools(condition.dtype.name)
    return tf.where(condition, x1, x2)


def _of_number(value: Any) -> Any:
    if isinstance(value, (bool, int)):
        return tf.constant(value, tf.bool if isinstance(value, bool) else tf.int64)
    return tf.constant(value, default_float() if isinstance(value, float) else default_complex())


def topk(x: Tensor, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """The k largest (or smallest) values in order, and where they stand; ties by lower index."""
    x = tensor(x)
    axis = normal_axis(axis, rank(x))
    x = move(x, axis, -1)
    key = sort_key(x)
    indices = tf.math.top_k(
        key if largest else tf.bitwise.invert(key), k, index_type=tf.int64
    ).indices
    values = tf.gather(x, indices, batch_dims=rank(x) - 1)
    return move(values, -1, axis), move(indices, -1, axis)
