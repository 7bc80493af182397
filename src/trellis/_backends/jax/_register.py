"""Registers the backend in the dispatch table, and Containers with JAX."""

import contextlib
import json
import sys
from typing import Any

import jax
from jax.tree_util import DictKey, all_leaves, register_pytree_node, register_pytree_with_keys

from ..._core.container import Container, flatten_container, unflatten_container
from ..._core.dispatch import register
from ..._core.tree import register_nodes_with
from ._private import ARRAY_CLASS


def _flatten_with_keys(container: Container) -> tuple[list[Any], Any]:
    children, static = flatten_container(container)
    return [(DictKey(key), child) for key, child in zip(static[0], children, strict=True)], static


def _static_part(content: bytes) -> tuple[tuple[str, ...], bool]:
    keys, is_alphabetical = json.loads(content.decode())
    return tuple(keys), is_alphabetical


# The class of arrays, the one that users name, and that of arrays inside jax.jit, grad and vmap.
ARRAY_TYPES: tuple[type, ...] = (ARRAY_CLASS, jax.Array, jax.core.Tracer)


def make_known() -> None:
    """Called at the end of each import of the package; a second call changes nothing.

    After an interrupted import, the files that it imported stay: the next import creates a new
    package from them.
    """
    # So that Containers pass through jax.jit, grad and vmap.
    if all_leaves([Container()]):
        register_pytree_with_keys(
            Container, _flatten_with_keys, unflatten_container, flatten_container
        )
    register_nodes_with(register_pytree_node)
    # And through the files of jax.export, unless they are registered. Older versions of it need
    # absl, which JAX does not install.
    with contextlib.suppress(ValueError, ImportError):
        from jax.export import register_pytree_node_serialization

        register_pytree_node_serialization(
            Container,
            serialized_name="trellis.Container",
            serialize_auxdata=lambda static: json.dumps(static).encode(),
            deserialize_auxdata=_static_part,
        )
    register(sys.modules[__package__], ARRAY_TYPES)
