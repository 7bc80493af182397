"""From the operations of an exported program to calls of Trellis, one rule after another."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node
from torch.fx.operator_schemas import get_signature_for_torch_op

from ..._core.dtypes import PROMOTION
from ..._core.errors import ConversionError, NotSupportedError, TrellisError
from ...graph import Value
from ..binding import ANY, call
from ..rules import Rule
from . import (  # noqa: F401  (each adds its rules to the table)
    rules_activation,
    rules_convolution,
    rules_creation,
    rules_elementwise,
    rules_indexing,
    rules_linalg,
    rules_losses,
    rules_normalization,
    rules_pooling,
    rules_products,
    rules_reduction,
    rules_resizing,
    rules_shapes,
    rules_sizes,
)
from .builder import TorchBuilder
from .control import CONTROL
from .inplace import OpOverload, is_inplace
from .table import rule

# Options that say nothing about the numbers: where they are in memory, which kernel computes them,
# how a gradient is stored, from which stream random ones come (that of Trellis).
_WITHOUT_MEANING = (
    "device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "generator",
    "cudnn_enable", "cudnn_enabled", "benchmark", "deterministic", "allow_tf32", "sparse",
    "sparse_grad", "implicit", "requires_grad",
)  # fmt: skip
KNOWN_TYPES = frozenset([x for pair in PROMOTION for x in pair])
_ASSERTS = ("_assert", "sym_constrain", "_check", "_functional_sym_constrain", "_functional_assert")


def names_of(target: torch.fx.node.Target) -> tuple[str, ...]:
    """Under which names a rule for an operation may be found, the most exact one first."""
    if isinstance(target, OpOverload):
        full = str(target)  # aten.add.Tensor
        base, _, overload = full.rpartition(".")
        space, _, name = base.partition(".")
        return (full, f"{space}::{name}.{overload}", base, f"{space}::{name}")
    name = getattr(target, "__name__", str(target))
    if getattr(operator, name, None) is target:
        return (f"operator.{name}",)
    home = getattr(target, "__module__", None) or ""
    if home.startswith("math"):
        return (f"math.{name}",)
    if name.lstrip("_").startswith("sym_"):
        return (f"torch.{name}",)
    return (f"{home}.{name}", name)


def outplace(target: torch.fx.node.Target) -> tuple[str, ...]:
    """The same for an operation that writes into its first argument, without its last `_`."""
    found = []
    for name in names_of(target):
        space, dot, rest = name.partition("::" if "::" in name else ".")
        word, tail_dot, tail = rest.partition(".")
        found.append(f"{space}{dot}{word.rstrip('_')}{tail_dot}{tail}")
    return tuple(found)


def find_rule(target: torch.fx.node.Target) -> Rule | None:
    """The rule for an operation, if there is one."""
    found = rule.find(*names_of(target))
    if found is None and is_inplace(target):
        found = rule.find(*outplace(target))
    return found


@cache
def parameters_of(target: torch.fx.node.Target) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """The names of an operation's arguments in order, and the defaults of those that have one."""
    nothing = dict.fromkeys(_WITHOUT_MEANING, ANY)
    found = get_signature_for_torch_op(target) if isinstance(target, OpOverload) else None
    if not found:
        return (), nothing
    known = found[0].parameters.values()
    names = tuple([p.name for p in known if p.kind is not p.KEYWORD_ONLY])
    return names, {p.name: p.default for p in known if p.default is not p.empty} | nothing


def is_assertion(target: torch.fx.node.Target) -> bool:
    name = names_of(target)[0].partition(".")[2]
    return name.startswith(_ASSERTS)


def live_nodes(graph: torch.fx.Graph) -> list[Node]:
    """The nodes that the outputs need, and those that change what others hold."""
    needed: set[Node] = set()
    for node in reversed(list(graph.nodes)):
        is_root = node.op in ("output", "placeholder") or (
            node.op == "call_function" and is_inplace(node.target) and bool(node.args)
        )
        if is_root or node in needed:
            needed.add(node)
            needed.update(node.all_input_nodes)
    return [node for node in graph.nodes if node in needed]


# Operations along an axis, which torch lets arrays without axes pass through.
LIFTED = frozenset(
    "topk cummax cummin kthvalue median nanmedian gather index_fill index_copy index_add "
    "index_select index_reduce scatter scatter_add scatter_reduce unfold unfold_copy sort argsort "
    "norm linalg_vector_norm take_along_dim diff logcumsumexp softmax log_softmax _softmax "
    "_log_softmax flip unique_consecutive searchsorted".split()
)


