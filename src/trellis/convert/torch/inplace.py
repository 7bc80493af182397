"""Operations that write into their argument: which of them can be read without change.

Writing into a tensor that nothing else shares memory with is the same as making a new one. Views
need torch's own functionalisation.
"""

from typing import Any

import torch
from torch.fx import Node

from ..._backends.torch._private import schema_of

OpOverload = type(torch.ops.aten.add.Tensor)


def is_inplace(target: Any) -> bool:
    """Whether an operation writes into its first argument, by its name: `aten.add_.Tensor`."""
    if not isinstance(target, OpOverload):
        return False
    name = str(target).split(".")[1]
    return name.endswith("_") and (not name.startswith("__") or name.startswith("__i"))


def needs_functionalization(graph: torch.fx.Graph) -> bool:
    """Whether some operation writes into a tensor that others see through a view."""
    if schema_of is None:
        return any([is_inplace(node.target) for node in graph.nodes])
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        schema = schema_of(node.target)
        if schema is None or not schema.is_mutable:
            continue
        if not schema.name.endswith("_") or not node.args or not isinstance(node.args[0], Node):
            return True
        written = node.args[0]
        if written.op == "call_function" and (is_view(written) or written.op == "get_attr"):
            return True
        if any([is_view(user) for user in written.users]):
            return True
    return False


def is_view(node: Node) -> bool:
    """Whether a node's result shares memory with its argument."""
    if node.op != "call_function":
        return False
    name = str(node.target)
    if "getitem" in name:
        return isinstance(node.args[0], Node) and is_view(node.args[0])
    schema = None if schema_of is None else schema_of(node.target)
    if schema is None:
        return False
    if any([word in name for word in (".reshape", ".contiguous", ".to.", ".flatten", ".chunk",
                                      ".expand_as", ".type_as", ".dropout")]):  # fmt: skip
        return True
    returns = [r.alias_info for r in schema.returns]
    return any([info is not None and not info.is_write for info in returns])
