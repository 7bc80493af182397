"""Control flow: Python's, and PyTorch's operators where a compiled predicate is data."""

from collections.abc import Callable
from typing import Any

import torch

from ..._core import tree
from ..._core.errors import NotSupportedError
from ._long_loops import (
    LONG,
    MANY,
    in_pieces,
    leave_the_compiler,
    loops_in_graph,
    may_leave,
    note_a_loop,
    stacked,
    state,
)
from ._private import run_while_tracing, running_transform
from ._private import scan as scan_in_graph
from ._private import while_loop as while_loop_in_graph
from .gradients import (
    BRANCH,
    LOOP,
    RULE,
    compiling_inside,
    entered,
    in_part,
    takes_one_derivative,
)


def _is_traced(pred: Any) -> bool:
    return isinstance(pred, torch.Tensor) and torch.compiler.is_compiling()


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    """`true_fn(*operands)` or `false_fn(*operands)`; under torch.compile a tensor predicate stays
    data.

    There, torch.cond requires that both branches return tensors of the same shapes and dtypes, in
    tuples, lists or dicts; a Container made inside a branch does not leave it.
    """
    if _is_traced(pred):
        leaves, spec = tree.flatten(operands)

        def trace() -> Any:
            return torch.cond(
                pred,
                lambda *xs: _unaliased(true_fn(*tree.unflatten(spec, xs))),
                lambda *xs: _unaliased(false_fn(*tree.unflatten(spec, xs))),
                tuple(leaves),
            )

        return trace() if in_part() else entered(BRANCH, trace)
    return true_fn(*operands) if pred else false_fn(*operands)


def _unaliased(result: Any) -> Any:
    # torch.cond raises if a branch returns one of its inputs or a view of it, or another layout
    # than the other branch.
    leaves, spec = tree.flatten(result)
    layout = torch.contiguous_format
    copies = [x.clone(memory_format=layout) if isinstance(x, torch.Tensor) else x for x in leaves]
    return tree.unflatten(spec, copies)


def while_loop(cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any) -> Any:
    """`body_fn` applied to the state while `cond_fn` of it is true; the state is any pytree of
    tensors.

    Under torch.compile, a predicate that is data makes it one loop of the graph. That loop has no
    gradient: use `scan`, or call it outside torch.compile. Inside `vmap` it runs until no row goes
    on; the rows that have ended keep their state.
    """
    pred = cond_fn(init)
    if _is_traced(pred):
        return _traced_while_loop(cond_fn, body_fn, init)
    state = init
    if isinstance(pred, torch.Tensor) and running_transform() is not None:
        while _Any.apply(pred):
            state = _chosen(pred, body_fn(state), state)
            pred = torch.logical_and(pred, cond_fn(state))
        return state
    while pred:
        state = body_fn(state)
        pred = cond_fn(state)
    return state


def _chosen(pred: Any, new: Any, old: Any) -> Any:
    return tree.map(lambda x, y: torch.where(pred, x, y), new, old)


class _Any(torch.autograd.Function):
    """Whether a predicate holds in any row of `vmap`: a truth value that Python may ask for."""

    @staticmethod
    def forward(pred: Any) -> Any:
        return pred.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> None:
        return None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], pred: Any) -> tuple[Any, None]:
        return _Any.apply(pred if in_dims[0] is None else torch.any(pred, in_dims[0])), None


def _traced_while_loop(
    cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any
) -> Any:
    if while_loop_in_graph is None:
        raise NotSupportedError(
            "This version of torch has no loop for compiled code. Call while_loop() outside of "
            "trellis.compile, or use trellis.scan with a fixed number of steps."
        )
    leaves, spec = tree.flatten(init)

    def body(*xs: Any) -> Any:
        # The loop needs the same memory layout for its inputs and its results.
        new = tree.flatten(body_fn(tree.unflatten(spec, xs)))[0]
        return tuple([x.contiguous() for x in new])

    def trace() -> Any:
        return while_loop_in_graph(
            lambda *xs: cond_fn(tree.unflatten(spec, xs)),
            body,
            tuple([x.contiguous() for x in leaves]),
        )

    transforms = [name for name in compiling_inside if name not in (LOOP, RULE, BRANCH)]
    if transforms and LOOP not in compiling_inside:
        raise NotSupportedError(
            "torch.compile has no loop inside a derivative or vmap. Leave torch.compile away here: "
            "eagerly it works; or use trellis.scan with a fixed number of steps."
        )
    out = trace() if compiling_inside else entered(LOOP, trace)
    return tree.unflatten(spec, out)


