"""Distinct values, in ascending order. Every NaN is distinct, as the standard asks."""

from typing import Any as _Any
from typing import NamedTuple as _NamedTuple

import tensorflow as tf

from . import _helpers as _h


class _UniqueAll(_NamedTuple):
    values: _Any
    indices: _Any
    inverse_indices: _Any
    counts: _Any


class _UniqueCounts(_NamedTuple):
    values: _Any
    counts: _Any


class _UniqueInverse(_NamedTuple):
    values: _Any
    inverse_indices: _Any


def unique_all(x: _Any, /) -> _UniqueAll:
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


def unique_counts(x: _Any, /) -> _UniqueCounts:
    found = unique_all(x)
    return _UniqueCounts(found.values, found.counts)


def unique_inverse(x: _Any, /) -> _UniqueInverse:
    found = unique_all(x)
    return _UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: _Any, /) -> _Any:
    return unique_all(x).values
