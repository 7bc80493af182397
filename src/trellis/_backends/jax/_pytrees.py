"""Containers as pytrees of JAX, so that they pass through jax.jit, grad and vmap."""

from typing import Any

from jax.tree_util import DictKey, register_pytree_with_keys

from ..._container import Container, flatten_container, unflatten_container


def _flatten_with_keys(container: Container) -> tuple[list[Any], Any]:
    children, static = flatten_container(container)
    return [(DictKey(key), child) for key, child in zip(static[0], children, strict=True)], static


register_pytree_with_keys(Container, _flatten_with_keys, unflatten_container, flatten_container)
