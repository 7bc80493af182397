"""Differentiation on torch. All functions here work on flat lists.

Eagerly, and outside torch.func transforms, plain autograd is the fastest; inside them and while
compiling, only torch.func composes. Both give the same numbers.
"""

import threading
from collections.abc import Callable
from typing import Any

import torch

from ..._core import tree
from ..._core.errors import NotSupportedError
from ..interface import AuxFn, ListFn
from ._private import (
    count_forward,
    load_forward_formulas,
    run_while_tracing,
    running_transform,
)
from ._types import Tensor

FLOAT_DTYPES = frozenset([torch.float16, torch.bfloat16, torch.float32, torch.float64])

# How many of our own differentiations enclose the running code, per thread.
_nesting = threading.local()
# The torch.func transforms of ours around the code that is being compiled. A part of the graph that
# Dynamo traces by itself (the body of a loop, a backward pass) is entered before: nothing outside
# of it may change while it is traced, this list included.
compiling_inside: list[str] = []
LOOP, RULE, BRANCH = "while_loop", "a custom gradient", "cond"


def stop_gradient(x: Tensor, /) -> Any:
    return x.detach()


def _in_transform() -> bool:
    """Inside torch.compile or a torch.func transform, whose tensors cannot require gradients."""
    return torch.compiler.is_compiling() or running_transform() is not None


def vjp(
    fn: AuxFn, xs: list[Any], once: bool = False, sparse: bool = False
) -> tuple[list[Any], Any, ListFn]:
    if _in_transform():
        reached: list[bool] = []
        split, join = _tensors_apart(fn, reached)
        outputs, pull, tensors = _transformed(
            "vjp", lambda: torch.func.vjp(split, xs, has_aux=True)
        )
        if sparse and not any(reached):
            return outputs, join(tensors), lambda cotangents: [None for _ in xs]
        return (
            outputs,
            join(tensors),
            lambda cotangents: pull(_instantiated(cotangents, outputs))[0],
        )
    return _plain_vjp(fn, xs, once, sparse)


def takes_one_derivative() -> bool:
    """Whether the running code is differentiated once, by one backward pass of autograd: torch has
    neither a second derivative nor a second backward pass of what it compiled."""
    is_once = getattr(_nesting, "is_once", False)
    return is_once and running_transform() in (None, False)


def _transformed(name: str, transform: Callable[[], Any]) -> Any:
    """Run a torch.func transform; while compiling, count how deep they are nested."""
    if not torch.compiler.is_compiling() or in_part():
        return transform()
    compiling_inside.append(name)
    try:
        return transform()
    finally:
        compiling_inside.pop()


def in_part() -> bool:
    """Whether a part of the graph is traced, which may not note anything outside of it."""
    return any([name in compiling_inside for name in (LOOP, RULE, BRANCH)])


def entered(part: str, trace: Callable[[], Any]) -> Any:
    """Trace a part of the graph."""
    compiling_inside.append(part)
    try:
        return trace()
    finally:
        compiling_inside.pop()


def _instantiated(cotangents: list[Any], outputs: list[Any]) -> list[Any]:
    """None means an output that is not differentiated."""
    return [
        torch.zeros_like(y) if g is None else g for g, y in zip(cotangents, outputs, strict=True)
    ]


def _tensors_apart(fn: Any, reached: list[bool]) -> tuple[Any, Any]:
    """torch.func takes only tensors as auxiliary output: other values are kept outside, and which
    of the outputs have a gradient by any input."""
    outside: list[Any] = []

    def split(xs: list[Any]) -> tuple[list[Any], list[Any]]:
        outputs, aux = fn(xs)
        reached.extend([y.requires_grad for y in outputs])
        leaves, spec = tree.flatten(aux)
        outside.append((spec, [None if isinstance(x, torch.Tensor) else x for x in leaves]))
        return outputs, [x for x in leaves if isinstance(x, torch.Tensor)]

    def join(tensors: list[Any]) -> Any:
        spec, others = outside[-1]
        remaining = list(tensors)
        return tree.unflatten(spec, [remaining.pop(0) if x is None else x for x in others])

    return split, join


