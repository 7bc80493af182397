"""Compilation on JAX."""

from collections.abc import Callable
from typing import Any

import jax

from ..._core.errors import TracingError
from ..exports import hand_on


def compile_function(
    fn: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
    strict: bool = False,
) -> Callable[..., Any]:
    return jax.jit(fn, static_argnums=static_argnums, static_argnames=static_argnames)


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """`fn` compiled, as JAX's eager mode compiles every composed step anew; itself if it needs
    values.
    """
    compiled = jax.jit(fn)
    try:
        compiled(*args)
    except (TracingError, jax.errors.JAXTypeError, jax.errors.JAXIndexError):
        return fn
    return compiled


hand_on(globals())
