"""Attention by its formula."""

from typing import Any

import tensorflow as tf

from ..exports import hand_on
from .activation import softmax


def attention(query: Any, key: Any, value: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    dtype = value.dtype
    if dtype.size < 4:
        # Weights and products in float32, rounded once at the end.
        query, key, value = [tf.cast(x, tf.float32) for x in (query, key, value)]
    weights = attention_weights(query, key, mask, scale=scale, is_causal=is_causal)
    return tf.cast(tf.matmul(weights, value), dtype)


def attention_weights(query: Any, key: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    """The softmax over the keys; a row without any key to see is zero, with zero gradients."""
    query, key = tf.convert_to_tensor(query), tf.convert_to_tensor(key)
    dtype = query.dtype
    if dtype.size < 4:
        query, key = tf.cast(query, tf.float32), tf.cast(key, tf.float32)
    logits = tf.matmul(query * scale, key, transpose_b=True)
    keep = None
    if is_causal:
        size = tf.shape(logits)
        keep = tf.range(size[-1]) <= tf.range(size[-2])[:, None]
    if mask is not None and mask.dtype == tf.bool:
        keep = mask if keep is None else mask & keep
    elif mask is not None:
        logits = logits + tf.cast(mask, logits.dtype)
    if keep is not None:
        logits = tf.where(keep, logits, tf.constant(float("-inf"), logits.dtype))
    if mask is None:
        # With is_causal alone every row sees the first key.
        return tf.cast(softmax(logits, axis=-1), dtype)
    # A softmax over nothing is nan: such rows see finite logits instead, and are cleared
    # afterwards.
    zero = tf.zeros((), logits.dtype)
    is_empty = tf.reduce_all(tf.equal(logits, float("-inf")), -1, keepdims=True)
    weights = softmax(tf.where(is_empty, zero, logits), axis=-1)
    return tf.cast(tf.where(is_empty, zero, weights), dtype)


hand_on(globals())
