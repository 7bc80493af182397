"""Attention by PyTorch's fused kernel, or by its formula where more derivatives are asked for."""

from typing import Any

import torch
import torch.nn.functional as F

from ._fused import Fused, differentiated, fastest
from ._private import flash
from ._types import Tensor


def attention(
    query: Tensor, key: Tensor, value: Any, mask: Any, *, scale: float, is_causal: bool
) -> Any:
    if mask is not None and mask.ndim < 2:
        mask = mask.reshape(1, -1)
    if mask is not None and is_causal:
        size = (query.shape[-2], key.shape[-2])
        keep = torch.ones(size, dtype=torch.bool, device=query.device).tril()
        if mask.dtype == torch.bool:
            mask = mask & keep
        else:
            mask = torch.where(keep, mask, -torch.inf)
        is_causal = False

    if is_causal and scale <= 0:
        # The fused kernel writes -inf before it scales, which makes inf or nan of it.
        query, scale = query * scale, 1.0

    def formula(query: Tensor, key: Tensor, value: Any, mask: Any) -> Any:
        return attention_weights(query, key, mask, scale=scale, is_causal=is_causal) @ value

    def fused(query: Tensor, key: Tensor, value: Any, mask: Any) -> Any:
        return _fused_attention(query, key, value, mask, scale, is_causal)

    def recorded(query: Tensor, key: Tensor, value: Any, mask: Any) -> Any:
        if mask is None and _is_flash(query, key, value, scale, is_causal):
            return _Flash.apply(formula, scale, is_causal, query, key, value)
        return Fused.apply(fused, formula, query, key, value, mask)

    return fastest(fused, formula, query, key, value, mask, recorded=recorded)


# The kernel that torch chooses on the CPU, its backward pass, and the choice.
_forward, _backward, _choice = flash
_FLASH = 1  # among the kernels


def _is_flash(query: Tensor, key: Tensor, value: Any, scale: float, is_causal: bool) -> bool:
    if _choice is None or not query.is_cpu or not query.ndim == key.ndim == value.ndim == 4:
        return False
    chosen = _choice(query, key, value, None, 0.0, is_causal, scale=scale)
    return bool(chosen == _FLASH)


class _Flash(torch.autograd.Function):
    """The kernel without the graph that `Fused` makes of it and walks in a pass of its own."""

    @staticmethod
    def forward(
        ctx: Any,
        formula: Any,
        scale: float,
        is_causal: bool,
        query: Tensor,
        key: Tensor,
        value: Any,
    ) -> Any:
        y, sums = _forward(query, key, value, 0.0, is_causal, scale=scale)
        ctx.formula, ctx.scale, ctx.is_causal = formula, scale, is_causal
        ctx.save_for_backward(query, key, value, y, sums)
        return y

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        query, key, value, y, sums = ctx.saved_tensors
        if torch.is_grad_enabled():
            xs = (query, key, value)
            found = differentiated(xs, ctx.formula(*xs, None), gs, ctx.needs_input_grad[3:])
        else:
            found = _backward(
                gs[0], query, key, value, y, sums, 0.0, ctx.is_causal, scale=ctx.scale
            )
        return (None, None, None, *found)


def _fused_attention(
    query: Tensor, key: Tensor, value: Any, mask: Any, scale: float, is_causal: bool
) -> Any:
    """PyTorch's fast kernel knows four axes and no broadcasting; anything else is slow."""
    q, k, v = query.shape[:-2], key.shape[:-2], value.shape[:-2]
    is_alike = q == k == v
    if is_alike and len(q) == 2:
        return F.scaled_dot_product_attention(query, key, value, mask, 0.0, is_causal, scale=scale)
    is_grouped = k == v and len(q) == len(k) == 3 and k[:2] == q[:2] and k[2] == 1
    if is_grouped and (mask is None or mask.ndim in (2, 5)):
        # (B, heads, group, Q, F) beside (B, heads, 1, K, F): one key head for each group of query
        # heads.
        if mask is not None and mask.ndim == 5:
            is_shared = mask.shape[1] == mask.shape[2] == 1
            heads = (1, 1) if is_shared else q[1:]
            mask = mask.expand(-1, *heads, -1, -1).flatten(1, 2)
        y = F.scaled_dot_product_attention(
            query.flatten(1, 2),
            key.squeeze(2),
            value.squeeze(2),
            mask,
            0.0,
            is_causal,
            scale=scale,
            enable_gqa=True,
        )
        return y.unflatten(1, q[1:])
    batch = q if is_alike else torch.broadcast_shapes(q, k, v)
    q4, k4, v4 = [_four_axes(x, batch) for x in (query, key, value)]
    if mask is not None and mask.ndim > 2:
        mask = _four_axes(mask, batch)
    y = F.scaled_dot_product_attention(q4, k4, v4, mask, 0.0, is_causal, scale=scale)
    return y.reshape(batch + y.shape[-2:])


def _four_axes(x: Tensor, batch: Any) -> Any:
    """(..., L, F) as (1 or B, heads, L, F), stretched over the whole batch."""
    shape = x.shape[-2:]
    if x.shape[:-2] != batch:
        x = x.expand(batch + shape)
    for _ in range(2 - len(batch)):
        x = x.unsqueeze(0)
    return x if len(batch) < 3 else x.reshape(-1, batch[-1], *shape)


def attention_weights(
    query: Tensor, key: Tensor, mask: Any, *, scale: float, is_causal: bool
) -> Any:
    """The softmax over the keys; a row without any key to see is zero, with zero gradients."""
    logits = (query * scale) @ key.mT
    if is_causal:
        keep = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril()
    else:
        keep = None
    if mask is not None and mask.dtype == torch.bool:
        keep = mask if keep is None else mask & keep
    elif mask is not None:
        logits = logits + mask
    if keep is None and mask is None:
        return torch.softmax(logits, -1)
    if keep is not None:
        logits = torch.where(keep, logits, -torch.inf)
    # A softmax over nothing is nan: such rows see finite logits instead, and are cleared
    # afterwards.
    is_empty = torch.isneginf(logits).all(-1, keepdim=True)
    weights = torch.softmax(torch.where(is_empty, 0.0, logits), -1)
    return torch.where(is_empty, 0.0, weights)