def _plain_vjp(fn: Any, xs: list[Any], once: bool, sparse: bool) -> tuple[list[Any], Any, Any]:
    depth = getattr(_nesting, "depth", 0)
    # An outer differentiation (ours, or the user's own graph) follows: keep the graph.
    # Without gradients around (as in a backward pass) a view would be a constant.
    is_on = torch.is_grad_enabled()
    is_inner = depth > 0 or (is_on and any([x.requires_grad for x in xs]))
    leaves = [
        x.view_as(x) if is_on and x.requires_grad else x.detach().requires_grad_() for x in xs
    ]
    _nesting.depth, was_once = depth + 1, getattr(_nesting, "is_once", False)
    _nesting.is_once = once and not is_inner
    try:
        if is_on:
            outputs, aux = fn(leaves)
        else:
            with torch.enable_grad():
                outputs, aux = fn(leaves)
    finally:
        _nesting.depth, _nesting.is_once = depth, was_once

    def pull(cotangents: list[Any]) -> list[Any]:
        pairs = zip(outputs, cotangents, strict=True)
        reached = [(y, g) for y, g in pairs if y.requires_grad and g is not None]
        if not reached:
            return [None if sparse else torch.zeros_like(x) for x in xs]
        found = torch.autograd.grad(
            [y for y, _ in reached],
            leaves,
            [g for _, g in reached],
            retain_graph=is_inner or not once,
            create_graph=is_inner,
            allow_unused=True,
        )
        if sparse:
            return list(found)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(found, xs, strict=True)]

    if is_inner:
        return outputs, aux, pull
    return [y.detach() for y in outputs], None if aux is None else _detached(aux), pull


def _detached(aux: Any) -> Any:
    return tree.map(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, aux)


# Also while a function is traced, where torch's own deprecation would end the compilation.
_load_forward_formulas = run_while_tracing(lambda: load_forward_formulas())


def jvp(fn: AuxFn, xs: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any], Any]:
    _load_forward_formulas()
    split, join = _tensors_apart(fn, [])
    outputs, out_tangents, tensors = _transformed(
        "jvp", lambda: torch.func.jvp(split, (xs,), (tangents,), has_aux=True)
    )
    return outputs, out_tangents, join(tensors)


def jacobian(fn: ListFn, xs: list[Any]) -> list[list[Any]]:
    return _transformed("jacobian", lambda: torch.func.jacrev(fn)(xs))


def vmap(
    fn: ListFn, xs: list[Any], axes: list[int | None], out_axes: list[int], size: int
) -> list[Any]:
    out_dims = out_axes[0] if len(out_axes) == 1 else out_axes
    return _transformed("vmap", lambda: torch.func.vmap(fn, in_dims=(axes,), out_dims=out_dims)(xs))


def loses_rules() -> bool:
    """Whether torch.compile, which is tracing, would lose a custom gradient here."""
    # How many transforms there are inside a loop or a branch, nobody can count.
    transforms = [name for name in compiling_inside if name != RULE]
    return len(transforms) > 1 or LOOP in transforms or BRANCH in transforms


def custom_vjp(
    fn: ListFn,
    rule: Callable[[list[Any], list[Any], list[Any]], list[Any]],
) -> ListFn:
    def call(xs: list[Any]) -> list[Any]:
        if torch.compiler.is_compiling():
            if loses_rules():
                transforms = " of ".join([name for name in compiling_inside if name != RULE])
                raise NotSupportedError(
                    "torch.compile loses a custom gradient inside a loop, branch or two transforms "
                    f"({transforms}). Leave torch.compile away here; eagerly it works."
                )
            # Dynamo traces `fn` separately, and it must not write to anything outside; the
            # structure of its result is therefore stored here. The compiler drops the rest.
            fn([x.detach() for x in xs])
            if not in_part():
                return entered(RULE, lambda: _applied(fn, rule, xs))
        return _applied(fn, rule, xs)

    return call


