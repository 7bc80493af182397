"""Operations that hold graphs of their own: modes are read through, branches and loops become those
of Trellis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch.fx import GraphModule, Node

from ...graph import Value

if TYPE_CHECKING:
    from .translate import Translator


def _inlined(translator: "Translator", node: Node, owner: GraphModule, at: int) -> Any:
    """The body in the place of the call: argument `at` is the graph, what follows goes into it."""
    body = getattr(owner, str(node.args[at].target))
    inputs = [x for x in body.graph.nodes if x.op == "placeholder"]
    given = [translator.argument(x) for x in node.args[at + 1 :]]
    return translator.read(body.graph, body, dict(zip(inputs, given)))


def grad_mode(translator: "Translator", node: Node, owner: GraphModule) -> Any:
    """`torch.no_grad()`: no gradient flows into what comes out."""
    out = _inlined(translator, node, owner, 1)
    if node.args[0]:
        return out
    g = translator.g
    results = [
        g.noted(g.t.stop_gradient(x), x.shape, x.dtype)
        if getattr(x, "dtype", None) and "float" in x.dtype
        else x
        for x in (out if isinstance(out, (tuple, list)) else [out])
    ]
    return tuple(results) if isinstance(out, (tuple, list)) else results[0]


def autocast(translator: "Translator", node: Node, owner: GraphModule) -> Any:
    return _inlined(translator, node, owner, 4)


def checkpoint(translator: "Translator", node: Node, owner: GraphModule) -> Any:
    return _inlined(translator, node, owner, 0)


def cond(translator: "Translator", node: Node, owner: GraphModule) -> Any:
    pred, true_graph, false_graph, operands = node.args
    g = translator.g
    functions = []
    for graph in (true_graph, false_graph):
        body = getattr(owner, str(graph.target))
        functions.append(_function(translator, body, operands))
    out = g.t.cond(translator.argument(pred), *functions)
    return _items(translator, out, node)


def _items(translator: "Translator", out: Value, node: Node) -> tuple[Any, ...]:
    """What a branch or loop gives, one by one, with what torch recorded of them."""
    g = translator.g
    found = []
    for i, recorded in enumerate(translator.results(node)):
        found.append(g.noted(g.item(out, i), recorded.shape, recorded.dtype))
    return tuple(found)


def _function(translator: "Translator", body: GraphModule, operands: Sequence[Node]) -> Any:
    """A branch as a function without arguments: it takes what it needs from outside."""
    inputs = [x for x in body.graph.nodes if x.op == "placeholder"]
    given = [translator.argument(x) for x in operands]
    with translator.g.function() as made:
        out = translator.read(body.graph, body, dict(zip(inputs, given)))
        made.outputs = tuple(out)
    return made


def while_loop(translator: "Translator", node: Node, owner: GraphModule) -> Any:
    cond_graph, body_graph, state, others = node.args
    g = translator.g
    init = tuple([translator.argument(x) for x in state])
    functions = []
    for graph in (cond_graph, body_graph):
        body = getattr(owner, str(graph.target))
        inputs = [x for x in body.graph.nodes if x.op == "placeholder"]
        with g.function() as made:
            carried = g.input("state")
            items = [
                g.noted(g.item(carried, i), getattr(x, "shape", None), getattr(x, "dtype", None))
                for i, x in enumerate(init)
            ]
            given = [*items, *[translator.argument(x) for x in others]]
            out = translator.read(body.graph, body, dict(zip(inputs, given)))
            is_test = graph is cond_graph
            made.outputs = (
                (out[0] if isinstance(out, (tuple, list)) else out) if is_test else tuple(out)
            )
        functions.append(made)
    return _items(translator, g.t.while_loop(*functions, init), node)


CONTROL = {
    "wrap_with_set_grad_enabled": grad_mode,
    "wrap_with_autocast": autocast,
    "tag_activation_checkpoint": checkpoint,
    "cond": cond,
    "while_loop": while_loop,
}
