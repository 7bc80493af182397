"""Finding elements and choosing between them."""

from typing import Any

import tensorflow as tf

from ..._core.errors import ShapeError
from ..._core.shapes import normal_axes, normal_axis
from . import _helpers as _h

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "topk",
    "where",
]


def _extreme(find: Any, x: Any, axis: int | None, keepdims: bool) -> Any:
    x = _h.tensor(x)
    shape = [1] * _h.rank(x)
    if axis is None:
        x, place = tf.reshape(x, [-1]), 0
    else:
        place = normal_axis(axis, _h.rank(x))
    if x.dtype is tf.bool:
        x = tf.cast(x, tf.uint8)
    if x.shape[place] == 0:
        raise ShapeError(
            "argmax() and argmin() of nothing: the array has no element along the axis."
        )
    found = find(x, place)
    if x.dtype in _h.FLOATING:
        # The first NaN wins, as on the other frameworks; TensorFlow passes over them.
        nan = tf.math.is_nan(x)
        found = tf.where(tf.reduce_any(nan, place), tf.argmax(tf.cast(nan, tf.uint8), place), found)
    if not keepdims:
        return found
    return tf.reshape(found, shape) if axis is None else tf.expand_dims(found, place)


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return _extreme(tf.argmax, x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return _extreme(tf.argmin, x, axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = None if axis is None else normal_axes(axis, _h.rank(x))
    return tf.reduce_sum(tf.cast(_nonzero(x), tf.int64), axes, keepdims)


def _nonzero(x: Any) -> Any:
    return tf.convert_to_tensor(x) if x.dtype is tf.bool else tf.not_equal(x, tf.zeros([], x.dtype))


def nonzero(x: Any, /) -> tuple[Any, ...]:
    if _h.rank(x) == 0:
        raise ShapeError(
            "nonzero() of a 0-d array has no axis to count along. Reshape it to (1,) first."
        )
    return tuple(tf.unstack(tf.where(_nonzero(x)), num=_h.rank(x), axis=1))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    x1, x2 = _h.pair(x1, x2)
    if sorter is not None:
        x1 = tf.gather(x1, sorter)
    # Keys put NaN at the end, where sort() leaves it.
    keys, values = _h.sort_key(x1), _h.sort_key(x2)
    found = tf.searchsorted(keys, tf.reshape(values, [-1]), side=side, out_type=tf.int64)
    return tf.reshape(found, _h.sizes(x2))


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    if isinstance(x1, _h.SCALARS) and isinstance(x2, _h.SCALARS):
        x1, x2 = _h.pair(_of_number(x1), _of_number(x2))
    else:
        x1, x2 = _h.pair(x1, x2)
    return tf.where(tf.cast(condition, tf.bool), x1, x2)


def _of_number(value: Any) -> Any:
    if isinstance(value, (bool, int)):
        return tf.constant(value, tf.bool if isinstance(value, bool) else tf.int64)
    return tf.constant(
        value, _h.default_float() if isinstance(value, float) else _h.default_complex()
    )


def topk(x: Any, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """The k largest (or smallest) values in order, and where they stand; ties by lower index."""
    x = _h.tensor(x)
    axis = normal_axis(axis, _h.rank(x))
    x = _h.move(x, axis, -1)
    key = _h.sort_key(x)
    indices = tf.math.top_k(
        key if largest else tf.bitwise.invert(key), k, index_type=tf.int64
    ).indices
    values = tf.gather(x, indices, batch_dims=_h.rank(x) - 1)
    return _h.move(values, -1, axis), _h.move(indices, -1, axis)
