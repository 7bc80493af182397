"""What a graph costs: calls, parameters, memory and floating-point operations."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from .calls import SPECS, check_traced, key_of, signature_of
from .graph import Graph, Node, Value, values_in

_BYTES = {"bool": 1, "bfloat16": 2, "complex64": 8, "complex128": 16}
# They move elements and compute nothing.
_MOVES = frozenset(
    {"astype", "broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "getitem"}
    | {"moveaxis", "pad", "permute_dims", "repeat", "reshape", "roll", "sliding_window", "squeeze"}
    | {"stack", "tile", "unstack", "take", "take_along_axis", "tril", "triu", "where", "zeros"}
    | {"zeros_like", "ones", "ones_like", "full", "full_like", "empty", "empty_like", "eye"}
    | {"arange", "meshgrid", "linspace", "matrix_transpose", "stop_gradient", "index_set"}
)
_REDUCTIONS = frozenset(
    {"all", "any", "max", "min", "sum", "prod", "mean", "count_nonzero", "argmax", "argmin"}
)
# The operations per element of calls whose formula has several steps.
_STEPS = {
    "var": 4, "std": 5, "softmax": 5, "log_softmax": 5, "logsumexp": 4, "layer_norm": 8,
    "gelu": 5, "silu": 4, "sigmoid": 3, "softplus": 4, "elu": 3, "leaky_relu": 2, "hard_tanh": 2,
}  # fmt: skip


@dataclass
class Row:
    """All calls of one function."""

    op: str
    calls: int = 0
    flops: int = 0
    memory: int = 0  # bytes of the results


@dataclass
class Count:
    """The numbers of a graph; `str(count)` is a table of them.

    `flops` counts a multiplication and an addition as two, and any function of one element as one;
    sums of products (matrix products, convolutions, attention) leave out the bias. `memory` is that
    of all results together, `peak` that of the results, inputs and constants that are alive at one
    time if each is freed after its last use.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    parameters: int = 0
    parameter_memory: int = 0
    peak: int = 0

    @property
    def calls(self) -> int:
        """The number of calls."""
        return sum([row.calls for row in self.rows.values()])

    @property
    def flops(self) -> int:
        """The floating-point operations of all calls."""
        return sum([row.flops for row in self.rows.values()])

    @property
    def memory(self) -> int:
        """The bytes of all results."""
        return sum([row.memory for row in self.rows.values()])

    def __str__(self) -> str:
        lines = [
            f"{self.calls} calls, {self.flops:,} FLOPs, {self.parameters:,} parameters of "
            f"{self.parameter_memory:,} bytes, results of {self.memory:,} bytes, "
            f"{self.peak:,} at once"
        ]
        for row in sorted(self.rows.values(), key=lambda row: -row.flops):
            lines.append(f"  {row.calls:5} {row.op:22} {row.flops:>16,} FLOPs {row.memory:>14,} B")
        return "\n".join(lines)


def count(graph: Graph) -> Count:
    """Count the calls of a graph from `trellis.trace`, in which all shapes are known."""
    check_traced(graph)
    found = Count()
    for value in graph.variables.values():
        found.parameters += _size(value)
        found.parameter_memory += _bytes(value)
    for node in graph.nodes:
        key = key_of(node)
        if _is_part(node):
            continue
        row = found.rows.setdefault(key, Row(key))
        row.calls += 1
        row.flops += flops_of(node, key)
        row.memory += sum([_bytes(value) for value in _results(node, graph.nodes)])
    found.peak = _peak(graph)
    return found


