"""Distinct values, in ascending order. Every NaN is distinct, as the standard asks."""

from typing import Any, NamedTuple

import tensorflow as tf

from . import _helpers as _h

__all__ = [
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class _UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class _UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(x: Any, /) -> _UniqueAll:
    x = _h.tensor(x)
    flat = tf.reshape(x, [-1])
    order = _h.order(flat, False)
    ordered = tf.gather(flat, order)
    # The first element of each run of equal ones; the first element of all always is.
    first = tf.concat(
        [tf.ones_like(ordered[:1], tf.bool), tf.not_equal(ordered[1:], ordered[:-1])], 0
    )
    starts = tf.reshape(tf.where(first), [-1])
    ends = tf.concat([starts[1:], [tf.size(flat, out_type=tf.int64)]], 0)[: tf.size(starts)]
    run = tf.cumsum(tf.cast(first, tf.int64)) - 1
    inverse = tf.tensor_scatter_nd_update(tf.zeros_like(order), order[:, None], run)
    return _UniqueAll(
        values=tf.gather(ordered, starts),
        indices=tf.gather(order, starts),
        inverse_indices=tf.reshape(inverse, _h.sizes(x)),
        counts=ends - starts,
    )


def unique_counts(x: Any, /) -> _UniqueCounts:
    found = unique_all(x)
    return _UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any, /) -> _UniqueInverse:
    found = unique_all(x)
    return _UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Any:
    return unique_all(x).values
