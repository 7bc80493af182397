"""Attention as functions. In every mask of the library True means: this key may be seen."""

from math import sqrt
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.dtypes import FLOATING
from .._core.errors import ArgumentError, DtypeError, ShapeError
from .._core.typing import A
from ._checks import (
    as_floats,
    broadcast_shape,
    call_seeded_leafwise,
    has_nest,
    keep_mask,
    probability,
    whole_number,
)


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
    """`softmax(scale * query @ key.T + mask) @ value`: (..., Q, F), (..., K, F), (..., K, F2) -> (..., Q, F2).

    `scale` None is 1/sqrt(F). A bool mask keeps where True, a float mask is added; `is_causal` keeps key j for
    query i when j <= i; given together, both apply. A query that sees no key gets zeros and zero gradients.
    Dropout acts on the weights, while `training` only.

    Batch axes broadcast. Axis -3 is the one of the heads: where key and value have fewer of them than query, and
    their number divides the query's, query heads share them in blocks (grouped-query attention): of 8 query heads
    and 2 others, the first four see key head 0. It equals repeating each key and value head, and copies none.

    >>> import numpy as np, trellis
    >>> q, k, v = np.eye(2), np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([[1.0, 2], [3, 4], [5, 6]])
    >>> trellis.scaled_dot_product_attention(q, k, v, scale=1).round(3)
    array([[3.   , 4.   ],
           [3.534, 4.534]])
    """
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
            f"{name}() expects (..., Q, F), (..., K, F) and (..., K, F2), got {q_shape}, {k_shape} and {v_shape}."
        )
    if _differ(q_shape[-1], k_shape[-1]):
        raise ShapeError(
            f"{name}() expects query and key of one width F, got {q_shape} and {k_shape}."
        )
    if _differ(k_shape[-2], v_shape[-2]):
        raise ShapeError(
            f"{name}() expects as many values as keys, got key {k_shape} and value {v_shape}."
        )
    batch = q_shape[:-2]
    if not (batch == k_shape[:-2] == v_shape[:-2]):
        kv_heads = _kv_heads(q_shape, k_shape, v_shape)
        if kv_heads is None:
            batch = broadcast_shape(name, batch, k_shape[:-2], v_shape[:-2])
        else:
            _check_heads(name, q_shape, k_shape, v_shape, kv_heads)
            lead = broadcast_shape(name, batch[:-1], k_shape[:-3], v_shape[:-3])
            batch = (*lead, q_shape[-3])
    dropout_p = probability(name, "dropout_p", dropout_p)
    query, key, value = as_floats(name, xp, query, key, value)
    if mask is not None:
        mask = _checked_mask(name, xp, mask, (*batch, q_shape[-2], k_shape[-2]), query)
    if scale is None:
        scale = 1 / sqrt(max(q_shape[-1], 1))
    dropout_p = dropout_p if training else 0.0
    return _attend(xp, query, key, value, mask, scale, is_causal, dropout_p, seed, False)[0]