def flops_of(node: Node, key: str) -> int:
    """The operations of one call."""
    if key in _MOVES or key.startswith("random."):
        return 0
    size = _size(node.result)
    bound = signature_of(key).bind(*node.args, **node.attributes).arguments
    if key == "linear":
        return 2 * size * bound["weight"].shape[-1]
    if key in ("matmul", "linalg.matmul", "vecdot", "linalg.vecdot"):
        axis = -1 if key.endswith("matmul") else bound.get("axis", -1)
        return 2 * max(size, 1) * bound["x1"].shape[axis]
    if key in ("tensordot", "linalg.tensordot"):
        axes = bound.get("axes", 2)
        shape = bound["x1"].shape
        summed = shape[-axes:] if isinstance(axes, int) else [shape[a] for a in axes[0]]
        return 2 * size * prod(summed if axes else ())
    if key == "einsum":
        return _einsum(bound["subscripts"], bound["xs"])
    if key in ("conv", "conv_transpose"):
        return _conv(node, key, bound, size)
    if key in ("attention", "attention_weights"):
        query, keys = bound["query"].shape, bound["key"].shape
        pairs = prod(query[:-1]) * keys[-2]
        width = query[-1] + (bound["value"].shape[-1] if key == "attention" else 0)
        return 2 * pairs * width
    if key == "lstm":
        steps, batch, inner = bound["x"].shape
        width = bound["h"].shape[-1]
        return 2 * steps * batch * 4 * width * (inner + width)
    if key == "max_pool":
        fields = dict(zip(SPECS[key], bound["spec"], strict=True))
        return max([_size(x) for x in values_in(node.args)] + [0]) * prod(fields["window"])
    if key in _REDUCTIONS:
        return _size(bound["x"])
    steps_of_one = _STEPS.get(key, 1)
    return steps_of_one * max([size, *[_size(x) for x in values_in(list(bound.values()))]])


def _conv(node: Node, key: str, bound: dict[str, Any], size: int) -> int:
    fields = dict(zip(SPECS[key], bound["spec"], strict=True))
    shape = bound["filters"].shape
    inner, kernel = (shape[1], shape[2:]) if fields["filter_first"] else (shape[-2], shape[:-2])
    if key == "conv_transpose":  # each input element is multiplied with the kernel once
        return 2 * _size(bound["x"]) * inner * prod(kernel)
    return 2 * size * inner * prod(kernel)


def _einsum(subscripts: str, xs: Iterable[Any]) -> int:
    sizes: dict[str, int] = {}
    terms = subscripts.replace(" ", "").partition("->")[0].split(",")
    for term, x in zip(terms, xs, strict=True):
        letters = [c for c in term if c.isalpha()]
        own = list(x.shape)[-len(letters) :] if term.startswith("...") else x.shape
        sizes |= dict(zip(letters, own))
        if "..." in term:
            sizes["..."] = prod(x.shape) // max(prod([sizes[c] for c in letters]), 1)
    return max(len(terms), 1) * prod(sizes.values())


def _results(node: Node, nodes: list[Node]) -> list[Value]:
    if node.result.dtype is not None:
        return [node.result]
    return [x.result for x in nodes if _is_part(x) and x.args[0] == node.result]


def _is_part(node: Node) -> bool:
    return key_of(node) == "getitem" and getattr(node.args[0], "dtype", "") is None


def _size(x: object) -> int:
    return prod(getattr(x, "shape", None) or ())


def _bytes(value: Value) -> int:
    if value.dtype is None:
        return 0
    width = _BYTES.get(value.dtype) or int("".join([c for c in value.dtype if c.isdigit()])) // 8
    return _size(value) * width


def _peak(graph: Graph) -> int:
    """The most bytes that are alive at one time, without the variables."""
    last: dict[str, int] = {}
    for i, node in enumerate(graph.nodes):
        last[node.result.name] = i
        for value in values_in((node.args, node.attributes)):
            last[value.name] = i
    for value in values_in((graph.outputs, graph.updates)):
        last[value.name] = len(graph.nodes)
    alive = {value.name: _bytes(value) for value in graph.inputs}
    held = sum([array.nbytes for array in graph.constants.values()])
    peak = sum(alive.values())
    for i, node in enumerate(graph.nodes):
        alive[node.result.name] = _bytes(node.result)
        peak = max(peak, sum(alive.values()))
        alive = {name: size for name, size in alive.items() if last.get(name, -1) > i}
    return peak + held
