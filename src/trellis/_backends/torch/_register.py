"""Makes the backend known to the dispatch table, and Containers to torch."""

import sys

import torch
from torch.utils import _pytree

from ..._core.container import Container, flatten_container
from ..._core.dispatch import register
from ..._core.settings import Setting
from ._helpers import unflattened

# So that Containers pass through torch.compile, torch.func and torch.cond.
_pytree.register_pytree_node(
    Container, flatten_container, unflattened, serialized_type_name="trellis.Container"
)

# Dynamo cannot read context variables; see Setting.
torch.compiler.assume_constant_result(Setting._look_up)

ARRAY_TYPES: tuple[type, ...] = (torch.Tensor, torch.nn.Parameter)
register(sys.modules[__package__], ARRAY_TYPES)
