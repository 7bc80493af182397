"""The LSTM as one compiled loop."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ._types import Array

# `scan` over one step serves here.
RECURRENCES: dict[str, Callable[..., Any]] = {}


@jax.jit
def lstm(
    x: Array, h: Array, c: Array, kernel: Array, recurrent_kernel: Array, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in)."""
    # XLA's CPU kernels are faster step by step than for all inputs at once.

    def step(state: Any, at: Any) -> Any:
        z = at @ kernel + state[0] @ recurrent_kernel
        i, f, g, o = jnp.split(z if bias is None else z + bias, 4, axis=-1)
        c = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    state, hs = lax.scan(step, (h, c), x)
    return hs, state
