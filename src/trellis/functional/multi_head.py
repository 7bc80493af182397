"""Multi-head attention as one function."""

from math import sqrt
from typing import Any, Literal

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.guards import check_flag, check_number
from .._core.leafwise import has_nest
from .._core.typing import A, Array
from ._arguments import differ, known, probability, whole_number
from ._draws import call_seeded_leafwise
from ._heads import (
    batched_inputs,
    check_projection,
    embedding_width,
    out_projection,
    projected,
    split_heads,
    split_jointly,
    static_heads,
)
from ._masks import combined_mask, with_appended_keys
from ._positions import cached, check_positions, check_self_attention, placed_mask, rotated
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

    query is (L, Q), (N, L, Q), or (L, N, Q) with batch_first=False; key None is query, value None
    is key. Weights are (out, in): in_proj_weights (3E, Q) holds the rows of q, k and v, or each has
    its own; without any, the inputs are used as they are. `attention_mask` follows the one rule of
    the library, True = keep (torch.nn has it the other way round), and may be (L, S), (N*num_heads,
    L, S) or 4-D; in `key_padding_mask` (S,) or (N, S) True = ignore, as everywhere. bias_k and
    bias_v append one key, add_zero_attn a zero key; these are never masked. With
    return_attention_weights the result is (out, weights).

    With `num_kv_heads`, a divisor of num_heads, blocks of query heads share one head of the keys
    and values, as in `scaled_dot_product_attention`. Keys and values are then D =
    E/num_heads*num_kv_heads wide: their weights (D, ..), in_proj_weights (E + 2D, Q), in_proj_bias
    (E + 2D,), bias_k and bias_v (D,), static_k and static_v (N*num_kv_heads, S, E/num_heads).

    In self-attention `positions` may be "rotary", which rotates queries and keys by angles with the
    base `rotary_base`, or "alibi", which takes slope * distance from the logits; with `window` a
    query sees keys less than `window` places away. With a `cache` of `init_cache` the inputs are
    the next tokens of a sequence: they see themselves and those before them, `attention_mask` is
    about all places of the cache, and the result is (out, cache).

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
        heads = whole_number(name, "num_heads", num_heads)
        kv_heads = (
            heads if num_kv_heads is None else whole_number(name, "num_kv_heads", num_kv_heads)
        )
        if kv_heads < 1 or heads % kv_heads:
            raise ArgumentError(
                f"{name}() expects num_kv_heads to divide num_heads, got num_kv_heads={kv_heads} "
                f"and num_heads={heads}."
            )
        dropout = (
            probability(name, "dropout", dropout)
            if training
            else 0.0 * probability(name, "dropout", dropout)
        )
        key = query if key is None else key
        value = key if value is None else value
        query, key, value, is_batched = batched_inputs(name, xp, query, key, value, batch_first)
        is_self = key is query and value is query
        (
            query,
            key,
            value,
            in_w,
            q_w,
            k_w,
            v_w,
            in_proj_bias,
            out_w,
            out_b,
            bias_k,
            bias_v,
            static_k,
            static_v,
        ) = as_floats(
            name,
            xp,
            query,
            key,
            value,
            in_proj_weights,
            q_proj_weights,
            k_proj_weights,
            v_proj_weights,
            in_proj_bias,
            out_proj_weights,
            out_proj_bias,
            bias_k,
            bias_v,
            static_k,
            static_v,
        )
        width = embedding_width(name, query, in_w, q_w, k_w, v_w, in_proj_bias, heads, kv_heads)
        kv_width = width // heads * kv_heads
        rows = (0, width, width + kv_width, width + 2 * kv_width)
        if is_self and in_w is not None and static_k is None and static_v is None:
            check_projection(name, "in_proj_weights", query, in_w, rows[3])
            joint = xp.linear(query, in_w, in_proj_bias)
            q, k, v = split_jointly(xp, joint, heads, kv_heads, rows)
        else:
            inputs, weights = (query, key, value), (q_w, k_w, v_w)
            parts = projected(
                name, xp, inputs, weights, in_w, in_proj_bias, rows, static_k, static_v
            )
            q = split_heads(xp, parts[0], heads)
            size = (None if q.shape[0] is None else q.shape[0] * kv_heads, width // heads)
            k = (
                split_heads(xp, parts[1], kv_heads)
                if static_k is None
                else static_heads(name, xp, "static_k", static_k, kv_heads, *size)
            )
            v = (
                split_heads(xp, parts[2], kv_heads)
                if static_v is None
                else static_heads(name, xp, "static_v", static_v, kv_heads, *size)
            )
        if positions is not None or window is not None or cache is not None:
            given = {"positions": positions, "window": window, "a cache": cache}
            what = [each for each, value in given.items() if value is not None]
            check_self_attention(name, is_self and static_k is None, what[0])
        if positions == "rotary":
            q, k = rotated(xp, q, k, cache, rotary_base)
        n, length, n_keys = q.shape[0], q.shape[2], k.shape[2]
        if differ(n_keys, v.shape[2]):
            raise ShapeError(
                f"{name}() expects as many values as keys, got {v.shape[2]} values and "
                f"{n_keys} keys."
            )
        if cache is not None:
            _check_cacheable(name, key_padding_mask, bias_k, add_zero_attn)
            n_keys, is_causal = cache.keys.shape[2], False
        mask = combined_mask(
            name, xp, q, attention_mask, key_padding_mask, (n, heads, length, n_keys)
        )
        if cache is not None:
            cache, mask = cached(name, xp, q, k, v, cache, mask, window, positions == "alibi")
            k, v = [xp.astype(x, q.dtype, copy=False) for x in cache[:2]]
        else:
            mask, is_causal = placed_mask(
                xp, q, n_keys, mask, is_causal, window, positions == "alibi"
            )
            k, v, mask, is_causal = with_appended_keys(
                name, xp, k, v, mask, is_causal, bias_k, bias_v, add_zero_attn, (length, n_keys)
            )
        if scale is None:
            scale = 1 / sqrt(max(width // heads, 1))
        how = Attending(scale, is_causal, dropout, seed, return_attention_weights)
        out, weights = attend(xp, q, k, v, mask, how)
        out = xp.reshape(xp.permute_dims(out, (0, 2, 1, 3)), (*known(n, length), width))
        out = out_projection(name, xp, out, out_w, out_b, width)
        if not is_batched:
            out = out[0]
        elif not batch_first:
            out = xp.permute_dims(out, (1, 0, 2))
        if not return_attention_weights:
            return out if cache is None else (out, cache)
        weights = xp.mean(weights, axis=1) if average_attention_weights else weights
        weights = weights if is_batched else weights[0]
        return (out, weights) if cache is None else ((out, weights), cache)
    except Exception as error:
        explain(error, multi_head_attention)


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
