"""The tape: entries that know their parents, and the backward pass through them."""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

__all__ = ["RULES", "Back", "Node", "Parts", "Sparse", "backward", "entry", "numbers"]

# NumPy function -> what to call when one of its arguments is traced.
RULES: dict[Any, Callable[..., Any]] = {}

# From the gradient of a result to that of one argument; None if there is no gradient.
Back = Callable[[Any], Any]

# Counts down: a later entry has a smaller number, and is processed first in the backward pass.
numbers = count(0, -1)


class Node:
    """An entry of the tape. It holds no values; what its derivative needs is in `backs`."""

    __slots__ = ("backs", "number", "parents")

    number: int
    parents: list["Node"]
    # One function for each parent, or one that returns the gradients of all of them.
    backs: list[Back] | Callable[[Any], Sequence[Any]]


def entry(parents: list[Node], backs: Any) -> Node:
    """A new entry with these parents."""
    node = Node.__new__(Node)
    node.number = next(numbers)
    node.parents = parents
    node.backs = backs
    return node


class Parts:
    """The gradients of a function with several results: one for each, or None."""

    __slots__ = ("gs",)

    def __init__(self, gs: list[Any]):
        self.gs = gs

    def plus(self, other: "Parts") -> "Parts":
        pairs = zip(self.gs, other.gs, strict=True)
        return Parts([b if a is None else a if b is None else a + b for a, b in pairs])


class Sparse:
    """A gradient that is 0 but for some elements: `add(total, is_ours)` returns the sum with it.
    With a total of None the sum is a new array; a total that is ours may be overwritten. Otherwise
    a loop over the slices of one array would take quadratic time.
    """

    __slots__ = ("add",)

    def __init__(self, add: Callable[[Any, bool], Any]):
        self.add = add


def backward(
    ends: Iterable[tuple[Node | None, Any]], once: bool = False, until: int = 0
) -> dict[Node, Any]:
    """From the gradients of some entries, those of the roots and of entries older than `until`.

    With `once`, what an entry has kept is freed as soon as it has been used.
    """
    sums: dict[Node, tuple[Any, bool]] = {}
    waiting: list[tuple[int, Node]] = []
    roots: dict[Node, Any] = {}
    for node, g in ends:
        if node is not None and g is not None:
            if node not in sums:
                heappush(waiting, (node.number, node))
            sums[node] = _added(*sums[node], g) if node in sums else (g, False)
    # An infinite gradient is a valid result, so NumPy does not warn about it here.
    with np.errstate(all="ignore"):
        while waiting:
            node = heappop(waiting)[1]
            g = sums.pop(node)[0]
            parents, backs = node.parents, node.backs
            if not parents or node.number > until:
                roots[node] = g
                continue
            found: Any = [back(g) for back in backs] if type(backs) is list else backs(g)  # type: ignore[operator]
            for parent, part in zip(parents, found, strict=True):
                if parent in sums:
                    if part is not None:
                        sums[parent] = _added(*sums[parent], part)
                elif part is not None:
                    heappush(waiting, (parent.number, parent))
                    is_sparse = type(part) is Sparse
                    sums[parent] = (part.add(None, True), True) if is_sparse else (part, False)
            if once:
                node.parents = node.backs = None  # type: ignore[assignment]
            del g, backs, found, part
    return roots


def _added(total: Any, is_ours: bool, g: Any) -> tuple[Any, bool]:
    """The sum of two gradients, and whether it may be written into."""
    kind = type(g)
    if kind is Sparse:
        return g.add(total, is_ours), True
    if kind is Parts:
        return total.plus(g), False
    if kind is np.ndarray and type(total) is kind:
        if total.dtype == g.dtype and total.shape == g.shape:
            return np.add(total, g, out=total if is_ours else None), True
    return total + g, True
