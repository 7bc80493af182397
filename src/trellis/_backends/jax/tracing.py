"""Whether a compiler is at work, and whether values can be looked at."""

import jax
import jax.numpy as jnp

from ._private import trace_state, trace_state_at_rest
from ._types import Array


def is_tracing() -> bool:
    """Whether a function is being compiled; differentiating or vectorising eagerly does not
    count.
    """
    if trace_state() == trace_state_at_rest:
        return False
    # Inside `jit` even a new constant is symbolic; under an eager `grad` or `vmap` it is not.
    return isinstance(jnp.zeros(()) + 0, jax.core.Tracer)


def is_concrete(x: Array) -> bool:
    """Whether the values of `x` can be looked at now: inside `jit` all that is computed from a
    constant is symbolic.
    """
    return not isinstance(x, jax.core.Tracer) and not is_tracing()


def lasts(x: Array) -> bool:
    """Whether `x` can be kept when the running function has ended."""
    return not isinstance(x, jax.core.Tracer)
