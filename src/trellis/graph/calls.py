"""The calls of a traced graph: their names in the op table, and their arguments by name."""

import inspect
import operator
from collections.abc import Sequence
from typing import Any

from .._backends.interface import Backend
from .._core.dtypes import INTEGER, promote
from .._core.errors import NotSupportedError
from .._ops import TABLE
from .graph import Graph, Node, Value

# Python's operators, with the operations that do the same.
OPERATORS = {getattr(operator, op.operator): key for key, op in TABLE.items() if op.operator}
# The plain numbers of a convolution or a window, by the names of their specification.
SPECS = {
    "conv": ("strides", "padding", "x_dilations", "dilations", "groups", "channel_first",
             "filter_first"),
    "conv_transpose": ("strides", "starts", "outs", "dilations", "groups", "channel_first",
                       "filter_first"),
    "max_pool": ("window", "strides", "padding", "dilations", "channel_first"),
}  # fmt: skip


def key_of(node: Node) -> str:
    """The name of a node's function in the op table."""
    if node.op in OPERATORS:
        return OPERATORS[node.op]
    if node.op is operator.getitem:
        return "getitem"
    room = str(getattr(node.op, "__module__", "")).rpartition(".")[2]
    name = node.op.__name__
    return f"{room}.{name}" if room in ("linalg", "fft", "random") else name


def check_traced(graph: Graph) -> None:
    """Raise for a graph of public layers: its calls have other arguments than those of a trace."""
    for node in graph.nodes:
        room = str(getattr(node.op, "__module__", ""))
        if room.startswith(("trellis.functional", "trellis.convert", "trellis.nn")):
            raise NotSupportedError(
                "This graph was read from a foreign model. Trace the converted module instead: "
                "trellis.trace(model, x)."
            )


def signature_of(key: str) -> inspect.Signature:
    group, _, name = key.rpartition(".")
    owner: Any = Backend
    if group:
        owner = inspect.signature(getattr(Backend, group).fget).return_annotation
    found = inspect.signature(getattr(owner, name))
    return found.replace(parameters=list(found.parameters.values())[1:])


def common_dtype(bound: dict[str, Any]) -> str | None:
    """The type in which two operands are compared."""
    values = [x for x in bound.values() if isinstance(x, Value)]
    found = str(values[0].dtype)
    for value in values[1:]:
        found = promote(found, str(value.dtype))
    if found in (*INTEGER, "bool") and any([type(x) is float for x in bound.values()]):
        found = "float32"
    return found


def axes_of(axis: int | Sequence[int] | None, x: Any) -> tuple[int, ...]:
    if axis is None:
        value = getattr(x, "value", x)
        return tuple(range(len(value.shape)))
    return (axis,) if isinstance(axis, int) else tuple(axis)
