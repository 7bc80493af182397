"""Attention masks. In all of them True means that a key is visible."""

from typing import Any

from .._core.dtypes import FLOATING
from .._core.errors import ArgumentError, DtypeError, ShapeError
from .._core.shapes import broadcast_shapes
from .._core.typing import Array, Backend
from ._arguments import differ, known, shapes_differ


def checked_mask(name: str, xp: Backend, mask: Array, shape: tuple[Any, ...], query: Array) -> Any:
    kind = xp.dtype_name(mask.dtype)
    if kind != "bool" and kind not in FLOATING:
        raise DtypeError(
            f"{name}() expects a bool mask (True keeps) or a float mask (added to the logits), got "
            f"{kind}. "
            "Write mask != 0 for a mask of ones and zeros."
        )
    found = tuple(mask.shape)
    if len(found) > len(shape) or shapes_differ(
        broadcast_shapes(found, shape, function=name), shape
    ):
        raise ShapeError(f"{name}() expects a mask that broadcasts to {shape}, got shape {found}.")
    return mask if kind == "bool" or mask.dtype == query.dtype else xp.astype(mask, query.dtype)


def combined_mask(
    name: str,
    xp: Backend,
    q: Array,
    attention_mask: Array | None,
    key_padding_mask: Array | None,
    n_keys: int | None,
) -> Any:
    """One mask that broadcasts to (N, heads, L, S), bool or float, or None."""
    n, heads, length = q.shape[:3]
    mask = attention_mask
    if mask is not None:
        found = tuple(mask.shape)
        if len(found) == 3:
            if (n is not None and found[0] != n * heads) or shapes_differ(
                found[1:], (length, n_keys)
            ):
                raise ShapeError(
                    f"{name}() expects a 3-D attention_mask of shape (N*num_heads, L, S) = "
                    f"{(None if n is None else n * heads, length, n_keys)}, got {found}."
                )
            mask = xp.reshape(mask, (*known(n), heads, *found[1:]))
        elif len(found) not in (2, 4):
            raise ShapeError(
                f"{name}() expects attention_mask of shape (L, S), (N*num_heads, L, S) or 4-D, got "
                f"{found}."
            )
        mask = checked_mask(name, xp, mask, (n, heads, length, n_keys), q)
    if key_padding_mask is None:
        return mask
    if xp.dtype_name(key_padding_mask.dtype) != "bool":
        raise DtypeError(
            f"{name}() expects a bool key_padding_mask (True = ignore), got "
            f"{xp.dtype_name(key_padding_mask.dtype)}."
        )
    found = tuple(key_padding_mask.shape)
    fits = (
        len(found) in (1, 2)
        and not differ(found[-1], n_keys)
        and (len(found) == 1 or not differ(found[0], n))
    )
    if not fits:
        raise ShapeError(
            f"{name}() expects key_padding_mask of shape {(n_keys,)} or {(n, n_keys)}, got {found}."
        )
    keep = xp.logical_not(key_padding_mask)
    if len(found) == 2:
        keep = xp.expand_dims(xp.expand_dims(keep, axis=1), axis=1)
    return both_masks(xp, mask, keep)


def both_masks(xp: Backend, one: Array | None, other: Array | None) -> Any:
    """Two masks as one; each is bool, float, or None."""
    if one is None or other is None:
        return other if one is None else one
    if xp.dtype_name(other.dtype) != "bool":
        if xp.dtype_name(one.dtype) != "bool":
            return one + other
        one, other = other, one
    if xp.dtype_name(one.dtype) == "bool":
        return xp.logical_and(one, other)
    return xp.where(other, one, float("-inf"))


def with_appended_keys(
    name: str,
    xp: Backend,
    k: Array,
    v: Array,
    mask: Array | None,
    is_causal: bool,
    bias_k: Array | None,
    bias_v: Array | None,
    add_zero_attn: bool,
    size: tuple[Any, Any],
) -> tuple[Any, Any, Any, bool]:
    if (bias_k is None) != (bias_v is None):
        raise ArgumentError(f"{name}() expects bias_k and bias_v together, got only one of them.")
    if bias_k is None and not add_zero_attn:
        return k, v, mask, is_causal
    heads, head_width = k.shape[1], k.shape[3]
    more_k, more_v = [k], [v]
    if bias_k is not None and bias_v is not None:
        for what, bias, rows in (("bias_k", bias_k, more_k), ("bias_v", bias_v, more_v)):
            if tuple(bias.shape) not in ((heads * head_width,), (1, 1, heads * head_width)):
                raise ShapeError(
                    f"{name}() expects {what} of shape {(heads * head_width,)} or "
                    f"{(1, 1, heads * head_width)}, got {tuple(bias.shape)}."
                )
            row = xp.reshape(bias, (1, heads, 1, head_width))
            rows.append(xp.zeros_like(k[:, :, :1, :]) + row)
    if add_zero_attn:
        more_k.append(xp.zeros_like(k[:, :, :1, :]))
        more_v.append(xp.zeros_like(v[:, :, :1, :]))
    if is_causal:
        # Key j for query i when j <= i, among the keys that were there before.
        length, n_keys = size
        rows, columns = xp.arange(length), xp.arange(n_keys)
        mask = both_masks(xp, mask, xp.expand_dims(columns, axis=0) <= xp.expand_dims(rows, axis=1))
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
