"""Compilation on JAX."""

import functools
from collections.abc import Callable
from typing import Any

import jax

from ..._core import tree
from ..._core.errors import TracingError


def compile_function(
    fn: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
    donate_argnums: tuple[int, ...] = (),
    strict: bool = False,
    carry: int | None = None,
) -> Callable[..., Any]:
    if carry is not None:
        return _carrying(fn, carry)
    return jax.jit(
        fn,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        donate_argnums=donate_argnums,
    )


def _carrying(fn: Callable[..., Any], carry: int) -> Callable[..., Any]:
    """Arrays with axes are donated: XLA writes into them instead of copying them. Counters are not:
    several of them may be one array, for which donating raises.
    """

    def of_leaves(large: Any, small: Any, spec: Any, args: Any) -> Any:
        leaves = [large[i] if i in large else small[i] for i in range(len(large) + len(small))]
        carried = tree.unflatten(spec, leaves)
        return fn(*args[:carry], carried, *args[carry:])

    compiled = jax.jit(of_leaves, donate_argnums=0, static_argnums=2)

    @functools.wraps(fn)
    def called(*args: Any) -> Any:
        leaves, spec = tree.flatten(args[carry])
        large = {i: x for i, x in enumerate(leaves) if x.ndim > 1}
        small = {i: x for i, x in enumerate(leaves) if x.ndim <= 1}
        return compiled(large, small, spec, args[:carry] + args[carry + 1 :])

    return called


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """`fn` compiled, since JAX's eager mode compiles every composed step again; `fn` itself if it
    needs values.
    """
    compiled = jax.jit(fn)
    try:
        compiled(*args)
    except (TracingError, jax.errors.JAXTypeError, jax.errors.JAXIndexError):
        return fn
    return compiled