def target_name(target: Any) -> str:
    """The name of an operation alone: `topk` of `aten.topk.default`."""
    return str(target).split(".")[1] if isinstance(target, OpOverload) else ""


class Missing(NamedTuple):
    """A result that a rule does not give."""

    source: str
    position: int


def _refuse_types(g: TorchBuilder, node: Node) -> None:
    """Raise for types that no framework but torch has, and for views of memory."""
    for out in g.outs:
        if out.dtype is not None and out.dtype not in KNOWN_TYPES:
            raise NotSupportedError(f"{g.source} gives {out.dtype}, a type that only torch has.")
    if "as_strided" in g.source:
        base = node.args[0].meta.get("val")
        if not base.is_contiguous() or base.storage_offset() != 0:
            raise NotSupportedError(
                f"{g.source} reads the memory behind a tensor that is itself a view. Write indices "
                "or slices instead."
            )


class Translator:
    """Reads the nodes of a graph in order; `known` maps them to values of ours.

    `seen` maps the names of nodes to the names of their values, one or several, for comparisons.
    """

    def __init__(self, g: TorchBuilder, prefix: str = ""):
        self.g = g
        self.known: dict[Node, Any] = {}
        self.seen: dict[str, tuple[str | None, ...]] = {}
        self._prefix = prefix

    def read(self, graph: torch.fx.Graph, owner: GraphModule, inputs: dict[Node, Any]) -> Any:
        """All nodes of a graph; returns what it gives."""
        self.known.update(inputs)
        out: Any = None
        for node in live_nodes(graph):
            if node.op == "output":
                out = self.argument(node.args[0])
            elif node.op == "get_attr":
                self.known[node] = _attribute(owner, str(node.target))
            elif node.op == "call_function":
                self._call(node, owner)
        return out

    def argument(self, x: object) -> Any:
        """An argument of a node as one of a rule."""
        if isinstance(x, Node):
            found = self.known[x]
            if isinstance(found, Missing):
                raise NotSupportedError(
                    f"{found.source} gives its result {found.position} in torch, which Trellis' "
                    "rule leaves out: it is meant for torch's own derivatives."
                )
            if isinstance(found, torch.Tensor):
                found = self.known[x] = self.g.constant(as_numpy(found), x.name)
            if self.g.latest and isinstance(found, Value):
                found = self.g.latest.get(found.name, found)
            return found
        if isinstance(x, (list, tuple)):
            return type(x)([self.argument(i) for i in x]) if type(x) is tuple else [
                self.argument(i) for i in x
            ]  # fmt: skip
        if isinstance(x, dict):
            return {k: self.argument(i) for k, i in x.items()}
        if isinstance(x, slice):
            return slice(*[self.argument(i) for i in (x.start, x.stop, x.step)])
        if isinstance(x, torch.dtype):
            return str(x).removeprefix("torch.")
        if isinstance(x, (torch.device, torch.layout, torch.memory_format)):
            return None
        if isinstance(x, torch.SymInt):
            return int(x)
        return x

    def results(self, node: Node) -> tuple[Value, ...]:
        """What torch recorded of a node's results."""
        return _results(node)

    def _call(self, node: Node, owner: GraphModule) -> None:
        g, target = self.g, node.target
        g.source, g.where = names_of(target)[0], self._where(node)
        control = CONTROL.get(getattr(target, "__name__", ""))
        if control is not None:
            self.known[node] = control(self, node, owner)
            return
        if target is operator.getitem:
            source = self.argument(node.args[0])
            key = node.args[1]
            self.known[node] = (
                source[key] if isinstance(source, (tuple, list)) else g.item(source, key)
            )
            return
        if is_assertion(target):
            self.known[node] = None
            return
        g.outs = _results(node)
        g.notes.operations[g.source] += 1
        convert = find_rule(target)
        assert convert is not None, target
        _refuse_types(g, node)
        args = [self.argument(x) for x in node.args]
        kwargs = {k: self.argument(x) for k, x in node.kwargs.items()}
        is_lifted = target_name(target) in LIFTED and getattr(args[0], "shape", None) == ()
        lift = self._lifted if is_lifted else self._converted
        result = lift(convert, target, args, kwargs)
        if isinstance(result, Value):
            result = g.noted(result, g.out.shape, g.out.dtype)
            self.seen[node.name] = (result.name,)
        elif isinstance(result, (tuple, list)):
            result = tuple([
                Missing(g.source, i) if x is None and out.dtype is not None
                else x if not isinstance(x, Value) else g.noted(x, out.shape, out.dtype)
                for i, (x, out) in enumerate(zip(result, g.outs))
            ])  # fmt: skip
            self.seen[node.name] = tuple([getattr(x, "name", None) for x in result])
        self.known[node] = result
        if is_inplace(target):
            self._overwrite(node.args[0], result)

    def _lifted(self, convert: Rule, target: Any, args: list[Any], kwargs: Any) -> Any:
        """A rule for arrays with axes, for one without: it gets an axis of length one."""
        g, outs = self.g, self.g.outs

        def longer(x: Any) -> Any:
            if not isinstance(x, Value) or x.shape != ():
                return x
            return g.noted(g.t.reshape(x, (1,)), (1,), x.dtype)

        g.outs = tuple([replace(x, shape=x.shape or (1,)) for x in outs])
        made = self._converted(
            convert, target, [longer(x) for x in args], {k: longer(x) for k, x in kwargs.items()}
        )
        several = made if isinstance(made, tuple) else (made,)
        shaped = [
            g.t.reshape(x, out.shape) if isinstance(x, Value) and None not in out.shape else x
            for x, out in zip(several, outs)
        ]
        g.outs = outs
        return tuple(shaped) if isinstance(made, tuple) else shaped[0]

    def _converted(self, convert: Rule, target: Any, args: list[Any], kwargs: Any) -> Any:
        names, defaults = parameters_of(target)
        try:
            return call(convert, self.g, args, kwargs, names=names, defaults=defaults)
        except TrellisError:
            raise
        except Exception as error:
            raise ConversionError(
                f"from_torch() could not read {self.g.source} at {self.g.where or 'the top'}: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _overwrite(self, target: Node, result: Value) -> None:
        """What an in-place operation wrote into is, from here on, its result."""
        before = self.known[target]
        self.known[target] = result
        if isinstance(before, Value):
            self.g.update(before, result)

    def _where(self, node: Node) -> str:
        """The module that a node comes from, as `layers.0.attention (model.py, line 12)`."""
        stack = node.meta.get("nn_module_stack") or {}
        path = ""
        for value in stack.values():
            path = value[0]
        path = path.removeprefix("L['self'].").removeprefix("L__self___")
        path = "" if f"{path}." == self._prefix else path.removeprefix(self._prefix)
        return path


def source_line(node: Node) -> str:
    """The user's line that a node comes from."""
    lines = [x.strip() for x in (node.meta.get("stack_trace") or "").splitlines() if "File " in x]
    if not lines:
        return ""
    return lines[-1].replace("File ", "").replace('"', "").rpartition(", in ")[0]


def _results(node: Node) -> tuple[Value, ...]:
    """What a node gives in torch, as values without names that matter."""
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else (value,)
    return tuple([described(x) for x in values])


def described(x: object) -> Value:
    """The shape and type of a tensor that torch recorded; sizes that are open have names."""
    if not isinstance(x, torch.Tensor):
        return Value("")
    shape = tuple([size if isinstance(size, int) else str(size) for size in x.shape])
    return Value("", shape, str(x.dtype).removeprefix("torch."))


def as_numpy(x: torch.Tensor) -> Any:
    """A tensor as a NumPy array; bfloat16 needs the type of ml_dtypes."""
    x = x.detach().cpu().resolve_conj().resolve_neg()
    if x.dtype == torch.bfloat16:
        import ml_dtypes

        return x.float().numpy().astype(ml_dtypes.bfloat16)
    return x.numpy().copy()


def as_tensor(x: Any, like: torch.Tensor) -> torch.Tensor:
    """A NumPy array as a tensor of the type, and on the device, of another."""
    plain = x.astype("float32") if like.dtype == torch.bfloat16 else x
    return torch.from_numpy(plain.copy()).to(like.dtype).to(like.device)


def _attribute(owner: object, path: str) -> Any:
    for name in path.split("."):
        owner = getattr(owner, name)
    return owner


Control = Callable[[Translator, Node, GraphModule], Any]
