"""Making a graph smaller without changing what it computes."""

from typing import Any

import numpy as np

from .graph import Function, Graph, Node, Value, functions_in, replace_values, values_in
from .program import call

# Results larger than this are computed in each call, unless their inputs were as large.
_LARGE = 1 << 16
_PLAIN = (bool, int, float, complex, str, type(None))


def fold_constants(graph: Graph) -> int:
    """Compute, on NumPy, each call that depends on constants alone; returns how many there were.

    Plain numbers among the results (sizes, shapes) are written into the calls that use them.
    """
    known: dict[str, Any] = dict(graph.constants)
    plain: dict[str, Any] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        if plain:
            node.args = replace_values(node.args, lambda x: plain.get(x.name, x))
            node.attributes = replace_values(node.attributes, lambda x: plain.get(x.name, x))
        if not _is_foldable(node, known):
            kept.append(node)
            continue
        result = call(on_numpy(node), known)
        given = sum([np.asarray(known[x.name]).nbytes for x in values_in(node.args)])
        if not _can_keep(result, given):
            kept.append(node)
        elif _is_plain(result):
            plain[node.result.name] = result
        else:
            known[node.result.name] = result
    folded = len(graph.nodes) - len(kept)
    graph.nodes = kept
    graph.outputs = replace_values(graph.outputs, lambda x: plain.get(x.name, x))
    used = {x.name for node in kept for x in values_in((node.args, node.attributes))}
    used |= {x.name for x in values_in((graph.outputs, graph.updates))}
    graph.constants = {
        name: np.asarray(array)
        for name, array in known.items()
        if name in used and not isinstance(array, tuple)
    }
    return folded


def used_values(graph: Graph) -> set[str]:
    """The names of all values that calls, outputs and updates mention."""
    used = {x.name for x in values_in((graph.outputs, graph.updates))}
    for node in graph.nodes:
        used |= {x.name for x in values_in((node.args, node.attributes))}
    return used


def drop_unused(graph: Graph) -> int:
    """Remove calls whose results are not used; returns how many there were."""
    used = {x.name for x in values_in((graph.outputs, graph.updates))}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.result.name in used:
            kept.append(node)
            used |= {x.name for x in values_in((node.args, node.attributes))}
    dropped = len(graph.nodes) - len(kept)
    graph.nodes = kept[::-1]
    graph.constants = {name: x for name, x in graph.constants.items() if name in used}
    return dropped


_ELEMENTWISE = frozenset(
    {"add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "remainder"}
    | {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "floor_divide"}
)


def inline_numbers(graph: Graph) -> int:
    """Write single numbers into the calls that use them with an array of the same data type;
    returns how many there were."""
    numbers = {
        name: array
        for name, array in graph.constants.items()
        if np.ndim(array) == 0 and np.asarray(array).dtype.kind in "fiu"
    }
    count = 0
    for node in graph.nodes:
        if node.op.__name__ not in _ELEMENTWISE or len(node.args) != 2 or node.attributes:
            continue
        for i, x in enumerate(node.args):
            other = node.args[1 - i]
            if not isinstance(x, Value) or not isinstance(other, Value):
                continue
            if x.name not in numbers or other.name in numbers:
                continue
            array = np.asarray(numbers[x.name])
            if other.dtype == array.dtype.name:
                short = array.item() if array.dtype.kind in "iu" else float(str(array[()]))
                node.args = (short, other) if i == 0 else (other, short)
                count += 1
    return count


def _is_foldable(node: Node, known: dict[str, Any]) -> bool:
    if any(
        [isinstance(x, Function) for x in functions_in((*node.args, *node.attributes.values()))]
    ):
        return False
    if is_random(node):
        return False
    return all([x.name in known for x in values_in((node.args, node.attributes))])


def is_random(node: Node) -> bool:
    """Whether a call draws random numbers, so that each run gives another result."""
    home = node.op.__module__
    return ".random" in home or "._random" in home or "dropout" in node.op.__name__


def on_numpy(node: Node) -> Node:
    """The call with NumPy as its target, where it names one."""
    if "backend" not in node.attributes:
        return node
    return Node(node.op, node.args, {**node.attributes, "backend": "numpy"}, node.result)


def _can_keep(result: object, given: int) -> bool:
    if isinstance(result, (tuple, list)):
        return all([_can_keep(x, given) for x in result])
    if isinstance(result, (np.ndarray, np.generic)):
        return result.nbytes <= max(_LARGE, given)
    return isinstance(result, _PLAIN)


def _is_plain(result: object) -> bool:
    if isinstance(result, (tuple, list)):
        return all([_is_plain(x) for x in result])
    return isinstance(result, _PLAIN)
