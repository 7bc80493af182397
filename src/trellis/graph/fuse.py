"""Replacing groups of calls by one function: means, softmax, gelu, norms.

Each rule examines one call and those it depends on, and returns one call that computes the same.
The replaced calls stay if their results are used elsewhere, and are dropped otherwise.
"""

import builtins
import math
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

from .fuse_attention import attention
from .graph import Function, Graph, Node, Value, functions_in, replace_values, values_in
from .matching import AnyOf, Found, Matcher

# The new call: its function, arguments and attributes. A value alone means that nothing is called.
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | Value


def fuse(graph: Graph) -> Counter[str]:
    """Replace groups of calls by one function each; returns how many of which."""
    work = _Work(graph)
    for stage in _stages():
        work.run(graph, stage, {})
    if work.names:
        _replace(graph, work.names)
    return work.counts


class _Work:
    """The state of the passes over a graph."""

    def __init__(self, graph: Graph):
        self.counts: Counter[str] = Counter()
        self.names: dict[str, Value] = {}  # other names, or other values, for results
        self._taken = {value.name for value in _all_values(graph)}
        self._fixed = frozenset([*[x.name for x in graph.buffers.values()], *graph.constants])
        self._same: dict[str, Value] = {}  # results that are another value

    def run(self, function: Function, stage: "Stage", outer: dict[str, Node]) -> None:
        """Try the rules of a stage on each call of a function, and of those inside it."""
        matcher = Matcher(function, outer, self._fixed)
        nodes: list[Node] = []
        for node in function.nodes:
            if self._same:
                node.args = replace_values(node.args, self._other)
                node.attributes = replace_values(node.attributes, self._other)
            for inner in functions_in((*node.args, *node.attributes.values())):
                self.run(inner, stage, matcher.made)
            nodes += self._changed(node, stage, matcher)
        function.nodes = nodes

    def _changed(self, node: Node, stage: "Stage", matcher: Matcher) -> list[Node]:
        for name, rule in stage:
            call = rule(matcher, node)
            if call is None:
                continue
            self.counts[name] += 1
            if isinstance(call, Value):
                self._same[node.result.name] = self.names[node.result.name] = call
                return []
            added = list(matcher.before)
            for new in added:
                self.names[new.result.name] = Value(self._fresh(new.op.__name__))
                new.source, new.where = node.source, node.where
            matcher.before.clear()
            node.op, node.args, node.attributes = call
            old, word = node.result, node.op.__name__
            if word != "getitem":
                self.names[old.name] = Value(self._fresh(word), old.shape, old.dtype)
            return [*added, node]
        return [node]

    def _other(self, value: Value) -> Value:
        return self._same.get(value.name, value)

    def _fresh(self, stem: str) -> str:
        name, i = stem, 0
        while name in self._taken or hasattr(builtins, name):
            i += 1
            name = f"{stem}_{i}"
        self._taken.add(name)
        return name


Rule = Callable[[Matcher, Node], Call | None]
Stage = list[tuple[str, Rule]]


def _stages() -> list[Stage]:
    """The rules in stages: later ones use the results of earlier ones."""
    return [
        [("no maximum with -inf", _without_infinity), ("no product with 1", _without_one)],
        [("keepdims", _keepdims)],
        [("mean", _mean)],
        [("keepdims", _keepdims)],
        [("variance", _variance)],
        [("no maximum with 0", _variance_above_zero)],
        [("keepdims", _keepdims)],
        [("softmax", _softmax), ("log_softmax", _log_softmax), ("logsumexp", _logsumexp)],
        [("gelu", _gelu), ("silu", _silu), ("matmul", _matmul)],
        [("layer_norm", _layer_norm), ("batch_norm", _batch_norm)],
        [("attention", attention)],
    ]


# Sums and means -----------------------------------------------------------------------------------


def _without_infinity(m: Matcher, node: Node) -> Call | None:
    return _if_alike(m.match(("maximum", float("-inf"), "?x"), node), node)


def _without_one(m: Matcher, node: Node) -> Call | None:
    pattern = AnyOf(("multiply", 1.0, "?x"), ("divide", "?x", 1.0))
    return _if_alike(m.match(pattern, node), node)


def _if_alike(found: Found | None, node: Node) -> Value | None:
    """The argument of a call that does not change it, unless its type would differ."""
    x = None if found is None else found["?x"]
    if not isinstance(x, Value) or x.dtype is None or x.dtype != node.result.dtype:
        return None
    return x


_REDUCTIONS = ("sum", "max", "min", "mean", "var", "prod")


