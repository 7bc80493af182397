"""A graph as a function: compiled from its own source, or run call by call."""

from collections.abc import Callable, Mapping
from typing import Any

from .graph import Function, Graph, Node, Value, replace_values
from .printer import Printer


def program_of(graph: Graph) -> Callable[..., Any]:
    """`forward(v, buffers, constants, training, *inputs)`, which returns the outputs of the graph;
    where it has updates of buffers, `(outputs, updates)`.

    Each value is freed after its last use. Plain Python without a loop over nodes: the compilers of
    the frameworks see only calls.
    """
    printer = Printer(graph, with_del=True)
    names = ["v", "buffers", "constants", "training", *[value.name for value in graph.inputs]]
    lines = [f"def forward({', '.join(names)}):", *printer.body(graph)]
    space: dict[str, Any] = dict(printer.globals)
    exec(compile("\n".join(lines), "<trellis graph>", "exec"), space)
    return space["forward"]  # type: ignore[no-any-return]


def run(
    function: Function,
    values: Mapping[str, Any],
    see: Callable[[Node, Any], None] | None = None,
) -> Any:
    """Run call by call on the given values; `see` is called with each node and its result."""
    known = dict(values)
    for node in function.nodes:
        result = call(node, known)
        known[node.result.name] = result
        if see is not None:
            see(node, result)
    return resolved(function.outputs, known)


def call(node: Node, known: Mapping[str, Any]) -> Any:
    """What one node computes."""
    args, attributes = resolved((node.args, node.attributes), known)
    return node.op(*args, **attributes)


def resolved(nest: object, known: Mapping[str, Any]) -> Any:
    """The pytree with values looked up by name, and functions that can be called."""
    if isinstance(nest, Value):
        return known[nest.name]
    if isinstance(nest, Function):
        names = [value.name for value in nest.inputs]
        return lambda *args: run(nest, {**known, **dict(zip(names, args))})
    if isinstance(nest, (tuple, list)):
        return type(nest)([resolved(item, known) for item in nest])
    if isinstance(nest, dict):
        return {key: resolved(item, known) for key, item in nest.items()}
    return replace_values(nest, lambda value: known[value.name])
