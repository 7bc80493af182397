"""Control flow in Python, without a compiler."""

import functools
from collections.abc import Callable
from typing import Any

from ...._core import tree
from ...._core.dispatch import name_of
from ...._core.tracing import is_pretended, pretending
from ...array_api import Native
from . import xp


def cond(
    pred: Native, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any) -> Any:
    state = init
    while bool(cond_fn(state)):
        state = body_fn(state)
    return state


def scan(fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    leaves, spec = tree.flatten(xs)
    carry, outputs = init, []
    for i in range(leaves[0].shape[0]):
        carry, y = fn(carry, tree.unflatten(spec, [leaf[i, ...] for leaf in leaves]))
        outputs.append(y)
    if not outputs:  # one step on zeros finds the shapes of the outputs
        zeros = [xp.zeros(leaf.shape[1:], dtype=leaf.dtype) for leaf in leaves]
        y = fn(init, tree.unflatten(spec, zeros))[1]
        return carry, tree.map(lambda part: xp.zeros((0, *part.shape), dtype=part.dtype), y)
    return carry, tree.map(lambda *ys: xp.stack(ys), *outputs)


def compile_function(
    fn: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
    donate_argnums: tuple[int, ...] = (),
    strict: bool = False,
    carry: int | None = None,
) -> Callable[..., Any]:
    """`fn` itself; a draw without a key or a new buffer raises, as with a compiler."""

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        with pretending(name_of(xp)):
            return fn(*args, **kwargs)

    return called


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """The function itself: eager calls need no compilation here."""
    return fn


def is_tracing() -> bool:
    return is_pretended(name_of(xp))


def is_concrete(x: Native) -> bool:
    return True


def lasts(x: Native) -> bool:
    return not xp.is_tracing()
