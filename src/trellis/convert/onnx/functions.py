"""Operations that the standard defines by others: their bodies, where there is no rule."""

from collections.abc import Callable, Iterable
from typing import Any

import onnx
from onnx import shape_inference
from onnx.inliner import inline_local_functions, inline_selected_functions

_OURS = "trellis.expanded"
_MOST = 8  # how deep functions of functions go


def expanded(
    model: onnx.ModelProto, rules: list[str], has_rule: Callable[[onnx.NodeProto], bool]
) -> onnx.ModelProto:
    """The model with shapes inferred and all functions without a rule replaced by their bodies,
    those of the model itself too."""
    if model.functions:
        model = inline_local_functions(model)
    model = shape_inference.infer_shapes(model, data_prop=True)
    keep = [(domain, op) for domain, _, op in [name.rpartition("::") for name in rules]]
    for _ in range(_MOST):
        if all([has_rule(node) for node in all_nodes(model.graph)]):
            return model
        changed = _with_bodies(model, has_rule)
        if model.functions:
            model = inline_local_functions(model)
        if not changed:
            model = inline_selected_functions(
                model, keep, exclude=True, inline_schema_functions=True
            )
        model = shape_inference.infer_shapes(model, data_prop=True)
        if not changed:
            return model
    return model


def all_nodes(graph: onnx.GraphProto) -> Iterable[onnx.NodeProto]:
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
