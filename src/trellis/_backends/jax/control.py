"""Branches and loops that can be compiled."""

from collections.abc import Callable
from typing import Any

import jax

from ._helpers import is_abstract
from ._programs import Traced, compiled
from .tracing import is_concrete, is_tracing


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    if is_concrete(pred):  # then there is nothing to compile
        return (true_fn if bool(pred) else false_fn)(*operands)
    return jax.lax.cond(pred, true_fn, false_fn, *operands)


def while_loop(cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any) -> Any:
    """Repeat `body_fn` while `cond_fn` is true.

    Inside `jax.jit` JAX has no reverse gradient of it; inside `jax.grad` alone it runs in Python
    and has one.
    """
    is_differentiated = any(
        [isinstance(x, jax.core.Tracer) for x in jax.tree_util.tree_leaves(init)]
    )
    if is_tracing() or (is_differentiated and is_abstract(cond_fn(init))):
        return jax.lax.while_loop(cond_fn, body_fn, init)
    if not is_differentiated:
        test, body = Traced(cond_fn, init), Traced(body_fn, init)

        def run(tested: Any, repeated: Any, init: Any) -> Any:
            return jax.lax.while_loop(
                lambda state: test.call(tested, state), lambda s: body.call(repeated, s), init
            )

        return compiled("while_loop", (test, body), lambda: run)(test.consts, body.consts, init)
    state = init
    while cond_fn(state):
        state = body_fn(state)
    return state


def scan(fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    """Carry a state along axis 0 of `xs`: `fn(carry, x) -> (carry, y)`; the result is `(carry,
    ys)`.
    """
    if is_tracing():  # it is compiled together with all around it
        carry, ys = jax.lax.scan(fn, init, xs)
        return carry, ys
    row = jax.tree_util.tree_map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    body = Traced(fn, init, row)

    def run(consts: Any, init: Any, xs: Any) -> Any:
        return jax.lax.scan(lambda carry, x: body.call(consts, carry, x), init, xs)

    carry, ys = compiled("scan", (body,), lambda: run)(body.consts, init, xs)
    return carry, ys
