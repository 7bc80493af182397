"""Functions inside TensorFlow's graphs: calls are inlined, branches become `cond`, loops `scan` or
`while_loop`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.errors import ConversionError
from ...graph import Function, Value
from ..rules import Rules
from ..target import packed
from .builder import Operand, TensorFlowBuilder
from .loops import CountedLoop, TensorList, origin

control_rules = Rules()


@control_rules("PartitionedCall", "StatefulPartitionedCall")
def call(g: TensorFlowBuilder, *args: Operand, f: str) -> Any:
    return tuple(g.inline(g.graph_of(f), args))


@control_rules("SymbolicGradient")
def gradient(g: TensorFlowBuilder, *args: Operand, f: str, Tout: object) -> Any:
    raise ConversionError("Gradients inside a TensorFlow graph are not read. Convert the forward "
                          "function and use trellis.value_and_grad.")  # fmt: skip


@control_rules("If", "StatelessIf")
def if_(
    g: TensorFlowBuilder, holds: Operand, *args: Operand, then_branch: str, else_branch: str
) -> Any:
    if not isinstance(holds, Value) and holds.dtype != object:
        return tuple(g.inline(g.graph_of(then_branch if holds.item() else else_branch), args))
    return _chosen(g, g.array(holds), _branch(g, then_branch, args), _branch(g, else_branch, args))


@control_rules("Case", "StatelessCase")
def case(g: TensorFlowBuilder, index: Operand, *args: Operand, branches: Sequence[str]) -> Any:
    """The branch of a number; the last one is used for all other numbers."""
    names = list(branches)
    number = g.array(index)

    def otherwise(i: int) -> Function:
        if i == len(names) - 1:
            return _branch(g, names[i], args)
        with g.function(f"from_branch_{i}") as made:
            made.outputs = g.t.cond(
                g.t.equal(number, i), _branch(g, names[i], args), otherwise(i + 1)
            )
        return made

    if len(names) == 1:
        return tuple(g.inline(g.graph_of(names[0]), args))
    return _chosen(g, g.t.equal(number, 0), _branch(g, names[0], args), otherwise(1))


def _branch(g: TensorFlowBuilder, name: str, args: Sequence[Any]) -> Function:
    with g.function("branch") as made:
        found = [g.array(x) for x in g.inline(g.graph_of(name), args)]
        made.outputs = packed(found)
    return made


def _chosen(g: TensorFlowBuilder, holds: Value, first: Function, second: Function) -> Any:
    count = len(g.out)
    return g.unpacked(g.t.cond(holds, first, second), count)


@control_rules("While", "StatelessWhile")
def while_(g: TensorFlowBuilder, *args: Operand, cond: str, body: str) -> Any:
    """A loop that counts and reads and writes one row at each step is a scan."""
    graphs = g.graph_of(cond), g.graph_of(body)
    loop = CountedLoop.found_in(*graphs, args)
    if loop is not None:
        return tuple(loop.as_scan(g))
    return tuple(_while_loop(g, *graphs, args))


def _while_loop(
    g: TensorFlowBuilder, cond: tf.Graph, body: tf.Graph, args: Sequence[Any]
) -> list[Any]:
    names = [x.name for x in body.inputs]
    same = [origin(x).name == name for x, name in zip(body.outputs, names)]
    state = [i for i in range(len(args)) if not same[i]]
    before = [
        args[i].stacked(g) if isinstance(args[i], TensorList) else g.array(args[i]) for i in state
    ]
    is_list = [isinstance(args[i], TensorList) for i in state]

    def part(name: str, graph: tf.Graph) -> Function:
        with g.function(name) as made:
            # One alone may grow from step to step: nothing is said of its shape.
            items = g.packed_inputs("state", before) if len(state) > 1 else [g.input("state")]
            given = list(args)
            for i, x, lists in zip(state, items, is_list):
                given[i] = TensorList(x) if lists else x
            if name == "goes_on":
                made.outputs = g.array(g.inline(graph, given)[0])
            else:
                new = g.inline(graph, given, [graph.outputs[i] for i in state])
                arrays = [x.stacked(g) if isinstance(x, TensorList) else g.array(x) for x in new]
                made.outputs = packed(arrays)
        return made

    result = g.t.while_loop(part("goes_on", cond), part("body", body), packed(before))
    after = list(args)
    for i, x, lists in zip(state, g.unpacked(result, len(state)), is_list):
        after[i] = TensorList(x) if lists else x
    return after


@control_rules("TensorListFromTensor")
def list_from_tensor(g: TensorFlowBuilder, x: Operand, element_shape: Operand) -> TensorList:
    return TensorList(g.array(x))


@control_rules("TensorListReserve", "EmptyTensorList")
def reserve(
    g: TensorFlowBuilder, shape: Operand, count: Operand, *, element_dtype: str
) -> TensorList:
    sizes = np.asarray(shape) if not isinstance(shape, Value) else np.asarray(-1)
    known = None if sizes.ndim == 0 else tuple(sizes.tolist())
    return TensorList(None, known, element_dtype, g.axis(count))


@control_rules("TensorListStack")
def stack(
    g: TensorFlowBuilder, xs: TensorList, element_shape: Operand, *, element_dtype: str
) -> Value:
    return xs.stacked(g)


@control_rules("TensorListLength")
def length(g: TensorFlowBuilder, xs: TensorList) -> Any:
    n = g.size(xs.rows, 0) if xs.rows is not None else xs.count
    made = np.empty((), object)
    made[()] = n
    return np.asarray(n, "int32") if isinstance(n, int) else made


@control_rules("TensorListGetItem")
def get_item(
    g: TensorFlowBuilder,
    xs: TensorList,
    i: Operand,
    element_shape: Operand,
    *,
    element_dtype: str,
) -> Value:
    if xs.row is not None:
        return xs.row
    if isinstance(i, Value):
        return g.t.take(xs.stacked(g), i, axis=0)
    return g.item(xs.stacked(g), g.axis(i))


@control_rules("TensorListSetItem")
def set_item(g: TensorFlowBuilder, xs: TensorList, i: Operand, value: Operand) -> TensorList:
    value = g.array(value)
    if xs.is_written_by_scan:
        return TensorList(None, row=value, is_written_by_scan=True)
    if xs.rows is None:
        xs = TensorList(None, value.shape, value.dtype or "float32", xs.count)
    place = i if isinstance(i, Value) else g.axis(i)
    before = xs.stacked(g)
    return TensorList(g.described(g.s.with_slice(before, place, value), before.shape, before.dtype))
