"""Attention by its formula, with its own derivatives: of the whole, and of the softmax."""

from typing import Any

import numpy as np

from ._fused import fused
from ._tape import TracedArray, defvjp, primitive


def attention(query: Any, key: Any, value: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    dtype = value.dtype
    if dtype.itemsize < 4:
        # Weights and products in float32, rounded once at the end.
        query, key, value = [x.astype(np.float32) for x in (query, key, value)]
    is_alike = query.shape[:-2] == key.shape[:-2] == value.shape[:-2] and 0 not in query.shape
    if is_alike and key.shape[-2] != 0 and type(mask) is not TracedArray:
        y = _fused_attention(query, key, value, mask, scale, is_causal)[0]
    else:
        y = _formula(query, key, value, mask, scale, is_causal)[0]
    return y if y.dtype == dtype else y.astype(dtype)


def _formula(
    query: Any, key: Any, value: Any, mask: Any, scale: float, is_causal: bool
) -> tuple[Any]:
    return (attention_weights(query, key, mask, scale=scale, is_causal=is_causal) @ value,)


def _forward(
    query: Any, key: Any, value: Any, mask: Any, scale: float, is_causal: bool
) -> tuple[tuple[Any], Any]:
    query = query * scale
    weights = query @ key.swapaxes(-1, -2)
    if mask is not None and mask.dtype == bool:
        np.copyto(weights, -np.inf, where=~mask)
    elif mask is not None:
        weights += mask
    if is_causal:
        later = np.logical_not(np.tri(*weights.shape[-2:], dtype=bool))
        np.copyto(weights, -np.inf, where=later)
    top = np.max(weights, axis=-1, keepdims=True)
    if mask is not None or is_causal:
        top[~np.isfinite(top)] = 0
    weights -= top
    np.exp(weights, out=weights)
    total = _row_sums(weights)
    total[total == 0] = 1  # a query whose keys are all masked
    weights /= total
    y = weights @ value
    return (y,), (query, key, value, weights, y, scale)


def _backward(gs: list[Any], kept: Any, places: list[int]) -> list[Any]:
    (g,), (query, key, value, weights, y, scale) = gs, kept
    found: dict[int, Any] = {}
    if 2 in places:
        found[2] = weights.swapaxes(-1, -2) @ g
    if 0 in places or 1 in places:
        logits = g @ value.swapaxes(-1, -2)
        logits -= _row_sums(g * y)
        logits *= weights
        if 0 in places:
            found[0] = logits @ key
            found[0] *= scale
        if 1 in places:
            found[1] = logits.swapaxes(-1, -2) @ query
    return [found[i] for i in places]


def _row_sums(x: Any) -> Any:
    """Sums along the last axis, with keepdims: a product with ones is fastest."""
    rows = x.reshape(x.size // x.shape[-1], x.shape[-1])
    return (rows @ np.ones(x.shape[-1], x.dtype)).reshape(*x.shape[:-1], 1)


_fused_attention = fused(_forward, _backward, _formula)


def attention_weights(query: Any, key: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    """The softmax over the keys; a row whose keys are all masked is zero, with zero gradients."""
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


defvjp(_softmax, _softmax_vjp)
