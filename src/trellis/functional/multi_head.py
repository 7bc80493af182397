"""Multi-head attention as one function."""

from math import sqrt
from typing import Any, Literal

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.guards import check_flag, check_number
from .._core.leafwise import has_nest
from .._core.typing import A, Array, Backend
from ._arguments import probability, whole_number
from ._draws import call_seeded_leafwise
from ._heads import Weights, batched_inputs, heads_of, joined_heads, out_projection
from ._masks import combined_mask, with_appended_keys
from ._positions import (
    Placing,
    cached,
    check_positions,
    check_self_attention,
    placed_mask,
    rotated,
)
from ._precision import as_floats
from .attention import Attending, attend
from .cache import KVCache


def multi_head_attention(
    query: A,
    /,
    *,
    key: A | None = None,
    value: A | None = None,
    batch_first: bool = True,
    num_heads: int = 8,
    scale: float | None = None,
    attention_mask: A | None = None,
    in_proj_weights: A | None = None,
    q_proj_weights: A | None = None,
    k_proj_weights: A | None = None,
    v_proj_weights: A | None = None,
    out_proj_weights: A | None = None,
    in_proj_bias: A | None = None,
    out_proj_bias: A | None = None,
    is_causal: bool = False,
    key_padding_mask: A | None = None,
    bias_k: A | None = None,
    bias_v: A | None = None,
    static_k: A | None = None,
    static_v: A | None = None,
    add_zero_attn: bool = False,
    return_attention_weights: bool = False,
    average_attention_weights: bool = True,
    dropout: float = 0.0,
    training: bool = False,
    seed: int | None = None,
    num_kv_heads: int | None = None,
    positions: Literal["rotary", "alibi"] | None = None,
    rotary_base: float = 10000.0,
    window: int | None = None,
    cache: KVCache | None = None,
) -> Any:
    """Project, split into heads, attend in each, join and project again.

    query is (L, Q), (N, L, Q), or (L, N, Q) with batch_first=False; without key it is query,
    without value it is key. Weights are (out, in): in_proj_weights (3E, Q) holds the rows of q, k
    and v, or each has its own; without any, the inputs are not projected. In `attention_mask`, as
    in all of Trellis, True = keep (the opposite of torch.nn); it may be (L, S), (N*num_heads,
    L, S) or 4-D; in `key_padding_mask` (S,) or (N, S) True = ignore. bias_k and
    bias_v append one key, add_zero_attn a zero key; these are never masked. With
    return_attention_weights the result is (out, weights).

    With `num_kv_heads`, a divisor of num_heads, blocks of query heads share one head of the keys
    and values, as in `scaled_dot_product_attention`. Keys and values are then D =
    E/num_heads*num_kv_heads wide: their weights (D, ..), in_proj_weights (E + 2D, Q), in_proj_bias
    (E + 2D,), bias_k and bias_v (D,), static_k and static_v (N*num_kv_heads, S, E/num_heads).

    In self-attention `positions` may be "rotary", which rotates queries and keys by angles with the
    base `rotary_base`, or "alibi", which subtracts slope * distance from the logits; with `window`
    a query attends to keys less than `window` positions away. With a `cache` of `init_cache` the
    inputs are the next tokens of a sequence: they attend to themselves and to earlier ones,
    `attention_mask` covers all positions of the cache, and the result is (out, cache).

    >>> import numpy as np, trellis
    >>> x = np.array([[1.0, 0, 2, 1], [0, 1, 1, 3]])
    >>> trellis.multi_head_attention(x, num_heads=2, scale=0.5).round(3)
    array([[0.622, 0.378, 1.5  , 2.   ],
           [0.378, 0.622, 1.076, 2.848]])
    """
    try:
        if is_causal is not False:
            check_flag(is_causal)
        if scale is not None and type(scale) is not float:
            check_number(scale)
        arrays = {
            "key": key,
            "value": value,
            "attention_mask": attention_mask,
            "in_proj_weights": in_proj_weights,
            "q_proj_weights": q_proj_weights,
            "k_proj_weights": k_proj_weights,
            "v_proj_weights": v_proj_weights,
            "out_proj_weights": out_proj_weights,
            "in_proj_bias": in_proj_bias,
            "out_proj_bias": out_proj_bias,
            "key_padding_mask": key_padding_mask,
            "bias_k": bias_k,
            "bias_v": bias_v,
            "static_k": static_k,
            "static_v": static_v,
        }
        if has_nest(query, *arrays.values()):
            options = {
                "batch_first": batch_first,
                "num_heads": num_heads,
                "scale": scale,
                "is_causal": is_causal,
                "add_zero_attn": add_zero_attn,
                "return_attention_weights": return_attention_weights,
                "average_attention_weights": average_attention_weights,
                "dropout": dropout,
                "training": training,
                "num_kv_heads": num_kv_heads,
                "positions": positions,
                "rotary_base": rotary_base,
                "window": window,
                "cache": cache,
            }
            is_drawing = training and dropout != 0
            return call_seeded_leafwise(
                multi_head_attention, (query,), {**arrays, **options}, seed, is_drawing
            )
        name = "multi_head_attention"
        xp = xp_of_all(query, *arrays.values())
        if positions is not None or window is not None:
            check_positions(name, positions, window)
        heads, kv_heads = _head_counts(name, num_heads, num_kv_heads)
        rate = probability(name, "dropout", dropout)
        key = query if key is None else key
        value = key if value is None else value
        query, key, value, is_batched = batched_inputs(name, xp, query, key, value, batch_first)
        is_self = key is query and value is query
        floats = as_floats(
            name, xp, query, key, value, in_proj_weights, q_proj_weights, k_proj_weights,
            v_proj_weights, in_proj_bias, out_proj_weights, out_proj_bias, bias_k, bias_v,
            static_k, static_v,
        )  # fmt: skip
        given = Weights(*floats[3:])
        q, k, v = heads_of(name, xp, floats[:3], given, heads, kv_heads, is_self)
        placing = Placing(positions, window, cache)
        if any([each is not None for each in placing]):
            check_self_attention(name, is_self and static_k is None, placing)
        if positions == "rotary":
            q, k = rotated(xp, q, k, cache, rotary_base)
        masks = (attention_mask, key_padding_mask)
        if cache is None:
            k, v, mask, is_causal = _all_keys(
                name, xp, q, k, v, masks, is_causal, placing, given, add_zero_attn
            )
        else:
            _check_cacheable(name, key_padding_mask, bias_k, add_zero_attn)
            mask = combined_mask(name, xp, q, *masks, cache.keys.shape[2])
            cache, mask = cached(name, xp, q, k, v, mask, placing)
            k, v = [xp.astype(x, q.dtype, copy=False) for x in cache[:2]]
            is_causal = False
        if scale is None:
            scale = 1 / sqrt(max(q.shape[3], 1))
        how = Attending(scale, is_causal, rate if training else 0.0, seed, return_attention_weights)
        out, weights = attend(xp, q, k, v, mask, how)
        out = out_projection(name, xp, joined_heads(xp, out, q.shape), given.out_w, given.out_b)
        if not is_batched:
            out = out[0, ...]
        elif not batch_first:
            out = xp.permute_dims(out, (1, 0, 2))
        if return_attention_weights:
            weights = xp.mean(weights, axis=1) if average_attention_weights else weights
            out = (out, weights if is_batched else weights[0, ...])
        return out if cache is None else (out, cache)
    except Exception as error:
        return explain(error, multi_head_attention)


