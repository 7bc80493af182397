"""Operations that write into their argument: which of them can be read without change.

Writing into a tensor that nothing else shares memory with is the same as making a new one. Views
need torch's own functionalisation.
"""

from typing import Any

import torch
from torch.fx import Node


def needs_functionalization(graph: torch.fx.Graph) -> bool:
    """Whether some operation writes into a tensor that others see through a view."""
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        schema = getattr(node.target, "_schema", None)
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
    schema: Any = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    if any([word in name for word in (".reshape", ".contiguous", ".to.", ".flatten", ".chunk",
                                      ".expand_as", ".type_as", ".dropout")]):  # fmt: skip
        return True
    returns = [r.alias_info for r in schema.returns]
    return any([info is not None and not info.is_write for info in returns])
