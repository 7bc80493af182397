"""Attention as functions. In every mask of the library True means that a key is visible."""

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_flag, check_number
from .._core.leafwise import has_nest
from .._core.shapes import broadcast_shapes
from .._core.typing import A, Array, Backend
from ._arguments import differ, known, probability
from ._draws import call_seeded_leafwise, keep_mask
from ._masks import checked_mask
from ._precision import as_floats


def scaled_dot_product_attention(
    query: A,
    key: A,
    value: A,
    /,
    *,
    scale: float | None = None,
    mask: A | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = False,
    seed: int | None = None,
) -> A:
    """`softmax(scale * query @ key.T + mask) @ value`.

    query (..., Q, F), key (..., K, F) and value (..., K, F2) give (..., Q, F2).

    `scale` None is 1/sqrt(F). A bool mask keeps where True, a float mask is added; `is_causal`
    keeps key j for query i when j <= i; given together, both apply. A query that sees no key gets
    zeros and zero gradients. Dropout acts on the weights, while `training` only.

    Batch axes broadcast. Axis -3 is the one of the heads: where key and value have fewer of them
    than query, and their number divides the query's, query heads share them in blocks
    (grouped-query attention): of 8 query heads and 2 others, the first four see key head 0. It
    equals repeating each key and value head, and copies none.

    >>> import numpy as np, trellis
    >>> q, k = np.eye(2), np.array([[1.0, 0], [0, 1], [1, 1]])
    >>> v = np.array([[1.0, 2], [3, 4], [5, 6]])
    >>> trellis.scaled_dot_product_attention(q, k, v, scale=1).round(3)
    array([[3.   , 4.   ],
           [3.534, 4.534]])
    """
    try:
        if is_causal is not False:
            check_flag(is_causal)
        if scale is not None and type(scale) is not float:
            check_number(scale)
        if has_nest(query, key, value, mask):
            kwargs = {
                "scale": scale,
                "mask": mask,
                "dropout_p": dropout_p,
                "is_causal": is_causal,
                "training": training,
            }
            is_drawing = training and dropout_p != 0
            return call_seeded_leafwise(
                scaled_dot_product_attention, (query, key, value), kwargs, seed, is_drawing
            )
        name = "scaled_dot_product_attention"
        xp = xp_of_all(query, key, value, mask)
        q_shape, k_shape, v_shape = tuple(query.shape), tuple(key.shape), tuple(value.shape)
        if min(len(q_shape), len(k_shape), len(v_shape)) < 2:
            raise ShapeError(
                f"{name}() expects (..., Q, F), (..., K, F) and (..., K, F2), got {q_shape}, "
                f"{k_shape} and {v_shape}."
            )
        if differ(q_shape[-1], k_shape[-1]):
            raise ShapeError(
                f"{name}() expects query and key of one width F, got {q_shape} and {k_shape}."
            )
        if differ(k_shape[-2], v_shape[-2]):
            raise ShapeError(
                f"{name}() expects as many values as keys, got key {k_shape} and value {v_shape}."
            )
        batch = q_shape[:-2]
        if not (batch == k_shape[:-2] == v_shape[:-2]):
            kv_heads = _kv_heads(q_shape, k_shape, v_shape)
            if kv_heads is None:
                batch = broadcast_shapes(batch, k_shape[:-2], v_shape[:-2], function=name)
            else:
                _check_heads(name, q_shape, k_shape, v_shape, kv_heads)
                lead = broadcast_shapes(batch[:-1], k_shape[:-3], v_shape[:-3], function=name)
                batch = (*lead, q_shape[-3])
        dropout_p = probability(name, "dropout_p", dropout_p)
        query, key, value = as_floats(name, xp, query, key, value)
        if mask is not None:
            mask = checked_mask(name, xp, mask, (*batch, q_shape[-2], k_shape[-2]), query)
        if scale is None:
            scale = 1 / sqrt(max(q_shape[-1], 1))
        how = Attending(scale, is_causal, dropout_p if training else 0.0, seed)
        return attend(xp, query, key, value, mask, how)[0]
    except Exception as error:
        return explain(error, scaled_dot_product_attention)


class Attending(NamedTuple):
    """How queries attend to keys, checked."""

    scale: Any
    is_causal: bool
    dropout: float
    seed: Any
    with_weights: bool = False


