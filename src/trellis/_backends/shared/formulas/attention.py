"""Attention by its formula."""

import math

from ...array_api import Native
from ..promotion import type_name
from . import xp


def attention(
    query: Native,
    key: Native,
    value: Native,
    mask: Native | None,
    *,
    scale: float,
    is_causal: bool,
) -> Native:
    dtype = value.dtype
    if type_name(xp, value) in ("float16", "bfloat16"):
        # Weights and products in float32, rounded once at the end.
        query, key, value = [xp.astype(x, "float32") for x in (query, key, value)]
    weights = xp.attention_weights(query, key, mask, scale=scale, is_causal=is_causal)
    return xp.astype(xp.matmul(weights, value), dtype, copy=False)


def attention_weights(
    query: Native, key: Native, mask: Native | None, *, scale: float, is_causal: bool
) -> Native:
    """The softmax over the keys; a row whose keys are all masked is zero, with zero gradients."""
    dtype = query.dtype
    if type_name(xp, query) in ("float16", "bfloat16"):
        query, key = xp.astype(query, "float32"), xp.astype(key, "float32")
    logits = xp.matmul(query * scale, xp.matrix_transpose(key))
    keep = None
    if is_causal:
        rows, columns = logits.shape[-2:]
        row = xp.reshape(xp.arange(rows, device=xp.device(logits)), (rows, 1))
        keep = xp.arange(columns, device=xp.device(logits)) <= row
    if mask is not None and type_name(xp, mask) == "bool":
        keep = mask if keep is None else xp.logical_and(mask, keep)
    elif mask is not None:
        logits = logits + xp.astype(mask, logits.dtype, copy=False)
    if keep is not None:
        logits = xp.where(keep, logits, xp.full_like(logits, -math.inf))
    if mask is None or logits.shape[-1] == 0:
        return xp.astype(xp.softmax(logits, axis=-1), dtype, copy=False)
    # A softmax over nothing is nan: such rows get finite logits, and are set to zero afterwards.
    is_empty = xp.all(xp.equal(logits, -math.inf), axis=-1, keepdims=True)
    weights = xp.softmax(xp.where(is_empty, xp.zeros_like(logits), logits), axis=-1)
    return xp.astype(xp.where(is_empty, xp.zeros_like(weights), weights), dtype, copy=False)
