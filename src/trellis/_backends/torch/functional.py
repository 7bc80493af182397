"""Layer kernels on PyTorch: convolution, attention, the LSTM.

PyTorch's fused attention and LSTM have first derivatives only. `_Fused` uses them and gives the plain formula to
whoever differentiates twice.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .gradients import _compiling_inside

__all__ = ["attention", "attention_weights", "conv", "conv_transpose", "linear", "lstm"]

_convs = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_HALVES = (torch.float16, torch.bfloat16)
_transposed_convs = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def conv(
    x: Any, filters: Any, bias: Any, *, strides: Any, padding: Any, x_dilations: Any, dilations: Any, groups: int,
    channel_first: bool, filter_first: bool,
) -> Any:  # fmt: skip
    """Cross-correlation; `padding` is one (low, high) pair per spatial axis, all arguments are checked before."""
    dims = len(strides)
    x = x if channel_first else x.movedim(-1, 1)
    filters = filters if filter_first else _to_first_filters(filters, dims)
    if max(x_dilations) > 1:
        x = _spread(x, x_dilations)
    lows = [low for low, _ in padding]
    if any([low != high for low, high in padding]):
        x = F.pad(x, _flat(padding))
        lows = [0] * dims
    y = _convs[dims](x, filters, bias, strides, lows, dilations, groups)
    return y if channel_first else y.movedim(1, -1)


def conv_transpose(
    x: Any, filters: Any, bias: Any, *, strides: Any, starts: Any, outs: Any, dilations: Any, groups: int,
    channel_first: bool, filter_first: bool,
) -> Any:  # fmt: skip
    """The elements from `starts` on, `outs` of them, of the full transposed convolution; zeros beyond its end."""
    dims = len(strides)
    if dims == 3 and x.dtype in _HALVES and x.is_cpu:
        # In half precision this kernel is off by more than two units in the last place.
        y = conv_transpose(
            x.float(), filters.float(), None if bias is None else bias.float(), strides=strides, starts=starts,
            outs=outs, dilations=dilations, groups=groups, channel_first=channel_first, filter_first=filter_first,
        )  # fmt: skip
        return y.to(x.dtype)
    x = x if channel_first else x.movedim(-1, 1)
    filters = filters if filter_first else _to_first_filters(filters, dims)
    ends = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in zip(
        x.shape[2:], filters.shape[2:], strides, dilations, strict=True)]  # fmt: skip
    # PyTorch takes `start` elements off both ends, and can give back fewer than max(s, d) at the end.
    extra = [
        max(out - (end - 2 * start), 0) for out, end, start in zip(outs, ends, starts, strict=True)
    ]
    fits = [
        more < max(s, d) and end > 2 * start
        for more, s, d, end, start in zip(extra, strides, dilations, ends, starts, strict=True)
    ]
    if all(fits):
        y = _transposed_convs[dims](x, filters, bias, strides, starts, extra, groups, dilations)
        if tuple(y.shape[2:]) != tuple(outs):
            y = y[(slice(None), slice(None), *[slice(0, out) for out in outs])]
    else:
        y = _transposed_convs[dims](x, filters, None, strides, 0, 0, groups, dilations)
        y = y[
            (
                slice(None),
                slice(None),
                *[slice(a, a + out) for a, out in zip(starts, outs, strict=True)],
            )
        ]
        y = F.pad(y, _flat([(0, out - size) for out, size in zip(outs, y.shape[2:], strict=True)]))
        y = y if bias is None else y + bias.reshape(-1, *[1] * dims)
    return y if channel_first else y.movedim(1, -1)


def _to_first_filters(filters: Any, dims: int) -> Any:
    # A copy: some backward kernels of PyTorch refuse permuted filters, others are slow with them.
    return filters.permute(dims + 1, dims, *range(dims)).clone(
        memory_format=torch.contiguous_format
    )


def _flat(pairs: Any) -> list[int]:
    """Pairs in the order of `F.pad`: last axis first."""
    return [size for pair in reversed(pairs) for size in pair]


def _spread(x: Any, steps: Any) -> Any:
    """Zeros between the elements of a channel-first array."""
    for axis, step in enumerate(steps, start=2):
        if step > 1:
            n = x.shape[axis]
            x = F.pad(x.movedim(axis, -1).unsqueeze(-1), (0, step - 1)).flatten(-2)
            x = x[..., : (n - 1) * step + 1].movedim(-1, axis)
    return x


# Dense, attention, recurrent -------------------------------------------------------------------------


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` for a weight of two axes (out, in)."""
    return F.linear(x, weight, bias)


