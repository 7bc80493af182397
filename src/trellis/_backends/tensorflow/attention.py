"""Attention by its formula."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ._recorded import Backward, recorded
from ._types import Tensor
from .activation import raw_softmax, softmax


def attention(
    query: Tensor, key: Tensor, value: Any, mask: Any, *, scale: float, is_causal: bool
) -> Any:
    dtype = value.dtype
    if dtype.size < 4:
        # Weights and products in float32, rounded once at the end.
        query, key, value = [tf.cast(x, tf.float32) for x in (query, key, value)]
    query, key, value = [tf.convert_to_tensor(x) for x in (query, key, value)]

    # One weight that is nan makes all outputs of its query nan, whatever the other weights are.
    def formula(query: Tensor, key: Tensor, value: Any) -> Any:
        weights = _weights(query, key, mask, scale, is_causal, raw_softmax)
        return tf.matmul(weights, value)

    def forward(query: Tensor, key: Tensor, value: Any) -> tuple[Any, Backward]:
        weights = _weights(query, key, mask, scale, is_causal, raw_softmax)

        def backward(g: Tensor) -> list[Any]:
            by_value = tf.matmul(weights, g, transpose_a=True)
            by_logits = _through_softmax(weights, tf.matmul(g, value, transpose_b=True))
            by_query = tf.matmul(by_logits, key) * scale
            by_key = tf.matmul(by_logits, query, transpose_a=True) * scale
            return [by_query, by_key, by_value]

        return tf.matmul(weights, value), backward

    if _is_even(query, key, value) and (mask is None or mask.dtype == tf.bool):
        return tf.cast(recorded(formula, forward, query, key, value), dtype)
    return tf.cast(formula(query, key, value), dtype)


def _is_even(query: Tensor, key: Tensor, value: Any) -> bool:
    """Whether no batch axis is broadcast, so that no derivative needs a sum."""
    batch = query.shape[:-2]
    is_known = batch.rank is not None and batch.is_fully_defined()
    return is_known and batch == key.shape[:-2] == value.shape[:-2]


def _through_softmax(weights: Any, g: Tensor) -> Any:
    return (g - tf.reduce_sum(g * weights, -1, keepdims=True)) * weights


def attention_weights(
    query: Tensor, key: Tensor, mask: Any, *, scale: float, is_causal: bool
) -> Any:
    return _weights(query, key, mask, scale, is_causal, softmax)


def _weights(
    query: Tensor,
    key: Tensor,
    mask: Any,
    scale: float,
    is_causal: bool,
    softmax: Callable[..., Any],
) -> Any:
    """The softmax over the keys; a row whose keys are all masked is zero, with zero gradients."""
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
        # With is_causal alone the first key is never masked.
        return tf.cast(softmax(logits, axis=-1), dtype)
    # A softmax over nothing is nan: such rows get finite logits, and are set to zero afterwards.
    zero = tf.zeros((), logits.dtype)
    is_empty = tf.reduce_all(tf.equal(logits, float("-inf")), -1, keepdims=True)
    weights = softmax(tf.where(is_empty, zero, logits), axis=-1)
    return tf.cast(tf.where(is_empty, zero, weights), dtype)
