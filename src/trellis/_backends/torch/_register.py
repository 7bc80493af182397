"""Registers the backend in the dispatch table, and Containers with torch."""

import sys

import torch

from ..._core.container import Container, flatten_container
from ..._core.dispatch import register
from ..._core.dtypes import default_dtype, traced_default_dtype
from ..._core.settings import Setting
from ._helpers import unflattened
from ._private import pytree

ARRAY_TYPES: tuple[type, ...] = (torch.Tensor, torch.nn.Parameter)


def make_known() -> None:
    """Called at the end of each import of the package; a second call changes nothing.

    After an interrupted import, the files that it imported stay: the next import creates a new
    package from them.
    """
    # So that Containers pass through torch.compile, torch.func and torch.cond.
    if pytree is not None and pytree.tree_leaves(Container()):
        pytree.register_pytree_node(
            Container, flatten_container, unflattened, serialized_type_name="trellis.Container"
        )
    # Dynamo cannot read context variables; see Setting.
    torch.compiler.assume_constant_result(Setting._look_up)
    if not hasattr(default_dtype, "__trellis_traced__"):  # it may be replaced once
        torch.compiler.substitute_in_graph(default_dtype)(traced_default_dtype)
        default_dtype.__trellis_traced__ = True  # type: ignore[attr-defined]
    register(sys.modules[__package__], ARRAY_TYPES)
