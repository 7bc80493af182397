"""What several files of this backend need."""

from typing import Any

import jax
import jax.numpy as jnp

from ..._core.errors import TracingError
from ._types import Array


def is_array(x: Array) -> bool:
    """Whether `x` is an array of JAX; tracers are not subclasses of `jax.Array`."""
    return isinstance(x, (jax.Array, jax.core.Tracer))


def is_abstract(x: Array) -> bool:
    """Whether `x` has no value yet: inside `jax.jit`, `vmap` or `scan`, not in `jax.grad` alone."""
    return isinstance(x, jax.core.Tracer) and x.to_concrete_value() is None


def refuse_abstract(x: Array, function: str, instead: str) -> None:
    """Raise where the shape of a result would depend on values that tracing does not know."""
    if is_abstract(x):
        raise TracingError(
            f"{function}() has a result whose shape depends on the values of its input, and inside "
            "jax.jit, vmap or scan there are no values yet. Call it outside the compiled function, "
            f"or {instead}."
        )


def with_bias(y: Array, bias: Any) -> Any:
    """`y + bias`; halves in float32, for the bias's derivative: sums over a batch stall in them."""
    if y.dtype.itemsize > 2 or not jnp.issubdtype(y.dtype, jnp.floating):
        return y + bias
    return (y.astype(jnp.float32) + bias.astype(jnp.float32)).astype(y.dtype)