def _head_counts(name: str, num_heads: int, num_kv_heads: int | None) -> tuple[int, int]:
    """How many heads the queries have, and how many the keys and values."""
    heads = whole_number(name, "num_heads", num_heads)
    if num_kv_heads is None:
        return heads, heads
    kv_heads = whole_number(name, "num_kv_heads", num_kv_heads)
    if kv_heads < 1 or heads % kv_heads:
        raise ArgumentError(
            f"{name}() expects num_kv_heads to divide num_heads, got num_kv_heads={kv_heads} and "
            f"num_heads={heads}."
        )
    return heads, kv_heads


def _all_keys(
    name: str, xp: Backend, q: Array, k: Array, v: Array, masks: tuple[Any, Any], is_causal: bool,
    placing: Placing, given: Weights, add_zero_attn: bool,
) -> tuple[Any, Any, Any, bool]:  # fmt: skip
    """Keys and values with those that are appended, their mask, and whether it stays causal."""
    n_keys = k.shape[2]
    mask = combined_mask(name, xp, q, *masks, n_keys)
    mask, is_causal = placed_mask(xp, q, n_keys, mask, is_causal, placing)
    return with_appended_keys(
        name, xp, k, v, mask, is_causal, given.bias_k, given.bias_v, add_zero_attn,
        (q.shape[2], n_keys),
    )  # fmt: skip


def _check_cacheable(
    name: str, key_padding_mask: Array | None, bias_k: Array | None, add_zero_attn: bool
) -> None:
    if key_padding_mask is not None:
        raise ArgumentError(
            f"{name}() with a cache takes no key_padding_mask: sequences are padded on the left, "
            "and cache.start says where each begins."
        )
    if bias_k is not None or add_zero_attn:
        raise ArgumentError(
            f"{name}() with a cache appends no keys: bias_k, bias_v and add_zero_attn are for "
            "whole sequences."
        )