def _attend(
    xp: Any, query: Any, key: Any, value: Any, mask: Any, scale: Any, is_causal: bool, dropout: float, seed: Any,
    with_weights: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """The result, and the weights where they had to be made."""
    kv_heads = _kv_heads(tuple(query.shape), tuple(key.shape), tuple(value.shape))
    if kv_heads is None:
        return _attend_alike(
            xp, query, key, value, mask, scale, is_causal, dropout, seed, with_weights
        )
    # The query heads of a group get an axis of their own, along which their one key head broadcasts.
    query = _to_groups(xp, query, kv_heads)
    key, value = xp.expand_dims(key, axis=-3), xp.expand_dims(value, axis=-3)
    if mask is not None and len(mask.shape) > 2:
        is_shared = mask.shape[-3] == 1
        mask = xp.expand_dims(mask, axis=-3) if is_shared else _to_groups(xp, mask, kv_heads)
    out, weights = _attend_alike(
        xp, query, key, value, mask, scale, is_causal, dropout, seed, with_weights
    )
    return _from_groups(xp, out), None if weights is None else _from_groups(xp, weights)


def _attend_alike(
    xp: Any, query: Any, key: Any, value: Any, mask: Any, scale: Any, is_causal: bool, dropout: float, seed: Any,
    with_weights: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """The same for batch axes that broadcast."""
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


# Heads that share keys -------------------------------------------------------------------------------


def _kv_heads(q_shape: Any, k_shape: Any, v_shape: Any) -> Any:
    """How many heads key and value have, if the query has others and they are not simply broadcast."""
    if min(len(q_shape), len(k_shape), len(v_shape)) < 3:
        return None
    heads, kv_heads = q_shape[-3], k_shape[-3] if k_shape[-3] != 1 else v_shape[-3]
    if heads is None or kv_heads is None or heads in (1, kv_heads) or kv_heads in (0, 1):
        return None
    return kv_heads


def _check_heads(name: str, q_shape: Any, k_shape: Any, v_shape: Any, kv_heads: int) -> None:
    if q_shape[-3] % kv_heads or v_shape[-3] not in (None, 1, kv_heads):
        raise ShapeError(
            f"{name}() got {q_shape[-3]} heads (axis -3) in query, {k_shape[-3]} in key and {v_shape[-3]} in value: these "
            f"neither broadcast nor form groups. Shapes: {q_shape}, {k_shape} and {v_shape}; key and value must have one "
            "number of heads, and it must divide the query's."
        )


def _to_groups(xp: Any, x: Any, kv_heads: int) -> Any:
    """(..., heads, L, F) -> (..., kv_heads, heads/kv_heads, L, F)."""
    shape = tuple(x.shape)
    size = shape[-3] // kv_heads
    if shape.count(None) > 1:
        # A reshape leaves one size open, not two.
        parts = [x[..., i * size : (i + 1) * size, :, :] for i in range(kv_heads)]
        return xp.stack(parts, axis=-4)
    return xp.reshape(x, (*_known(*shape[:-3]), kv_heads, size, *_known(*shape[-2:])))


def _from_groups(xp: Any, x: Any) -> Any:
    shape = tuple(x.shape)
    if shape.count(None) > 1:
        return xp.concat([x[..., i, :, :, :] for i in range(shape[-4])], axis=-3)
    return xp.reshape(x, (*_known(*shape[:-4]), shape[-4] * shape[-3], *_known(*shape[-2:])))


def _checked_mask(name: str, xp: Any, mask: Any, shape: tuple[Any, ...], query: Any) -> Any:
    kind = xp.dtype_name(mask.dtype)
    if kind != "bool" and kind not in FLOATING:
        raise DtypeError(
            f"{name}() expects a bool mask (True keeps) or a float mask (added to the logits), got {kind}. "
            "Write mask != 0 for a mask of ones and zeros."
        )
    found = tuple(mask.shape)
    if len(found) > len(shape) or _differs_from(broadcast_shape(name, found, shape), shape):
        raise ShapeError(f"{name}() expects a mask that broadcasts to {shape}, got shape {found}.")
    return mask if kind == "bool" or mask.dtype == query.dtype else xp.astype(mask, query.dtype)


def _differ(size: Any, other: Any) -> bool:
    return size is not None and other is not None and size != other


def _differs_from(shape: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return any([_differ(a, b) for a, b in zip(shape, other, strict=True)])


# Multi-head ------------------------------------------------------------------------------------------


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
) -> Any:
    """Project, split into heads, attend in each, join and project again.

    query is (L, Q), (N, L, Q), or (L, N, Q) with batch_first=False; key None is query, value None is key. Weights
    are (out, in): in_proj_weights (3E, Q) holds the rows of q, k and v, or each has its own; without any, the
    inputs are used as they are. `attention_mask` follows the one rule of the library, True = keep (torch.nn has
    it the other way round), and may be (L, S), (N*num_heads, L, S) or 4-D; in `key_padding_mask` (S,) or (N, S)
    True = ignore, as everywhere. bias_k and bias_v append one key, add_zero_attn a zero key; these are never
    masked. With return_attention_weights the result is (out, weights).

    With `num_kv_heads`, a divisor of num_heads, blocks of query heads share one head of the keys and values, as in
    `scaled_dot_product_attention`. Keys and values are then D = E/num_heads*num_kv_heads wide: their weights
    (D, ..), in_proj_weights (E + 2D, Q), in_proj_bias (E + 2D,), bias_k and bias_v (D,), static_k and static_v
    (N*num_kv_heads, S, E/num_heads).

    >>> import numpy as np, trellis
    >>> x = np.array([[1.0, 0, 2, 1], [0, 1, 1, 3]])
    >>> trellis.multi_head_attention(x, num_heads=2, scale=0.5).round(3)
    array([[0.622, 0.378, 1.5  , 2.   ],
           [0.378, 0.622, 1.076, 2.848]])
    """
    arrays = {
        "key": key, "value": value, "attention_mask": attention_mask, "in_proj_weights": in_proj_weights,
        "q_proj_weights": q_proj_weights, "k_proj_weights": k_proj_weights, "v_proj_weights": v_proj_weights,
        "out_proj_weights": out_proj_weights, "in_proj_bias": in_proj_bias, "out_proj_bias": out_proj_bias,
        "key_padding_mask": key_padding_mask, "bias_k": bias_k, "bias_v": bias_v, "static_k": static_k,
        "static_v": static_v,
    }  # fmt: skip
    if has_nest(query, *arrays.values()):
        options = {
            "batch_first": batch_first, "num_heads": num_heads, "scale": scale, "is_causal": is_causal,
            "add_zero_attn": add_zero_attn, "return_attention_weights": return_attention_weights,
            "average_attention_weights": average_attention_weights, "dropout": dropout, "training": training,
            "num_kv_heads": num_kv_heads,
        }  # fmt: skip
        is_drawing = training and dropout != 0
        return call_seeded_leafwise(
            multi_head_attention, (query,), {**arrays, **options}, seed, is_drawing
        )
    name = "multi_head_attention"
    xp = xp_of_all(query, *arrays.values())
    heads = whole_number(name, "num_heads", num_heads)
    kv_heads = heads if num_kv_heads is None else whole_number(name, "num_kv_heads", num_kv_heads)
    if kv_heads < 1 or heads % kv_heads:
        raise ArgumentError(
            f"{name}() expects num_kv_heads to divide num_heads, got num_kv_heads={kv_heads} and num_heads={heads}."
        )
    dropout = (
        probability(name, "dropout", dropout)
        if training
        else 0.0 * probability(name, "dropout", dropout)
    )
    key = query if key is None else key
    value = key if value is None else value
    query, key, value, is_batched = _batched(name, xp, query, key, value, batch_first)
    is_self = key is query and value is query
    (query, key, value, in_w, q_w, k_w, v_w, in_proj_bias, out_w, out_b, bias_k, bias_v, static_k, static_v) = as_floats(
        name, xp, query, key, value, in_proj_weights, q_proj_weights, k_proj_weights, v_proj_weights, in_proj_bias,
        out_proj_weights, out_proj_bias, bias_k, bias_v, static_k, static_v,
    )  # fmt: skip
    width = _embedding_width(name, query, in_w, q_w, k_w, v_w, in_proj_bias, heads, kv_heads)
    kv_width = width // heads * kv_heads
    rows = (0, width, width + kv_width, width + 2 * kv_width)
    if is_self and in_w is not None and static_k is None and static_v is None:
        _check_projection(name, "in_proj_weights", query, in_w, rows[3])
        joint = xp.linear(query, in_w, in_proj_bias)
        q, k, v = _split_jointly(xp, joint, heads, kv_heads, rows)
    else:
        inputs, weights = (query, key, value), (q_w, k_w, v_w)
        parts = _projected(name, xp, inputs, weights, in_w, in_proj_bias, rows, static_k, static_v)
        q = _split_heads(xp, parts[0], heads)
        size = (None if q.shape[0] is None else q.shape[0] * kv_heads, width // heads)
        k = (
            _split_heads(xp, parts[1], kv_heads)
            if static_k is None
            else _static(name, xp, "static_k", static_k, kv_heads, *size)
        )
        v = (
            _split_heads(xp, parts[2], kv_heads)
            if static_v is None
            else _static(name, xp, "static_v", static_v, kv_heads, *size)
        )
    n, length, n_keys = q.shape[0], q.shape[2], k.shape[2]
    if _differ(n_keys, v.shape[2]):
        raise ShapeError(
            f"{name}() expects as many values as keys, got {v.shape[2]} values and {n_keys} keys."
        )
    mask = _combined_mask(name, xp, q, attention_mask, key_padding_mask, (n, heads, length, n_keys))
    k, v, mask, is_causal = _with_appended_keys(
        name, xp, k, v, mask, is_causal, bias_k, bias_v, add_zero_attn, (length, n_keys)
    )
    if scale is None:
        scale = 1 / sqrt(max(width // heads, 1))
    out, weights = _attend(
        xp, q, k, v, mask, scale, is_causal, dropout, seed, return_attention_weights
    )
    out = xp.reshape(xp.permute_dims(out, (0, 2, 1, 3)), (*_known(n, length), width))
    out = _out_projection(name, xp, out, out_w, out_b, width)
    if not is_batched:
        out = out[0]
    elif not batch_first:
        out = xp.permute_dims(out, (1, 0, 2))
    if not return_attention_weights:
        return out
    weights = xp.mean(weights, axis=1) if average_attention_weights else weights
    return out, (weights if is_batched else weights[0])


def _batched(
    name: str, xp: Any, query: Any, key: Any, value: Any, batch_first: bool
) -> tuple[Any, Any, Any, bool]:
    """All three as (batch, length, width); the same object stays the same."""
    rank = len(query.shape)
    if rank not in (2, 3) or len(key.shape) != rank or len(value.shape) != rank:
        raise ShapeError(
            f"{name}() expects query, key and value all with two axes (length, width) or all with three, got "
            f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}."
        )

    def batched(x: Any) -> Any:
        if rank == 2:
            return xp.expand_dims(x, axis=0)
        return x if batch_first else xp.permute_dims(x, (1, 0, 2))

    q = batched(query)
    k = q if key is query else batched(key)
    v = k if value is key else batched(value)
    if _differ(q.shape[0], k.shape[0]) or _differ(q.shape[0], v.shape[0]):
        raise ShapeError(
            f"{name}() expects one batch size, got {q.shape[0]} in query, {k.shape[0]} in key and {v.shape[0]} in value."
        )
    return q, k, v, rank == 3


def _embedding_width(
    name: str,
    query: Any,
    in_w: Any,
    q_w: Any,
    k_w: Any,
    v_w: Any,
    in_bias: Any,
    heads: int,
    kv_heads: int,
) -> int:
    is_grouped = kv_heads != heads
    if in_w is not None:
        if q_w is not None or k_w is not None or v_w is not None:
            raise ArgumentError(f"{name}() takes in_proj_weights or q/k/v_proj_weights, not both.")
        # With groups all rows together are heads + 2*kv_heads heads; without, they are three times E.
        count = heads + 2 * kv_heads if is_grouped else 3
        if len(in_w.shape) != 2 or in_w.shape[0] % count:
            wanted = (
                f"(E + 2D, Q), D = E/{heads}*{kv_heads}: a multiple of {count} rows"
                if is_grouped
                else "(3E, Q)"
            )
            raise ShapeError(
                f"{name}() expects in_proj_weights of shape {wanted}, got {tuple(in_w.shape)}."
            )
        width = in_w.shape[0] // count * (heads if is_grouped else 1)
    else:
        width = query.shape[-1] if q_w is None else q_w.shape[0]
    if heads < 1 or width % heads:
        raise ShapeError(
            f"{name}() cannot split a width of {width} into {heads} heads of equal size."
        )
    rows = width + 2 * (width // heads * kv_heads)
    if in_bias is not None and tuple(in_bias.shape) != (rows,):
        raise ShapeError(
            f"{name}() expects in_proj_bias of shape {(rows,)}, got {tuple(in_bias.shape)}."
        )
    return width


def _check_projection(name: str, what: str, x: Any, weight: Any, width: int) -> None:
    if len(weight.shape) != 2 or tuple(weight.shape) != (width, x.shape[-1]):
        raise ShapeError(
            f"{name}() expects {what} of shape {(width, x.shape[-1])} for an input of width {x.shape[-1]}, "
            f"got {tuple(weight.shape)}."
        )


def _projected(
    name: str,
    xp: Any,
    inputs: Any,
    weights: Any,
    in_w: Any,
    in_bias: Any,
    rows: tuple[int, ...],
    static_k: Any,
    static_v: Any,
) -> list[Any]:
    """Queries, keys and values; `rows` are the borders between the three in joint weights and biases."""
    parts: list[Any] = []
    for i, (what, x, weight, static) in enumerate(
        zip(("q", "k", "v"), inputs, weights, (None, static_k, static_v), strict=True)
    ):
        if static is not None:
            parts.append(None)
            continue
        what = f"{what}_proj_weights"
        first, last = rows[i], rows[i + 1]
        width = last - first
        if in_w is not None:
            weight, what = in_w[first:last], f"in_proj_weights, rows {first} to {last},"
        bias = None if in_bias is None else in_bias[first:last]
        if weight is not None:
            _check_projection(name, what, x, weight, width)
            x = xp.linear(x, weight, bias)
        else:
            if x.shape[-1] != width:
                raise ShapeError(
                    f"{name}() without {what} expects an input of width {width}, got {tuple(x.shape)}. Give {what} of "
                    f"shape {(width, x.shape[-1])}."
                )
            x = x if bias is None else x + bias
        parts.append(x)
    return parts


def _known(*sizes: Any) -> tuple[int, ...]:
    return tuple([-1 if size is None else size for size in sizes])


def _split_jointly(
    xp: Any, x: Any, heads: int, kv_heads: int, rows: tuple[int, ...]
) -> tuple[Any, Any, Any]:
    """Queries, keys and values from one projection; all transposed at once where they have equal heads."""
    if kv_heads == heads:
        n, length, width = x.shape
        apart = xp.reshape(x, (*_known(n, length), 3, heads, width // (3 * heads)))
        q, k, v = xp.unstack(xp.permute_dims(apart, (2, 0, 3, 1, 4)), axis=0)
        return q, k, v
    q, k, v = [
        _split_heads(xp, x[..., rows[i] : rows[i + 1]], heads if i == 0 else kv_heads)
        for i in range(3)
    ]
    return q, k, v


def _split_heads(xp: Any, x: Any, heads: int) -> Any:
    """(N, L, E) -> (N, heads, L, E/heads)."""
    n, length, width = x.shape
    return xp.permute_dims(xp.reshape(x, (*_known(n, length), heads, width // heads)), (0, 2, 1, 3))


def _static(name: str, xp: Any, what: str, x: Any, heads: int, rows: Any, width: int) -> Any:
    shape = tuple(x.shape)
    if len(shape) != 3 or _differ(shape[0], rows) or shape[2] != width:
        raise ShapeError(
            f"{name}() expects {what} of shape (N*num_heads, S, E/num_heads) = ({rows}, S, {width}), got {shape}."
        )
    return xp.reshape(x, (*_known(None if rows is None else rows // heads), heads, shape[1], width))


def _combined_mask(
    name: str, xp: Any, q: Any, attention_mask: Any, key_padding_mask: Any, shape: Any
) -> Any:
    """One mask that broadcasts to (N, heads, L, S), bool or float, or None."""
    n, heads, length, n_keys = shape
    mask = attention_mask
    if mask is not None:
        found = tuple(mask.shape)
        if len(found) == 3:
            if (n is not None and found[0] != n * heads) or _differs_from(
                found[1:], (length, n_keys)
            ):
                raise ShapeError(
                    f"{name}() expects a 3-D attention_mask of shape (N*num_heads, L, S) = "
                    f"{(None if n is None else n * heads, length, n_keys)}, got {found}."
                )
            mask = xp.reshape(mask, (*_known(n), heads, *found[1:]))
        elif len(found) not in (2, 4):
            raise ShapeError(
                f"{name}() expects attention_mask of shape (L, S), (N*num_heads, L, S) or 4-D, got {found}."
            )
        mask = _checked_mask(name, xp, mask, shape, q)
    if key_padding_mask is None:
        return mask
    if xp.dtype_name(key_padding_mask.dtype) != "bool":
        raise DtypeError(
            f"{name}() expects a bool key_padding_mask (True = ignore), got {xp.dtype_name(key_padding_mask.dtype)}."
        )
    found = tuple(key_padding_mask.shape)
    fits = (
        len(found) in (1, 2)
        and not _differ(found[-1], n_keys)
        and (len(found) == 1 or not _differ(found[0], n))
    )
    if not fits:
        raise ShapeError(
            f"{name}() expects key_padding_mask of shape {(n_keys,)} or {(n, n_keys)}, got {found}."
        )
    keep = xp.logical_not(key_padding_mask)
    keep = keep if len(found) == 1 else xp.reshape(keep, (*_known(found[0]), 1, 1, n_keys))
    return _both(xp, mask, keep)


def _both(xp: Any, mask: Any, keep: Any) -> Any:
    """A mask, bool or float or None, and a bool one besides."""
    if mask is None:
        return keep
    if xp.dtype_name(mask.dtype) == "bool":
        return xp.logical_and(mask, keep)
    return xp.where(keep, mask, float("-inf"))


def _with_appended_keys(
    name: str,
    xp: Any,
    k: Any,
    v: Any,
    mask: Any,
    is_causal: bool,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    size: Any,
) -> tuple[Any, Any, Any, bool]:
    if (bias_k is None) != (bias_v is None):
        raise ArgumentError(f"{name}() expects bias_k and bias_v together, got only one of them.")
    if bias_k is None and not add_zero_attn:
        return k, v, mask, is_causal
    heads, head_width = k.shape[1], k.shape[3]
    more_k, more_v = [k], [v]
    if bias_k is not None:
        for what, bias, rows in (("bias_k", bias_k, more_k), ("bias_v", bias_v, more_v)):
            if tuple(bias.shape) not in ((heads * head_width,), (1, 1, heads * head_width)):
                raise ShapeError(
                    f"{name}() expects {what} of shape {(heads * head_width,)} or {(1, 1, heads * head_width)}, "
                    f"got {tuple(bias.shape)}."
                )
            row = xp.reshape(bias, (1, heads, 1, head_width))
            rows.append(xp.zeros_like(k[:, :, :1]) + row)
    if add_zero_attn:
        more_k.append(xp.zeros_like(k[:, :, :1]))
        more_v.append(xp.zeros_like(v[:, :, :1]))
    if is_causal:
        # Key j for query i when j <= i, among the keys that were there before.
        length, n_keys = size
        rows, columns = xp.arange(length), xp.arange(n_keys)
        mask = _both(xp, mask, xp.expand_dims(columns, axis=0) <= xp.expand_dims(rows, axis=1))
    if mask is not None:
        extra = len(more_k) - 1
        seen = (
            xp.ones_like(mask[..., :1])
            if xp.dtype_name(mask.dtype) == "bool"
            else xp.zeros_like(mask[..., :1])
        )
        if mask.shape[-1] == 1 and size[1] != 1:
            mask = xp.broadcast_to(mask, (*mask.shape[:-1], size[1]))
        mask = xp.concat([mask, *[seen] * extra], axis=-1)
    return xp.concat(more_k, axis=2), xp.concat(more_v, axis=2), mask, False


def _out_projection(name: str, xp: Any, out: Any, weights: Any, bias: Any, width: int) -> Any:
    if weights is not None:
        if len(weights.shape) != 2 or weights.shape[1] != width:
            raise ShapeError(
                f"{name}() expects out_proj_weights of shape (O, {width}), got {tuple(weights.shape)}."
            )
        width = weights.shape[0]
    if bias is not None and tuple(bias.shape) != (width,):
        raise ShapeError(
            f"{name}() expects out_proj_bias of shape {(width,)}, got {tuple(bias.shape)}."
        )
    if weights is not None:
        return xp.linear(out, weights, bias)
    return out if bias is None else out + bias