def attention(query: Any, key: Any, value: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
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

    def formula(query: Any, key: Any, value: Any, mask: Any) -> Any:
        return attention_weights(query, key, mask, scale=scale, is_causal=is_causal) @ value

    def fused(query: Any, key: Any, value: Any, mask: Any) -> Any:
        return _fused_attention(query, key, value, mask, scale, is_causal)

    return _fastest(fused, formula, query, key, value, mask)


def _fused_attention(
    query: Any, key: Any, value: Any, mask: Any, scale: float, is_causal: bool
) -> Any:
    """PyTorch's fast kernel knows exactly four axes and no broadcasting; anything else falls to a slow path."""
    q, k, v = query.shape[:-2], key.shape[:-2], value.shape[:-2]
    is_alike = q == k == v
    if is_alike and len(q) == 2:
        return F.scaled_dot_product_attention(query, key, value, mask, 0.0, is_causal, scale=scale)
    is_grouped = k == v and len(q) == len(k) == 3 and k[:2] == q[:2] and k[2] == 1
    if is_grouped and (mask is None or mask.ndim in (2, 5)):
        # (B, heads, group, Q, F) beside (B, heads, 1, K, F): one key head for each group of query heads.
        if mask is not None and mask.ndim == 5:
            is_shared = mask.shape[1] == mask.shape[2] == 1
            heads = (1, 1) if is_shared else q[1:]
            mask = mask.expand(-1, *heads, -1, -1).flatten(1, 2)
        y = F.scaled_dot_product_attention(
            query.flatten(1, 2), key.squeeze(2), value.squeeze(2), mask, 0.0, is_causal, scale=scale, enable_gqa=True
        )  # fmt: skip
        return y.unflatten(1, q[1:])
    batch = q if is_alike else torch.broadcast_shapes(q, k, v)
    q4, k4, v4 = [_four_axes(x, batch) for x in (query, key, value)]
    if mask is not None and mask.ndim > 2:
        mask = _four_axes(mask, batch)
    y = F.scaled_dot_product_attention(q4, k4, v4, mask, 0.0, is_causal, scale=scale)
    return y.reshape(batch + y.shape[-2:])


def _four_axes(x: Any, batch: Any) -> Any:
    """(..., L, F) as (1 or B, heads, L, F), stretched over the whole batch."""
    shape = x.shape[-2:]
    if x.shape[:-2] != batch:
        x = x.expand(batch + shape)
    for _ in range(2 - len(batch)):
        x = x.unsqueeze(0)
    return x if len(batch) < 3 else x.reshape(-1, batch[-1], *shape)


def attention_weights(query: Any, key: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
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
    # A softmax over nothing is nan: such rows see finite logits instead, and are cleared afterwards.
    is_empty = torch.isneginf(logits).all(-1, keepdim=True)
    weights = torch.softmax(torch.where(is_empty, 0.0, logits), -1)
    return torch.where(is_empty, 0.0, weights)


def lstm(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in)."""
    xs = (x, h, c, kernel, recurrent_kernel, bias)
    # The derivative of torch.lstm cannot be traced inside torch.func.vjp: its gradients come with an axis more.
    is_formula = torch.compiler.is_compiling() and len(_compiling_inside) > 0
    hs, h_last, c_last = (
        _lstm_formula(*xs) if is_formula else _fastest(_fused_lstm, _lstm_formula, *xs)
    )
    return hs, (h_last, c_last)


def _fused_lstm(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, Any, Any]:
    weights = [kernel.mT.contiguous(), recurrent_kernel.mT.contiguous()]
    if bias is not None:
        weights += [bias, torch.zeros_like(bias)]
    state = (h.unsqueeze(0), c.unsqueeze(0))
    hs, h_last, c_last = torch.lstm(
        x, state, weights, bias is not None, 1, 0.0, False, False, False
    )
    return hs, h_last[0], c_last[0]


def _lstm_formula(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, Any, Any]:
    inputs = x @ kernel
    inputs = inputs if bias is None else inputs + bias
    hs = []
    for at in inputs.unbind(0):
        i, f, g, o = (at + h @ recurrent_kernel).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        hs.append(h)
    return torch.stack(hs), h, c


def _fastest(fused: Callable[..., Any], formula: Callable[..., Any], *xs: Any) -> Any:
    """The fused kernel wherever nobody can ask for more derivatives than it has."""
    if torch.compiler.is_compiling():
        return fused(*xs)
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return formula(*xs)
    if torch.is_grad_enabled() and any([x is not None and x.requires_grad for x in xs]):
        return _Fused.apply(fused, formula, *xs)
    return fused(*xs)


class _Fused(torch.autograd.Function):
    """A fused kernel with its own backward pass; differentiated again, the formula takes its place."""

    @staticmethod
    def forward(ctx: Any, fused: Any, formula: Any, *xs: Any) -> Any:
        ctx.formula = formula
        ctx.save_for_backward(*xs)
        with torch.enable_grad():
            ctx.inner = [
                None if x is None else x.detach().requires_grad_(x.requires_grad) for x in xs
            ]
            ctx.ys = fused(*ctx.inner)
        return tuple([y.detach() for y in ctx.ys]) if isinstance(ctx.ys, tuple) else ctx.ys.detach()

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        needed = [i for i, is_needed in enumerate(ctx.needs_input_grad[2:]) if is_needed]
        if torch.is_grad_enabled():
            xs = ctx.saved_tensors
            ys = ctx.formula(*xs)
        else:
            xs, ys = ctx.inner, ctx.ys
        ys = ys if isinstance(ys, tuple) else (ys,)
        found = torch.autograd.grad(
            ys,
            [xs[i] for i in needed],
            gs,
            retain_graph=True,
            create_graph=torch.is_grad_enabled(),
            allow_unused=True,
        )
        grads = [None] * len(ctx.inner)
        for i, grad in zip(needed, found, strict=True):
            grads[i] = grad
        return (None, None, *grads)
