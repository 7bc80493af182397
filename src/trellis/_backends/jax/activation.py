"""Activations: JAX's own, which are compiled once each, where there is one."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from ..._core.guards import unordered
from ._types import Array


def relu(x: Array, /) -> Any:
    if x.dtype.kind == "c":
        raise unordered("relu")
    return jax.nn.relu(x)


sigmoid = jax.nn.sigmoid
silu = jax.nn.silu
softplus = jax.nn.softplus


def gelu(x: Array, /, *, approximate: bool = False) -> Any:
    return jax.nn.gelu(x, approximate)


@partial(jax.jit, static_argnames=("alpha", "scale"))
def elu(x: Array, /, *, alpha: float, scale: float) -> Any:
    is_positive = x > 0
    return jnp.where(
        is_positive, scale * x, scale * alpha * jnp.expm1(jnp.where(is_positive, 0.0, x))
    )


def leaky_relu(x: Array, /, *, negative_slope: float) -> Any:
    return jnp.where(x > 0, x, negative_slope * x)


@partial(jax.jit, static_argnames=("low", "high"))
def hard_tanh(x: Array, /, *, low: float, high: float) -> Any:
    return jnp.where(x <= low, low, jnp.where(x >= high, high, x))


def softmax(x: Array, /, *, axis: Any) -> Any:
    return jax.nn.softmax(x, axis=axis)


def log_softmax(x: Array, /, *, axis: Any) -> Any:
    return jax.nn.log_softmax(x, axis=axis)
