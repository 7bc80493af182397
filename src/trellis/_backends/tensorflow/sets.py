"""Distinct values, in ascending order. Every NaN is distinct, as the standard asks."""

from typing import Any

import tensorflow as tf

from ..._core.results import UniqueAllResult
from ._helpers import order, sizes, tensor
from ._types import Tensor


def unique_all(x: Tensor, /) -> UniqueAllResult[Any]:
    x = tensor(x)
    flat = tf.reshape(x, [-1])
    places = order(flat, False)
    ordered = tf.gather(flat, places)
    # The first element of each run of equal ones; the first element of all always is.
    first = tf.concat(
        [tf.ones_like(ordered[:1], tf.bool), tf.not_equal(ordered[1:], ordered[:-1])], 0
    )
    starts = tf.reshape(tf.where(first), [-1])
    ends = tf.concat([starts[1:], [tf.size(flat, out_type=tf.int64)]], 0)[: tf.size(starts)]
    run = tf.cumsum(tf.cast(first, tf.int64)) - 1
    inverse = tf.tensor_scatter_nd_update(tf.zeros_like(places), places[:, None], run)
    return UniqueAllResult(
        values=tf.gather(ordered, starts),
        indices=tf.gather(places, starts),
        inverse_indices=tf.reshape(inverse, sizes(x)),
        counts=ends - starts,
    )
