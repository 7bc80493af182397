"""The operations of a TensorFlow graph, one after the other, as calls of Trellis' functions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ..._backends.tensorflow._private import functions_of
from ...graph import Value
from ..binding import call
from ..rules import Rule, refuse_missing
from .attributes import FunctionName, attributes_of, defaults_of, input_names
from .builder import Resource, Result, TensorFlowBuilder
from .rules_control import control_rules
from .rules_elementwise import elementwise
from .rules_layers import layer_rules
from .rules_matrices import matrix_rules
from .rules_shape import shape_rules
from .rules_state import state_rules
from .statics import static_rules

_RULES = (elementwise, layer_rules, matrix_rules, shape_rules, state_rules, control_rules)
_ASSIGNMENTS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
_SILENT = ("Placeholder", "Const", "NoOp", "Assert")


class Operations:
    """Walks through a graph and adds its calls, those of inner functions in place."""

    def __init__(self, to: str, graph: tf.Graph):
        self.g = TensorFlowBuilder(to, self.inline)
        self._graph_of = functions_of(graph)
        self.g.graph_of = self._graph_of
        self._outer = graph
        self.seen: dict[str, str] = {}  # of tensors of the graph itself: the names of values

    def inline(
        self, graph: tf.Graph, args: Sequence[Any], outputs: Sequence[Any] | None = None
    ) -> list[Any]:
        """The results of a graph, whose operations are added to the builder."""
        outputs = list(graph.outputs) if outputs is None else list(outputs)
        known: dict[str, Any] = dict(zip([x.name for x in graph.inputs], args, strict=True))
        outside = self.g.source, self.g.where, self.g.out
        for op in needed(graph, outputs):
            if op.type != "Placeholder":
                self._add(op, known)
        self.g.source, self.g.where, self.g.out = outside
        return [known[x.name] for x in outputs]

    def refuse_unknown(self, graph: tf.Graph) -> None:
        """Raise if there are operations without a rule, all at once."""
        refuse_missing(
            "TensorFlow",
            [(op.type, _where(op)) for op in self._all(graph) if _rule(op.type) is None],
        )

    def _all(self, graph: tf.Graph) -> Iterator[Any]:
        wanted = {op.name for op in needed(graph, list(graph.outputs))}
        for op in graph.get_operations():
            # One that does something besides its results is never left out in silence.
            acts = op.op_def is not None and op.op_def.is_stateful and op.type not in _SILENT
            if (op.name in wanted and op.type not in ("Placeholder", "Const")) or acts:
                yield op
                for value in attributes_of(op).values():
                    names = value if isinstance(value, list) else [value]
                    for name in names:
                        if isinstance(name, FunctionName):
                            yield from self._all(self._graph_of(name))

    def _add(self, op: tf.Operation, known: dict[str, Any]) -> None:
        g = self.g
        if op.type == "Const":
            known[op.outputs[0].name] = tf.make_ndarray(op.get_attr("value"))
            return
        args = [known[x.name] for x in op.inputs]
        g.source, g.where = op.type, _where(op)
        g.out = [result_of(x) for x in op.outputs]
        g.notes.operations[op.type] += 1
        results = self._results(op, args)
        if not isinstance(results, (tuple, list)):
            results = (results,)
        for out, x, about in zip(op.outputs, results, [result_of(x) for x in op.outputs]):
            if isinstance(x, Value) and x.shape is None:
                x = g.described(x, about.shape, about.dtype)
            known[out.name] = x
            if op.graph is self._outer and isinstance(x, Value):
                self.seen[out.name] = x.name

    def trace(self, inputs: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """What each operation gives when TensorFlow runs the graph, by the names of values; given
        its inputs and, as arrays, the variables that it captures, by the names of tensors."""
        v1 = tf.compat.v1
        with tf.Graph().as_default() as graph:
            handles = {name: tf.Variable(x).handle for name, x in variables.items()}
            v1.import_graph_def(self._outer.as_graph_def(), input_map=handles, name="")
            with v1.Session(graph=graph) as session:
                session.run(v1.global_variables_initializer())
                found = session.run(
                    {value: name for name, value in self.seen.items()}, feed_dict=dict(inputs)
                )
        return dict(found)

    def _results(self, op: tf.Operation, args: list[Any]) -> Any:
        g, attributes = self.g, attributes_of(op)
        options: Any = {"names": input_names(op), "defaults": defaults_of(op)}
        is_static = bool(args) and all([isinstance(x, np.ndarray) for x in args])
        if is_static and sum([x.size for x in args]) <= 64:
            rule = static_rules.find(op.type)
            made = None if rule is None else call(rule, g, args, attributes, **options)
            if made is not None:
                return made
        if elementwise.find(op.type) is not None:
            args = g.elementwise(args) if not _passes(op, args) else args
        elif _takes_array_first(op.type):
            args = [g.array(args[0]), *args[1:]]
        rule = _rule(op.type)
        assert rule is not None  # all of them were looked up before
        return call(rule, g, args, attributes, **options)


_ARRAY_FIRST = {
    "Shape", "Rank", "Size", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Unpack", "SplitV",
    "StridedSlice", "Slice", "Pad", "PadV2", "MirrorPad", "ReverseV2", "Roll", "Cast", "Bitcast",
    "Where", "ConjugateTranspose", "ReverseSequence",
}  # fmt: skip


def _takes_array_first(name: str) -> bool:
    is_layer = name in layer_rules and "Backprop" not in name
    return is_layer or name in matrix_rules or name in _ARRAY_FIRST


def _passes(op: tf.Operation, args: list[Any]) -> bool:
    """Whether operands that are not arrays (variables, lists) are only passed on."""
    return op.type in ("Identity", "IdentityN") and any(
        [not isinstance(x, (Value, np.ndarray)) for x in args]
    )


def has_rule(name: str) -> bool:
    """Whether an operation can be read, or means nothing outside TensorFlow."""
    return name in _SILENT or _rule(name) is not None


def _rule(name: str) -> Rule | None:
    for rules in _RULES:
        found = rules.find(name)
        if found is not None:
            return found
    return None


def needed(graph: tf.Graph, outputs: Sequence[Any]) -> list[Any]:
    """The operations that outputs and assignments depend on, in their order."""
    every = list(graph.get_operations())
    waiting = [x.op for x in outputs] + [op for op in every if op.type in _ASSIGNMENTS]
    found: set[str] = set()
    while waiting:
        op = waiting.pop()
        if op.name not in found:
            found.add(op.name)
            waiting += [x.op for x in op.inputs]
    return [op for op in every if op.name in found]


def _where(op: tf.Operation) -> str:
    return op.name.rpartition("/")[0]  # type: ignore[no-any-return]


def result_of(x: tf.Tensor) -> Result:
    """Shape and type of a tensor as Trellis names them."""
    rank = x.shape.rank
    return Result(None if rank is None else tuple(x.shape.as_list()), x.dtype.name)


__all__ = ["Operations", "Resource", "needed", "result_of"]