def _keepdims(m: Matcher, node: Node) -> Call | None:
    """A reduction whose axis is added again becomes one with keepdims."""
    if node.op.__name__ not in ("expand_dims", "reshape"):
        return None
    inner = m.node_of(node.args[0]) if node.args else None
    if inner is None or inner.op.__name__ not in _REDUCTIONS or inner.attributes.get("keepdims"):
        return None
    x = inner.args[0]
    axes = _axes(inner.attributes.get("axis"), x)
    if axes is None or set(inner.attributes) - {"axis", "correction"}:
        return None
    if node.op.__name__ == "expand_dims":
        put_back = node.attributes.get("axis", node.args[1] if len(node.args) > 1 else None)
        if len(axes) != 1 or put_back not in (axes[0], axes[0] - len(x.shape)):
            return None
    else:
        wanted = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
        if node.result.shape != wanted or not all([isinstance(n, int) for n in wanted]):
            return None
    return inner.op, inner.args, {**inner.attributes, "keepdims": True}


def _mean(m: Matcher, node: Node) -> Call | None:
    """A sum divided by the number of its elements."""
    sums = ("sum", "?x", {"axis": "?axis", "keepdims": "?keepdims"})
    found = m.match(AnyOf(("divide", sums, "?n"), ("multiply", sums, "?n")), node)
    if found is None or not isinstance(found["?n"], (int, float)):
        return None
    axes = _axes(found["?axis"], found["?x"])
    if axes is None:
        return None
    sizes = [found["?x"].shape[i] for i in axes]
    if not all([isinstance(n, int) for n in sizes]):
        return None
    count = math.prod(sizes)
    n = found["?n"] if node.op.__name__ == "divide" else 1 / found["?n"] if found["?n"] else 0
    if abs(n - count) > 1e-5 * count or "float" not in str(found["?x"].dtype):
        return None
    import trellis

    return trellis.mean, (found["?x"],), _reduction(found)


def _variance(m: Matcher, node: Node) -> Call | None:
    """The mean square minus the squared mean, or the mean of squared distances from the mean."""
    mean = ("mean", "?x", {"axis": "?axis", "keepdims": "?keepdims"})
    kept = AnyOf(
        ("mean", "?x", {"axis": "?axis", "keepdims": True}),
        ("stop_gradient", ("mean", "?x", {"axis": "?axis", "keepdims": True})),
    )
    square = AnyOf(("square", "?x"), ("multiply", "?x", "?x"), ("pow", "?x", 2))
    squares = ("mean", square, {"axis": "?axis", "keepdims": "?keepdims"})
    fast = ("subtract", squares, AnyOf(("square", mean), ("multiply", mean, mean)))
    from_mean = AnyOf(("subtract", "?x", kept), ("subtract", kept, "?x"))
    slow = ("mean", ("square", from_mean), {"axis": "?axis", "keepdims": "?keepdims"})
    found = m.match(AnyOf(fast, slow), node)
    if found is None or _axes(found["?axis"], found["?x"]) is None:
        return None
    import trellis

    return trellis.var, (found["?x"],), _reduction(found)


def _variance_above_zero(m: Matcher, node: Node) -> Call | None:
    """A variance is below zero only by rounding: drop the maximum with 0."""
    pattern = ("var", "?x", {"axis": "?axis", "keepdims": "?keepdims"})
    found = m.match(("maximum", 0.0, pattern), node)
    if found is None:
        return None
    import trellis

    return trellis.var, (found["?x"],), _reduction(found)


def _reduction(found: Found) -> dict[str, Any]:
    options = {"axis": found["?axis"]} if found["?axis"] is not None else {}
    return {**options, "keepdims": True} if found.get("?keepdims") else options


# Softmax ------------------------------------------------------------------------------------------


def _shift(x: str) -> AnyOf:
    """The largest element, which is subtracted to avoid overflow."""
    largest = ("max", x, {"axis": "?axis", "keepdims": True})
    safe = ("where", ("isfinite", largest), largest, 0.0)
    forms = AnyOf(largest, safe)
    return AnyOf(("stop_gradient", forms), forms)


def _softmax(m: Matcher, node: Node) -> Call | None:
    powers = ("exp", ("subtract", "?x", _shift("?x")))
    total = ("sum", powers, {"axis": "?axis", "keepdims": True})
    found = m.match(("divide", powers, total), node)
    return _along_axis("softmax", found)


