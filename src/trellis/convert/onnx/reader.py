"""From an ONNX model to the graph: names are looked up, rules are called, constants fold."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..._array.interchange import to_numpy
from ..._core.dispatch import current_backend, load
from ..._core.errors import ArgumentError, ConversionError, NotSupportedError, TrellisError
from ..._core.tree import leaves
from ...graph import Value
from ...graph.graph import Shape, values_in
from ...graph.graph import all_nodes as all_calls
from .. import semantics
from ..finish import finish
from ..inputs import Inputs
from ..module import ConvertedModule, native
from ..reading import Reading
from ..rules import refuse_missing
from ..target import packed
from ..trust import errors_of
from . import (  # noqa: F401 - each file fills the table
    rules_activation,
    rules_control,
    rules_convolution,
    rules_elementwise,
    rules_image,
    rules_indexing,
    rules_linear,
    rules_normalization,
    rules_pooling,
    rules_quantization,
    rules_random,
    rules_recurrent,
    rules_reduction,
    rules_shape,
    rules_signal,
    rules_training,
)
from .builder import OnnxBuilder
from .examples import examples_for, fixed_sizes
from .files import initial_arrays, loaded
from .functions import all_nodes, expanded
from .oracle import Oracle, excused
from .schemas import check_attributes
from .scope import Branch, Scope
from .sizes import sizes_of
from .table import SMALL, rules
from .tensors import check_size, dtype_name, plain_attribute, shape_of

LOWEST_OPSET, HIGHEST_OPSET = 7, 28
_DOMAINS = ("", "ai.onnx")
# Operations whose constants are weights; for other operations this is not known.
_WEIGHTED = frozenset(
    {"Conv", "ConvTranspose", "Gemm", "MatMul", "BatchNormalization", "InstanceNormalization"}
    | {"LayerNormalization", "GroupNormalization", "LSTM", "GRU", "RNN", "PRelu", "Add", "Mul"}
)
_DEEPEST = 32  # keys of a key path
_FOLDED = 1 << 24  # bytes: larger constants are computed when the model runs


def from_onnx(
    model: str | Path | bytes | onnx.ModelProto,
    /,
    *,
    args: Sequence[Any] | Mapping[str, Any] | None = None,
    to: str | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    train: bool = False,
    verify: bool = True,
) -> ConvertedModule:
    """An ONNX model (a path, bytes or an `onnx.ModelProto`) as a module of any framework.

    `to` names the framework (default: the current one). Float initializers become variables under
    their own names, with `/` for `.`; integers and small constants stay part of the program.
    `args` are example inputs, in order or by name: with them the result is compared with
    onnxruntime, or with ONNX's own evaluator where that is not installed; without them inputs are
    generated from the shapes that the file declares. Dynamic axes of the file stay dynamic unless
    `dynamic` says which ones do: `{"x": {0: "batch"}}`, or `{}` for none. `train=True` converts
    dropout and batch normalization as they are while training.

    >>> import numpy as np, onnx.parser
    >>> from trellis import convert
    >>> text = '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 2] x) => (float[N, 2] y)'
    >>> model = onnx.parser.parse_model(text + " { z = Exp(x) y = Neg(z) }")
    >>> convert.from_onnx(model, to="numpy")(np.zeros((1, 2), "float32"))
    array([[-1., -1.]], dtype=float32)
    """
    to = current_backend() if to is None else to
    path = Path(model) if isinstance(model, (str, Path)) else None
    with errors_of(path, "from_onnx()"):
        return _converted(model, args, to, dynamic, train, verify)


def _converted(
    model: str | Path | bytes | onnx.ModelProto,
    args: Sequence[Any] | Mapping[str, Any] | None,
    to: str,
    dynamic: Mapping[str, Mapping[int, str]] | None,
    train: bool,
    verify: bool,
) -> ConvertedModule:
    proto, folder = loaded(model)
    oracle = Oracle(model, proto, folder) if verify else None
    name = Path(model).stem if isinstance(model, (str, Path)) else proto.graph.name or "model"
    example = examples_for(proto, args)
    fixed_sizes(proto, example if args is not None else None, dynamic)
    arrays = initial_arrays(proto, folder)
    proto = _inlined(proto)
    g = OnnxBuilder(to, train=train)
    reader = _Reader(g, proto, arrays)
    reader.read()
    inputs = reader.inputs
    graph = g.graph
    if isinstance(graph.outputs, tuple):
        names = [info.name for info in proto.graph.output]
        g.notes.remarks.append(f"outputs, in this order: {', '.join(names)}")
    is_comparable = not g.draws and not train
    reading = Reading(
        name=name,
        source="ONNX",
        graph=graph,
        inputs=Inputs(tuple(inputs), tuple([((n,), x) for n, x in inputs.items()])),
        variables={chain: reader.stored[chain] for chain in graph.variables},
        buffers={chain: reader.stored[chain] for chain in graph.buffers},
        example=[] if example is None else [example[n] for n in inputs],
        notes=g.notes,
    )
    if oracle is None or not is_comparable or example is None:
        if oracle is not None:
            why = "no example inputs" if example is None else "the model draws random numbers"
            g.notes.verified = f"not verified: {why}"
        return finish(reading, to=to, with_verification=False)
    expected = oracle.outputs(example)
    if expected is None:
        g.notes.verified = f"not verified: {oracle.why}"
        return finish(reading, to=to, with_verification=False)
    reading.outputs = lambda: packed(expected)
    reading.values = lambda: reader.by_value(oracle.values(example))
    try:
        return finish(reading, to=to)
    except ConversionError:
        converted = finish(reading, to=to, with_verification=False)
        found = converted.on_inputs([native(x, to, None) for x in reading.example])
        g.notes.verified = excused(oracle, example, expected, [to_numpy(x) for x in leaves(found)])
        if not g.notes.verified:
            raise
        return converted


def _inlined(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with functions that have no rule replaced by their bodies, and shapes inferred."""
    versions = {entry.domain: entry.version for entry in proto.opset_import}
    version = versions.get("", versions.get("ai.onnx"))
    if version is not None and not LOWEST_OPSET <= version <= HIGHEST_OPSET:
        raise NotSupportedError(
            f"from_onnx() reads operator sets {LOWEST_OPSET} to {HIGHEST_OPSET}, this model has "
            f"{version}; onnx.version_converter.convert_version brings it there."
        )
    try:
        proto = expanded(proto, list(rules), lambda node: rules.find(*_names(node)) is not None)
    except Exception as error:
        raise ArgumentError(f"from_onnx() got a damaged model: {error}") from None
    return proto


