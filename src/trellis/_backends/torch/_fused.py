"""Fused kernels have first derivatives only: the plain formula serves whoever wants more."""

from collections.abc import Callable
from typing import Any

import torch


def fastest(fused: Callable[..., Any], formula: Callable[..., Any], *xs: Any) -> Any:
    """The fused kernel wherever nobody can ask for more derivatives than it has."""
    if torch.compiler.is_compiling():
        return fused(*xs)
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return formula(*xs)
    if torch.is_grad_enabled() and any([x is not None and x.requires_grad for x in xs]):
        return _Fused.apply(fused, formula, *xs)
    return fused(*xs)


class _Fused(torch.autograd.Function):
    """A fused kernel with its backward pass; differentiated again, the formula replaces it."""

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
