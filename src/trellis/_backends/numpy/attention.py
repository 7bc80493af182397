"""Attention by its formula, with a softmax that has a derivative of its own."""

from typing import Any

import numpy as np
from autograd.extend import defvjp, primitive

from ..exports import hand_on


def attention(query: Any, key: Any, value: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    dtype = value.dtype
    if dtype.itemsize < 4:
        # Weights and products in float32, rounded once at the end.
        query, key, value = [x.astype(np.float32) for x in (query, key, value)]
    y = attention_weights(query, key, mask, scale=scale, is_causal=is_causal) @ value
    return y if y.dtype == dtype else y.astype(dtype)


def attention_weights(query: Any, key: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    """The softmax over the keys; a row without any key to see is zero, with zero gradients."""
    dtype = query.dtype
    if dtype.itemsize < 4:
        query, key = query.astype(np.float32), key.astype(np.float32)
    logits = (query * scale) @ key.swapaxes(-1, -2)
    keep = np.tri(*logits.shape[-2:], dtype=bool) if is_causal else None
    if mask is not None and mask.dtype == bool:
        keep = mask if keep is None else mask & keep
    elif mask is not None:
        logits = logits + (mask if mask.dtype == logits.dtype else mask.astype(logits.dtype))
    weights = _softmax(logits, keep)
    return weights if weights.dtype == dtype else weights.astype(dtype)


@primitive
def _softmax(logits: Any, keep: Any) -> Any:
    if keep is not None:
        logits = np.where(keep, logits, -np.inf)
    top = np.max(logits, axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = np.sum(weights, axis=-1, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    return weights


def _softmax_vjp(weights: Any, logits: Any, keep: Any) -> Any:
    def vjp(g: Any) -> Any:
        return weights * (g - (g * weights).sum(axis=-1, keepdims=True))

    return vjp


defvjp(_softmax, _softmax_vjp, argnums=(0,))


hand_on(globals())