def _log_softmax(m: Matcher, node: Node) -> Call | None:
    shifted = ("subtract", "?x", _shift("?x"))
    total = ("sum", ("exp", shifted), {"axis": "?axis", "keepdims": True})
    found = m.match(("subtract", shifted, ("log", total)), node)
    return _along_axis("log_softmax", found)


def _logsumexp(m: Matcher, node: Node) -> Call | None:
    shifted = ("subtract", "?x", _shift("?x"))
    total = ("sum", ("exp", shifted), {"axis": "?axis", "keepdims": True})
    found = m.match(("add", ("log", total), _shift("?x")), node)
    if found is None or _axes(found["?axis"], found["?x"]) is None:
        return None
    import trellis

    return trellis.logsumexp, (found["?x"],), {"axis": found["?axis"], "keepdims": True}


def _along_axis(name: str, found: Found | None) -> Call | None:
    if found is None:
        return None
    axes = _axes(found["?axis"], found["?x"])
    if axes is None:
        return None
    from trellis import functional

    last = len(found["?x"].shape) - 1
    options = {} if axes == (last,) else {"axis": found["?axis"]}
    return getattr(functional, name), (found["?x"],), options


# Activations and products -------------------------------------------------------------------------


def _gelu(m: Matcher, node: Node) -> Call | None:
    cube = AnyOf(("pow", "?x", 3), ("pow", "?x", 3.0), ("multiply", "?x", ("square", "?x")))
    inner = ("add", "?x", ("multiply", 0.044715, cube))
    tanh = ("tanh", ("multiply", math.sqrt(2 / math.pi), inner))
    root = math.sqrt(0.5)
    scaled = AnyOf(("multiply", "?x", root), ("divide", "?x", math.sqrt(2)))
    minus = AnyOf(
        ("multiply", ("negative", "?x"), root),
        ("negative", scaled),
        ("multiply", "?x", -root),
        ("divide", ("negative", "?x"), math.sqrt(2)),
    )

    def half_of(whole: object) -> AnyOf:
        return AnyOf(
            ("multiply", "?x", ("multiply", 0.5, whole)),
            ("multiply", ("multiply", 0.5, "?x"), whole),
            ("multiply", 0.5, ("multiply", "?x", whole)),
            ("divide", ("multiply", "?x", whole), 2.0),
            ("multiply", ("divide", "?x", 2.0), whole),
        )

    from trellis import functional

    found = m.match(half_of(AnyOf(("erfc", minus), ("add", 1.0, ("erf", scaled)))), node)
    if found is not None:
        return functional.gelu, (found["?x"],), {}
    found = m.match(half_of(("add", 1.0, tanh)), node)
    if found is not None:
        return functional.gelu, (found["?x"],), {"approximate": True}
    return None


def _silu(m: Matcher, node: Node) -> Call | None:
    found = m.match(("multiply", "?x", ("sigmoid", "?x")), node)
    if found is None:
        return None
    from trellis import functional

    return functional.silu, (found["?x"],), {}


def _matmul(m: Matcher, node: Node) -> Call | None:
    """A product needs no reshape of its leading axes into one."""
    flat = ("matmul", ("reshape", "?x", "?rows"), "?y")
    found = m.match(("reshape", flat, "?shape"), node)
    if found is None:
        return None
    x, y, shape, rows = found["?x"], found["?y"], found["?shape"], found["?rows"]
    sizes = _shape(y)
    before = _shape(x)
    if sizes is None or len(sizes) != 2 or before is None or len(before) < 2:
        return None
    if not isinstance(shape, tuple) or len(shape) != len(before) or shape[-1] != sizes[1]:
        return None
    if not isinstance(rows, tuple) or len(rows) != 2 or before[-1] != sizes[0]:
        return None
    is_same = [a == b for a, b in zip(shape[:-1], before[:-1])]
    if [a for a, same in zip(shape[:-1], is_same) if not same] not in ([], [-1]):
        return None
    import trellis

    return trellis.matmul, (x, y), {}


# Norms --------------------------------------------------------------------------------------------


def _scaled(factor: object) -> AnyOf:
    """`x` minus its mean, times a factor, plus a bias: as written by flax and by Keras."""
    moved = ("multiply", ("subtract", "?x", "?mean"), factor)
    rest = AnyOf(
        ("subtract", "?bias", ("multiply", "?mean", factor)),
        ("add", "?bias", ("multiply", ("negative", "?mean"), factor)),
    )
    return AnyOf(("add", moved, "?bias"), ("add", ("multiply", "?x", factor), rest))


