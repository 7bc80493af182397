"""Fused kernels have first derivatives only: the plain formula is the fallback for higher ones."""

from collections.abc import Callable
from typing import Any

import torch

from ._private import forward_level, is_transforming


def fastest(
    fused: Callable[..., Any],
    formula: Callable[..., Any],
    *xs: Any,
    recorded: Callable[..., Any] | None = None,
) -> Any:
    """The fused kernel, if no higher derivatives can be needed than it has.

    `recorded` is what autograd records, if that is not the kernel with its own backward pass.
    """
    if torch.compiler.is_compiling():
        return fused(*xs)
    if is_transforming() or forward_level() >= 0:
        return formula(*xs)
    if torch.is_grad_enabled() and any([x is not None and x.requires_grad for x in xs]):
        return Fused.apply(fused, formula, *xs) if recorded is None else recorded(*xs)
    return fused(*xs)


class Fused(torch.autograd.Function):
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
        if torch.is_grad_enabled():
            xs = ctx.saved_tensors
            ys = ctx.formula(*xs)
        else:
            xs, ys = ctx.inner, ctx.ys
        return (None, None, *differentiated(xs, ys, gs, ctx.needs_input_grad[2:]))


def differentiated(xs: Any, ys: Any, gs: Any, is_needed: Any) -> list[Any]:
    """The gradients of `ys` by those `xs` that need one, as far as the running pass needs them."""
    needed = [i for i, needs in enumerate(is_needed) if needs]
    found = torch.autograd.grad(
        ys if isinstance(ys, tuple) else (ys,),
        [xs[i] for i in needed],
        gs,
        retain_graph=True,
        create_graph=torch.is_grad_enabled(),
        allow_unused=True,
    )
    grads: list[Any] = [None] * len(xs)
    for i, grad in zip(needed, found, strict=True):
        grads[i] = grad
    return grads
