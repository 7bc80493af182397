"""Arithmetic over lists of leaves on JAX: under `jax.jit` XLA fuses the operations of each leaf."""

from typing import Any

import jax.numpy as jnp

from ..shared.foreach import StepKernel, spread

# For optimizers, operations over all leaves are as fast here.
STEP_KERNELS: dict[str, StepKernel] = {}


def foreach_sqrt(xs: list[Any], *, reuse: bool = False) -> list[Any]:
    return [jnp.sqrt(x) for x in xs]


def foreach_maximum(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    return [jnp.maximum(x, y) for x, y in zip(xs, spread(ys, xs), strict=True)]


def foreach_norm(xs: list[Any]) -> list[Any]:
    return [jnp.sqrt(jnp.sum(x * x)) for x in xs]


def foreach_cast(xs: list[Any], dtype: Any) -> list[Any]:
    return [x.astype(dtype) for x in xs]


def foreach_detach(xs: list[Any]) -> list[Any]:
    """JAX records nothing eagerly."""
    return xs