def attend(
    xp: Backend, query: Array, key: Array, value: Array, mask: Array | None, how: Attending
) -> tuple[Any, Any]:
    """The result, and the weights where they had to be computed."""
    kv_heads = _kv_heads(tuple(query.shape), tuple(key.shape), tuple(value.shape))
    if kv_heads is None:
        return _attend_alike(xp, query, key, value, mask, how)
    # The query heads of a group get an axis of their own, along which their one key head
    # broadcasts.
    query = _to_groups(xp, query, kv_heads)
    key, value = xp.expand_dims(key, axis=-3), xp.expand_dims(value, axis=-3)
    if mask is not None and len(mask.shape) > 2:
        is_shared = mask.shape[-3] == 1
        mask = xp.expand_dims(mask, axis=-3) if is_shared else _to_groups(xp, mask, kv_heads)
    out, weights = _attend_alike(xp, query, key, value, mask, how)
    return _from_groups(xp, out), None if weights is None else _from_groups(xp, weights)


def _attend_alike(
    xp: Backend, query: Array, key: Array, value: Array, mask: Array | None, how: Attending
) -> tuple[Any, Any]:
    """The same for batch axes that broadcast."""
    scale, is_causal, dropout, seed, with_weights = how
    if dropout == 0 and not with_weights:
        return xp.attention(query, key, value, mask, scale=scale, is_causal=is_causal), None
    dtype = value.dtype
    is_half = xp.dtype_name(dtype) in ("float16", "bfloat16")
    if is_half:
        # Weights and products in float32, rounded once at the end.
        query, key, value = [xp.astype(x, "float32") for x in (query, key, value)]
    weights = xp.attention_weights(query, key, mask, scale=scale, is_causal=is_causal)
    if dropout == 1:
        weights = weights * 0
    elif dropout > 0:
        keep = keep_mask(xp, weights, tuple(weights.shape), dropout, seed)
        weights = xp.where(keep, weights / (1 - dropout), 0.0)
    out = xp.matmul(weights, value)
    return (xp.astype(out, dtype), xp.astype(weights, dtype)) if is_half else (out, weights)


# Heads that share keys ----------------------------------------------------------------------------


def _kv_heads(q_shape: Sequence[Any], k_shape: Sequence[Any], v_shape: Sequence[Any]) -> Any:
    """How many heads key and value have, where the query has others and they form groups."""
    if min(len(q_shape), len(k_shape), len(v_shape)) < 3:
        return None
    heads, kv_heads = q_shape[-3], k_shape[-3] if k_shape[-3] != 1 else v_shape[-3]
    if heads is None or kv_heads is None or heads in (1, kv_heads) or kv_heads in (0, 1):
        return None
    return kv_heads


def _check_heads(
    name: str, q_shape: Sequence[Any], k_shape: Sequence[Any], v_shape: Sequence[Any], kv_heads: int
) -> None:
    if q_shape[-3] % kv_heads or v_shape[-3] not in (None, 1, kv_heads):
        raise ShapeError(
            f"{name}() got {q_shape[-3]} heads (axis -3) in query, {k_shape[-3]} in key and "
            f"{v_shape[-3]} in value: these neither broadcast nor form groups. Shapes: {q_shape}, "
            f"{k_shape} and {v_shape}; key and value must have one number of heads, and it must "
            "divide the query's."
        )


def _to_groups(xp: Backend, x: Array, kv_heads: int) -> Any:
    """(..., heads, L, F) -> (..., kv_heads, heads/kv_heads, L, F)."""
    shape = tuple(x.shape)
    size = shape[-3] // kv_heads
    if shape.count(None) > 1:
        # A reshape leaves one size open, not two.
        parts = [x[..., i * size : (i + 1) * size, :, :] for i in range(kv_heads)]
        return xp.stack(parts, axis=-4)
    return xp.reshape(x, (*known(*shape[:-3]), kv_heads, size, *known(*shape[-2:])))


def _from_groups(xp: Backend, x: Array) -> Any:
    shape = tuple(x.shape)
    if shape.count(None) > 1:
        return xp.concat([x[..., i, :, :, :] for i in range(shape[-4])], axis=-3)
    return xp.reshape(x, (*known(*shape[:-4]), shape[-4] * shape[-3], *known(*shape[-2:])))
