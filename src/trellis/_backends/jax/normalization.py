"""Layer normalisation, as one compiled program."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from ._types import Array


@partial(jax.jit, static_argnames=("axes", "epsilon"))
def layer_norm(
    x: Array, weight: Any, bias: Any, /, *, axes: tuple[int, ...], epsilon: float
) -> Any:
    """Mean 0 and variance 1 along `axes`, then times weight plus bias, whose axes are those."""
    # Two passes: what the rounded mean leaves is subtracted again.
    away = x - jax.lax.stop_gradient(jnp.mean(x, axis=axes, keepdims=True))
    away = away - jnp.mean(away, axis=axes, keepdims=True)
    y = away * jax.lax.rsqrt(jnp.mean(away * away, axis=axes, keepdims=True) + epsilon)
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)