def scan(fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    """Carry a state along axis 0 of `xs`: `carry, y = fn(carry, x)`; returns the last carry and all
    `y`.

    A Python loop. torch.compile unrolls a short one; see `_long_loops` for the others.
    """
    leaves, spec = tree.flatten(xs)
    carry, outputs = init, []
    length = leaves[0].shape[0]
    if length >= LONG and torch.compiler.is_compiling():
        if not compiling_inside and loops_in_graph["are_kept"]:
            found = _traced_scan(fn, init, leaves, spec)
            if found is not None:
                return found
        _leave(length)
    if length >= MANY:
        if torch.compiler.is_compiling():
            if "vjp" in compiling_inside and may_leave():
                _leave(length)
        elif getattr(state, "has_left", False) and takes_one_derivative():
            return _scan_in_pieces(fn, init, leaves, spec)
    for i in range(length):
        carry, y = fn(carry, tree.unflatten(spec, [leaf[i] for leaf in leaves]))
        outputs.append(tree.flatten(y))
    if length == 0:  # one step on zeros finds the shapes of the outputs
        zeros = [
            torch.zeros(leaf.shape[1:], dtype=leaf.dtype, device=leaf.device) for leaf in leaves
        ]
        ys, out_spec = tree.flatten(fn(init, tree.unflatten(spec, zeros))[1])
        return carry, tree.unflatten(out_spec, [y.new_empty((0, *y.shape)) for y in ys])
    columns = [stacked([ys[i] for ys, _ in outputs]) for i in range(len(outputs[0][0]))]
    return carry, tree.unflatten(outputs[0][1], columns)


def _scan_in_pieces(fn: Any, init: Any, leaves: list[Any], spec: Any) -> Any:
    """A loop of Python over compiled pieces. The first step, which may find a state that needs no
    gradient yet, and those that are left run as they are."""
    carry, y = fn(init, tree.unflatten(spec, [leaf[0] for leaf in leaves]))
    first, out_spec = tree.flatten(y)
    carry, pieces, i = in_pieces(fn, carry, leaves, spec, 1)
    rows = [[stacked([y]) for y in first], *pieces]
    for n in range(i, leaves[0].shape[0]):
        carry, y = fn(carry, tree.unflatten(spec, [leaf[n] for leaf in leaves]))
        rows.append([stacked([y]) for y in tree.leaves(y)])
    columns = [torch.cat([row[j] for row in rows]) for j in range(len(first))]
    return carry, tree.unflatten(out_spec, columns)


_leave, _note = run_while_tracing(leave_the_compiler), run_while_tracing(note_a_loop)


def _traced_scan(fn: Any, init: Any, leaves: list[Any], spec: Any) -> Any:
    """One loop of the graph; None where the state is not made of tensors."""
    states, state_spec = tree.flatten(init)
    if scan_in_graph is None or not all([isinstance(x, torch.Tensor) for x in states]):
        return None
    _note()
    # One step beside the loop finds the structure of the outputs, which a loop cannot tell. The
    # compiler drops its numbers.
    first = fn(init, tree.unflatten(spec, [leaf[0] for leaf in leaves]))
    out_spec = tree.flatten(first[1])[1]

    def step(carry: Any, x: Any) -> Any:
        new, y = fn(tree.unflatten(state_spec, list(carry)), tree.unflatten(spec, list(x)))
        return _fresh(tree.leaves(new)), _fresh(tree.leaves(y))

    last, ys = entered(
        LOOP,
        lambda: scan_in_graph(step, _fresh(states), [leaf.contiguous() for leaf in leaves]),
    )
    return tree.unflatten(state_spec, list(last)), tree.unflatten(out_spec, list(ys))


def _fresh(values: list[Any]) -> list[Any]:
    """New tensors, one after the other in memory: those of a loop may not share it, and have the
    same layout in every step."""
    tensors = [y if isinstance(y, torch.Tensor) else torch.tensor(y) for y in values]
    return [y.clone(memory_format=torch.contiguous_format) for y in tensors]
