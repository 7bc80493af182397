"""Compilation on JAX."""

from collections.abc import Callable
from typing import Any

import jax


def compile_function(
    fn: Callable[..., Any], *, static_argnums: tuple[int, ...], static_argnames: tuple[str, ...]
) -> Callable[..., Any]:
    return jax.jit(fn, static_argnums=static_argnums, static_argnames=static_argnames)
