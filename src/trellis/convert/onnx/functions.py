"""Operations that the standard defines by others: their bodies, where there is no rule."""

from collections.abc import Callable, Iterable
from typing import Any

import onnx

from ..._core.errors import ArgumentError
from .child import child

_OURS = "trellis.expanded"
_MOST = 8  # how deep functions of functions go
_DEEPEST, _MOST_NODES = 64, 1 << 18  # calls of functions of a file, and the nodes that they become


def expanded(
    model: onnx.ModelProto, rules: list[str], has_rule: Callable[[onnx.NodeProto], bool]
) -> onnx.ModelProto:
    """The model with shapes inferred and all functions without a rule replaced by their bodies,
    those of the model itself too."""
    if model.functions:
        _check_calls(model)
        model = _apart(model, "inline")
    model = _apart(model, "infer")
    keep = [(domain, op) for domain, _, op in [name.rpartition("::") for name in rules]]
    for _ in range(_MOST):
        if all([has_rule(node) for node in all_nodes(model.graph)]):
            return model
        changed = _with_bodies(model, has_rule)
        if model.functions:
            model = _apart(model, "inline")
        if not changed:
            model = _apart(model, "select", keep=keep)
        model = _apart(model, "infer")
        if not changed:
            return model
    return model


def _apart(model: onnx.ModelProto, step: str, **options: Any) -> onnx.ModelProto:
    """A function of onnx in the child process: it is native code, and some files make it take all
    memory."""
    found = child.run("onnx", model.SerializeToString(), step=step, **options)
    return onnx.ModelProto.FromString(found.tobytes())


def _check_calls(model: onnx.ModelProto) -> None:
    """Raise for functions that call themselves, and where their bodies in place of all calls would
    be too many nodes: functions that call each other twice double with each one."""
    bodies = {(f.domain, f.name, f.overload): f for f in model.functions}
    sizes: dict[Any, int] = {}

    def size(body: Any, above: tuple[Any, ...]) -> int:
        count = 0
        for node in all_nodes(body):
            key = (node.domain, node.op_type, node.overload)
            if key not in bodies:
                count += 1
                continue
            if key in above or len(above) > _DEEPEST:
                raise ArgumentError(
                    f"the function {node.op_type!r} calls itself, or calls are more than "
                    f"{_DEEPEST} deep"
                )
            if key not in sizes:
                sizes[key] = size(bodies[key], (*above, key))
            count += sizes[key]
        return count

    if size(model.graph, ()) > _MOST_NODES:
        raise ArgumentError(f"its functions, written out, are more than {_MOST_NODES:,} nodes")


def all_nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterable[onnx.NodeProto]:
    """The nodes of a graph and of the graphs inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def _with_bodies(model: onnx.ModelProto, has_rule: Callable[[onnx.NodeProto], bool]) -> bool:
    """Make a function of the model of each node whose body depends on which inputs it has.

    `inline_selected_functions` does that as well, but not where an optional input is left out.
    """
    versions = {entry.domain: entry.version for entry in model.opset_import}
    graph = model.graph
    types = {info.name: info.type for info in (*graph.input, *graph.value_info, *graph.output)}
    for tensor in graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    count = 0
    for node in graph.node:
        if has_rule(node) or "" not in node.input or node.domain not in versions:
            continue
        version = versions[node.domain]
        schema: Any = onnx.defs.get_schema(node.op_type, version, node.domain)
        if not schema.has_context_dependent_function:
            continue
        given = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
        sets = sorted(schema.context_dependent_function_opset_versions)
        fitting = [v for v in sets if v <= version]
        if not fitting:
            continue
        body = onnx.FunctionProto.FromString(
            schema.get_context_dependent_function_with_opset_version(
                fitting[-1], node.SerializeToString(), given
            )
        )
        body.domain, body.name = _OURS, f"{node.op_type}_{count}"
        node.domain, node.op_type = body.domain, body.name
        model.functions.append(body)
        count += 1
    if count and _OURS not in versions:
        model.opset_import.append(onnx.helper.make_opsetid(_OURS, 1))
    return count > 0
