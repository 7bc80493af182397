"""Branches and loops that can be compiled."""

from collections.abc import Callable
from typing import Any

import jax

from ..exports import hand_on
from ._helpers import is_abstract


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    return jax.lax.cond(pred, true_fn, false_fn, *operands)


def while_loop(cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any) -> Any:
    """Repeat `body_fn` while `cond_fn` holds.

    Inside `jax.jit` JAX has no reverse gradient of it; inside `jax.grad` alone it runs in Python
    and has one.
    """
    is_differentiated = any(
        [isinstance(x, jax.core.Tracer) for x in jax.tree_util.tree_leaves(init)]
    )
    if not is_differentiated or is_abstract(cond_fn(init)):
        return jax.lax.while_loop(cond_fn, body_fn, init)
    state = init
    while cond_fn(state):
        state = body_fn(state)
    return state


def scan(fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    """Carry a state along axis 0 of `xs`: `fn(carry, x) -> (carry, y)`; the result is `(carry,
    ys)`.
    """
    carry, ys = jax.lax.scan(fn, init, xs)
    return carry, ys


hand_on(globals())
