"""Functions of JAX, and models of flax, as modules."""

from .reader import from_jax as from_jax