def _applied(fn: ListFn, rule: Callable[..., list[Any]], xs: list[Any]) -> list[Any]:
    # The view is needed: Dynamo assumes that a tensor straight from torch.func needs no gradient,
    # and would silently trace `fn` alone. It checks again for the result of an operation.
    return list(_Opaque.apply(fn, rule, *[x.view_as(x) for x in xs]))


class _Opaque(torch.autograd.Function):
    """One class for all bound functions: torch.compile cannot trace the creation of a class."""

    generate_vmap_rule = True

    @staticmethod
    def forward(fn: Any, rule: Any, *xs: Any) -> tuple[Any, ...]:
        # autograd needs new tensors: an input that is returned unchanged would stay connected.
        return tuple([y.view_as(y) if any([y is x for x in xs]) else y for y in fn(list(xs))])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        ctx.rule, ctx.count = inputs[1], len(inputs) - 2
        ctx.save_for_backward(*inputs[2:], *output)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Any, ...]:
        saved = list(ctx.saved_tensors)
        xs, ys = saved[: ctx.count], saved[ctx.count :]
        return (None, None, *ctx.rule(xs, ys, list(upstream)))


def custom_jvp(
    fn: ListFn,
    rule: Callable[[list[Any], list[Any], list[Any]], list[Any]],
    push: Callable[[list[Any], list[Any], list[Any]], list[Any]],
) -> ListFn:
    """Dynamo takes no function that has a forward mode: compiled code has reverse mode alone."""
    opaque = custom_vjp(fn, rule)

    def call(xs: list[Any]) -> list[Any]:
        if torch.compiler.is_compiling():
            return opaque(xs)
        return list(_OpaqueBothWays.apply(fn, rule, push, *[x.view_as(x) for x in xs]))

    return call


class _OpaqueBothWays(torch.autograd.Function):
    """`_Opaque` with forward mode."""

    generate_vmap_rule = True

    @staticmethod
    def forward(fn: Any, rule: Any, push: Any, *xs: Any) -> tuple[Any, ...]:
        return _Opaque.forward(fn, rule, *xs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        ctx.rule, ctx.push, ctx.count = inputs[1], inputs[2], len(inputs) - 3
        ctx.save_for_backward(*inputs[3:], *output)
        ctx.save_for_forward(*inputs[3:], *output)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Any, ...]:
        saved = list(ctx.saved_tensors)
        xs, ys = saved[: ctx.count], saved[ctx.count :]
        return (None, None, None, *ctx.rule(xs, ys, list(upstream)))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Any, ...]:
        if count_forward() > 1:  # torch runs this without forward mode: the result would be 0
            raise NotSupportedError(
                "torch has no forward mode (jvp) of the forward mode of a custom derivative. Write "
                "one of the two as grad() or vjp()."
            )
        saved = list(ctx.saved_tensors)
        xs, ys = saved[: ctx.count], saved[ctx.count :]
        return tuple(ctx.push(xs, ys, list(tangents[3:])))


def checkpoint(fn: ListFn) -> ListFn:
    from torch.utils.checkpoint import checkpoint as torch_checkpoint
    from torch.utils.checkpoint import set_checkpoint_early_stop

    def call(xs: list[Any]) -> list[Any]:
        if _in_transform():
            # torch.func has no recomputation; the compiler chooses what to recompute by itself.
            return fn(xs)
        # Without an early stop: torch stops the second run by an exception, which `fn` may catch.
        with set_checkpoint_early_stop(False):
            return list(
                torch_checkpoint(lambda *leaves: tuple(fn(list(leaves))), *xs, use_reentrant=False)
            )

    return call