def _layer_norm(m: Matcher, node: Node) -> Call | None:
    inverse = ("rsqrt", ("add", "?var", "?epsilon"))
    found = m.match(_scaled(("multiply", inverse, "?weight")), node)
    if found is None or not isinstance(found["?epsilon"], float):
        return None
    mean = m.match(("mean", "?x", {"axis": "?axis", "keepdims": True}), _node(m, found["?mean"]))
    var = m.match(("var", "?x", {"axis": "?axis", "keepdims": True}), _node(m, found["?var"]))
    if mean is None or mean != var or mean["?x"] != found["?x"]:
        return None
    x = found["?x"]
    axes = _axes(mean["?axis"], x)
    if axes != (len(x.shape) - 1,):
        return None
    size = (x.shape[-1],)
    weight, bias = _vector(m, found["?weight"]), _vector(m, found["?bias"])
    if _shape(weight) != size or _shape(bias) != size:
        return None
    from trellis import functional

    options = {"weight": weight, "bias": bias, "epsilon": found["?epsilon"]}
    return functional.layer_norm, (x,), options


def _batch_norm(m: Matcher, node: Node) -> Call | None:
    """With statistics that are vectors along the last axis, and are not trained: frameworks give
    no gradient with respect to them."""
    inverse = ("rsqrt", ("add", "?var", "?epsilon"))
    both = m.match(_scaled(("multiply", inverse, "?weight")), node)
    found = both if both is not None else m.match(_scaled(inverse), node)
    if found is None or not isinstance(found["?epsilon"], float):
        return None
    x = found["?x"]
    shape = _shape(x)
    names = ["?mean", "?var", "?bias", *(["?weight"] if both is not None else [])]
    vectors = {name: _vector(m, found[name]) for name in names}
    if shape is None or len(shape) < 2 or not isinstance(shape[-1], int):
        return None
    if any([_shape(v) != (shape[-1],) for v in vectors.values()]):
        return None
    if any([vectors[name].name not in m.fixed for name in ("?mean", "?var")]):
        return None
    from trellis import functional

    options = {"weight": vectors["?weight"]} if both is not None else {}
    options |= {"bias": vectors["?bias"], "epsilon": found["?epsilon"]}
    whole = m.new(functional.batch_norm, x, vectors["?mean"], vectors["?var"], **options)
    return operator.getitem, (whole, 0), {}


_NOTHING = Node(operator.getitem, (), {}, Value("nothing"))


def _node(m: Matcher, x: object) -> Node:
    return m.node_of(x) or _NOTHING


def _vector(m: Matcher, x: object) -> Any:
    """A vector without leading axes of size 1."""
    node = m.node_of(x)
    while node is not None and node.op.__name__ in ("reshape", "expand_dims", "broadcast_to"):
        inner, shape = node.args[0], _shape(node.result)
        before = _shape(inner)
        if shape is None or before is None or len(before) != 1 or shape[-1] != before[0]:
            break
        if any([n != 1 for n in shape[:-1]]):
            break
        x, node = inner, m.node_of(inner)
    return x


def _shape(x: object) -> tuple[Any, ...] | None:
    return x.shape if isinstance(x, Value) else None


def _axes(axis: Any, x: object) -> tuple[int, ...] | None:
    """Axes from 0 up, if the rank is known."""
    shape = _shape(x)
    if shape is None or axis is None:
        return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted([i % len(shape) for i in axes]))


# Names --------------------------------------------------------------------------------------------


def _all_values(function: Function) -> list[Value]:
    found = [*function.inputs]
    if isinstance(function, Graph):
        found += [*function.variables.values(), *function.buffers.values()]
        found += [Value(name) for name in function.constants]
    for node in function.nodes:
        found += [node.result, *values_in((node.args, node.attributes))]
        for inner in functions_in((*node.args, *node.attributes.values())):
            found += [*_all_values(inner), Value(inner.name)]
    return found


def _replace(graph: Graph, names: dict[str, Value]) -> None:
    """Use the new names of results everywhere."""

    def new(value: Value) -> Value:
        while value.name in names:
            value = names[value.name]
        return value

    def results(function: Function) -> None:
        for node in function.nodes:
            for inner in functions_in((*node.args, *node.attributes.values())):
                results(inner)
            node.result = new(node.result)

    results(graph)
    for node in graph.nodes:
        node.args = replace_values(node.args, new)
        node.attributes = replace_values(node.attributes, new)
    graph.outputs = replace_values(graph.outputs, new)
    graph.updates = replace_values(graph.updates, new)
