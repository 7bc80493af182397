"""Control flow: Python's own, and PyTorch's operators where a compiler meets a predicate that is
data.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree


def _is_traced(pred: Any) -> bool:
    return isinstance(pred, torch.Tensor) and torch.compiler.is_compiling()


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    """`true_fn(*operands)` or `false_fn(*operands)`; under torch.compile a tensor predicate stays
    data.

    There, torch.cond asks that both branches return tensors of the same shapes and dtypes, in
    tuples, lists or dicts; a Container made inside a branch does not leave it.
    """
    if _is_traced(pred):
        leaves, spec = _pytree.tree_flatten(operands)
        return torch.cond(
            pred,
            lambda *xs: _unaliased(true_fn(*_pytree.tree_unflatten(xs, spec))),
            lambda *xs: _unaliased(false_fn(*_pytree.tree_unflatten(xs, spec))),
            tuple(leaves),
        )
    return true_fn(*operands) if pred else false_fn(*operands)


def _unaliased(result: Any) -> Any:
    # torch.cond refuses branches that hand back one of their inputs, or a view of it.
    leaves, spec = _pytree.tree_flatten(result)
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves]
    return _pytree.tree_unflatten(copies, spec)


def while_loop(cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any) -> Any:
    """`body_fn` applied to the state while `cond_fn` of it is true; the state is any nest of
    tensors.

    Under torch.compile, a predicate that is data makes it one loop of the graph. That loop has no
    gradient of its own: use `scan`, or call it outside of torch.compile.
    """
    pred = cond_fn(init)
    if _is_traced(pred):
        return _traced_while_loop(cond_fn, body_fn, init)
    state = init
    while pred:
        state = body_fn(state)
        pred = cond_fn(state)
    return state


def _traced_while_loop(
    cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any
) -> Any:
    from torch._higher_order_ops.while_loop import while_loop as native_while_loop

    leaves, spec = _pytree.tree_flatten(init)

    def body(*xs: Any) -> Any:
        # The loop wants one layout in memory for what goes in and what comes out.
        new = _pytree.tree_flatten(body_fn(_pytree.tree_unflatten(xs, spec)))[0]
        return tuple([x.contiguous() for x in new])

    out = native_while_loop(
        lambda *xs: cond_fn(_pytree.tree_unflatten(xs, spec)),
        body,
        tuple([x.contiguous() for x in leaves]),
    )
    return _pytree.tree_unflatten(out, spec)


def scan(fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    """Carry a state along axis 0 of `xs`: `carry, y = fn(carry, x)`; returns the last carry and all
    `y`.

    A Python loop: torch.compile unrolls it, so the graph grows with the length.
    """
    leaves, spec = _pytree.tree_flatten(xs)
    carry, outputs = init, []
    length = leaves[0].shape[0]
    for i in range(length):
        carry, y = fn(carry, _pytree.tree_unflatten([leaf[i] for leaf in leaves], spec))
        outputs.append(_pytree.tree_flatten(y))
    if length == 0:  # one step on zeros tells the shapes of the outputs
        zeros = [
            torch.zeros(leaf.shape[1:], dtype=leaf.dtype, device=leaf.device) for leaf in leaves
        ]
        ys, out_spec = _pytree.tree_flatten(fn(init, _pytree.tree_unflatten(zeros, spec))[1])
        return carry, _pytree.tree_unflatten([y.new_empty((0, *y.shape)) for y in ys], out_spec)
    columns = [_stacked([ys[i] for ys, _ in outputs]) for i in range(len(outputs[0][0]))]
    return carry, _pytree.tree_unflatten(columns, outputs[0][1])


def _stacked(column: list[Any]) -> Any:
    if column[0] is None:  # a leaf in the eyes of PyTorch
        return None
    return torch.stack([y if isinstance(y, torch.Tensor) else torch.tensor(y) for y in column])