def _names(node: onnx.NodeProto) -> tuple[str, ...]:
    """The names that a rule for a node may have, the full one first."""
    if node.domain in _DOMAINS:
        return (node.op_type, f"::{node.op_type}", f"ai.onnx::{node.op_type}")
    return (f"{node.domain}::{node.op_type}",)


class _Reader:
    """One reading of a model: `read` fills the graph."""

    def __init__(self, g: OnnxBuilder, proto: onnx.ModelProto, arrays: dict[str, Any]):
        self.g, self.proto, self.arrays = g, proto, arrays
        self.inputs: dict[str, Value] = {}
        self.stored: dict[str, Any] = {}
        self._inner: set[str] = set()  # what the chains of `stored` are below
        self._again: Counter[str] = Counter()
        self.top = Scope()
        self.opsets = {entry.domain: entry.version for entry in proto.opset_import}
        self.kept, self.plain, self.weights = _kinds_of_use(proto.graph)

    def read(self) -> None:
        missing = []
        for node in all_nodes(self.proto.graph):
            self.g.notes.operations[node.op_type] += 1
            if rules.find(*_names(node)) is None:
                missing.append((_names(node)[0], _place(node)))
        refuse_missing("ONNX", missing)
        graph = self.proto.graph
        for info in graph.input:
            if info.name in self.arrays:
                continue
            kind = info.type.WhichOneof("value")
            if kind != "tensor_type":
                raise NotSupportedError(
                    f"from_onnx() reads models of tensors, and the input {info.name!r} is a "
                    f"{kind or 'value without a type'}."
                )
            tensor = info.type.tensor_type
            shape, dtype = shape_of(tensor), dtype_name(tensor.elem_type)
            if dtype == "str":
                raise NotSupportedError(f"from_onnx() reads numbers; {info.name!r} is of strings.")
            self.inputs[info.name] = self.g.input(info.name, shape, dtype)
            self.top[info.name] = self.inputs[info.name]
        self.describe(graph, self.top)
        for name, array in self.arrays.items():
            self.top.later(name, partial(self.initializer, name, array))
        outputs = self.nodes(graph, self.top)
        self.g.graph.outputs = outputs[0] if len(outputs) == 1 else tuple(outputs)
        self._drop_unused_variables()
        self._refuse_small_types()

    def nodes(self, graph: onnx.GraphProto, scope: Scope) -> list[Any]:
        """Read the nodes of a graph; the values of its outputs."""
        for node in graph.node:
            self.node(node, scope)
        return [scope.find(info.name) for info in graph.output]

    def describe(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """Note the shapes and types of the values of a graph."""
        for info in (*graph.value_info, *graph.output):
            if info.type.WhichOneof("value") == "tensor_type":
                tensor = info.type.tensor_type
                shape = shape_of(tensor)
                dtype = dtype_name(tensor.elem_type) if tensor.elem_type else None
                check_size(info.name, shape, dtype or "int8")
                if dtype is not None:
                    scope.types[info.name] = (shape, dtype)

    def initializer(self, name: str, array: np.ndarray) -> Value:
        """An initializer at its first use: a variable, a buffer or a constant."""
        g = self.g
        if array.dtype.kind not in "fVc" or array.ndim == 0 or name in self.plain:
            return g.constant(array, name)
        if array.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
            return g.constant(array, name)
        chain = self._chain(name)
        make = g.buffer if name in self.kept else g.variable
        value = make(chain, array.shape, array.dtype.name)
        self.stored[chain] = array
        g.remember(value, array)
        return value

    def local_array(self, name: str, array: np.ndarray) -> Value:
        """A constant, or an initializer of an inner graph: a variable if it is a weight."""
        is_weight = name in self.weights and array.ndim > 0 and array.size > 1
        return self.initializer(name, array) if is_weight else self.g.constant(array, name)

    def node(self, node: onnx.NodeProto, scope: Scope) -> None:
        """Read one node: its outputs are in the scope afterwards."""
        g = self.g
        if node.op_type == "Constant" and node.output and node.output[0] in self.weights:
            if len(node.attribute) == 1 and node.attribute[0].name == "value":
                array = plain_attribute(node.attribute[0])
                scope[node.output[0]] = self.local_array(node.output[0], array)
                return
        g.source, g.where = node.op_type, _place(node)
        g.opset = self.opsets.get(node.domain, self.opsets.get("", 0)) or HIGHEST_OPSET
        try:
            inputs = [scope.find(name) if name else None for name in node.input]
            while inputs and inputs[-1] is None:
                inputs.pop()
            check_attributes(node, self.opsets)
            attributes = {a.name: self._attribute(a, scope) for a in node.attribute}
            mark = g.mark()
            result = sizes_of(g, node.op_type, inputs, attributes)
            if result is None:
                if node.op_type in ("Split", "If", "Loop", "Scan"):
                    attributes["outputs"] = len(node.output)
                rule = rules.find(*_names(node))
                assert rule is not None
                result = rule(g, *inputs, **attributes)
            results = result if isinstance(result, tuple) else (result,)
            if len(results) < len(node.output):
                asked = [name for name in node.output[len(results) :] if name]
                if asked:
                    raise NotSupportedError(f"the output {asked[0]!r} is not computed")
            if all([x is None or _is_known(g, x) for x in inputs]) and node.op_type != "If":
                results = g.fold_since(mark, results, _FOLDED)
        except RecursionError:
            raise ArgumentError("from_onnx() got a model that is nested too deep.") from None
        except TrellisError as error:
            kind = type(error)
            place = f"in {_names(node)[0]} at {_place(node)}"
            if place in str(error):
                raise
            raise kind(f"from_onnx(), {place}: {error}") from error
        except Exception as error:
            raise ConversionError(
                f"from_onnx() cannot read {_names(node)[0]} at {_place(node)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        before = {x.name for x in inputs if isinstance(x, Value)}
        for name, value in zip(node.output, results):
            if not name:
                continue
            if isinstance(value, Value) and value.name not in before:
                value = self._described(value, scope, name)
            scope[name] = value

    def by_value(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Intermediate results by the names of the graph's values."""
        return {
            self.top[name].name: array
            for name, array in found.items()
            if isinstance(self.top.get(name), Value)
        }

    def _described(self, value: Value, scope: Scope, name: str) -> Value:
        if self.g.array(value) is not None or self.g.has_sizes(value):
            return value
        shape, dtype = scope.types.get(name, (None, None))
        if value.shape is not None and (shape is None or value.dtype is not None):
            shape = value.shape if shape is None or _is_closed(value.shape) else shape
        if shape is None and dtype is None:
            return value
        return self.g.described(value, shape, dtype or value.dtype)

    def _attribute(self, attribute: onnx.AttributeProto, scope: Scope) -> Any:
        value = plain_attribute(attribute)
        return Branch(self, value, scope) if isinstance(value, onnx.GraphProto) else value

    def _chain(self, name: str) -> str:
        """A key path for an initializer: `.` and `/` part its keys."""
        keys = [key for key in name.replace(".", "/").replace("::", "/").split("/") if key]
        keys[_DEEPEST:] = ["_".join(keys[_DEEPEST:])] if keys[_DEEPEST:] else []
        base = chain = "/".join(keys) or "weight"
        while not self._is_free(chain):
            self._again[base] += 1
            count = self._again[base]
            chain = f"{base}_{count if count > 1 else ''}"
        self._inner.update(_above(chain))
        return chain

    def _is_free(self, chain: str) -> bool:
        """Whether no other chain is the same, above it or below it."""
        if chain in self.stored or chain in self._inner:
            return False
        return not any([each in self.stored for each in _above(chain)])

    def _refuse_small_types(self) -> None:
        """Types of a few bits that are left after folding run on NumPy only."""
        if load(self.g.to).ABILITIES.has_small_types:
            return
        left = [value.dtype for value in self.inputs.values() if value.dtype in SMALL]
        left += [
            str(node.args[1]) for node in all_calls(self.g.graph) if node.op is semantics.cast_small
        ]
        if left:
            raise NotSupportedError(
                f"{self.g.to} does not compute with {left[0]}; convert this model to='numpy', or "
                "keep its numbers in float16 or int8."
            )

    def _drop_unused_variables(self) -> None:
        graph = self.g.graph
        used = {x.name for node in graph.nodes for x in values_in((node.args, node.attributes))}
        used |= {x.name for x in values_in((graph.outputs, graph.updates))}
        for place in (graph.variables, graph.buffers):
            for chain in [chain for chain, value in place.items() if value.name not in used]:
                del place[chain]


def _kinds_of_use(graph: onnx.GraphProto) -> tuple[set[str], set[str], set[str]]:
    """Names of arrays that are statistics (buffers), of those that are settings, and of those that
    are used as weights: some exporters write weights as constants."""
    kept: set[str] = set()
    plain: set[str] = set()
    weights: set[str] = set()
    settings = {
        "Resize": (1, 2, 3), "Upsample": (1,), "Clip": (1, 2), "Pad": (1, 2), "Dropout": (1, 2),
        "QuantizeLinear": (1, 2), "DequantizeLinear": (1, 2), "OneHot": (1, 2), "Range": (0, 1, 2),
        "QLinearConv": (1, 4, 6), "QLinearMatMul": (1, 4, 6),
    }  # fmt: skip
    for node in all_nodes(graph):
        if node.op_type == "BatchNormalization":
            kept.update(node.input[3:5])
        if node.op_type in _WEIGHTED:
            weights.update(node.input)
        for i in settings.get(node.op_type, ()):
            plain.update(node.input[i : i + 1])
    return kept, plain, weights


def _above(chain: str) -> list[str]:
    keys = chain.split("/")
    return ["/".join(keys[:n]) for n in range(1, len(keys))]


def _is_known(g: OnnxBuilder, value: object) -> bool:
    return isinstance(value, Value) and value.name in g.graph.constants


def _is_closed(shape: Shape) -> bool:
    return all([isinstance(size, int) for size in shape])


def _place(node: onnx.NodeProto) -> str:
    return node.name or next((name for name in node.output if name), "")
