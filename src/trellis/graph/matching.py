"""Finding groups of calls in a graph that match a pattern.

A pattern is a nested tuple: `("add", "?x", 1.0)` matches a call of a function named `add`. `"?x"`
matches anything, the same value wherever the name occurs; a number matches itself up to float32
rounding; a dict as the last item matches attributes; `AnyOf(p, q)` matches what one of its patterns
matches. The operands of commutative functions may be in either order.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .graph import Function, Node, Value

Found = dict[str, Any]
_COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum", "logical_and", "equal"})


class AnyOf:
    """A pattern that matches where one of several does."""

    def __init__(self, *patterns: Any):
        self.patterns = patterns


class Matcher:
    """Matches the calls of one function, and of the functions around it.

    `fixed` are the names of values that no gradient is asked for.
    """

    def __init__(
        self,
        function: Function,
        outer: Mapping[str, Node] | None = None,
        fixed: frozenset[str] = frozenset(),
    ):
        self.fixed = fixed
        self.before: list[Node] = []  # new calls that come before the current one
        self.made: dict[str, Node] = dict(outer or {})
        self.made |= {node.result.name: node for node in function.nodes}

    def match(self, pattern: Any, node: Node) -> Found | None:
        """The values of the names of a pattern, if the call matches it."""
        return next(self._call(pattern, node, {}), None)

    def node_of(self, x: object) -> Node | None:
        """The call that a value comes from."""
        return self.made.get(x.name) if isinstance(x, Value) else None

    def new(self, op: Callable[..., Any], /, *args: Any, **attributes: Any) -> Value:
        """A new call before the current one; its result has no name yet."""
        value = Value(f"{op.__name__}?{len(self.made)}")
        node = Node(op, args, attributes, value)
        self.made[value.name] = node
        self.before.append(node)
        return value

    def _fits(self, pattern: Any, x: object, found: Found) -> Iterator[Found]:
        if isinstance(pattern, AnyOf):
            for one in pattern.patterns:
                yield from self._fits(one, x, found)
        elif isinstance(pattern, str) and pattern.startswith("?"):
            if pattern not in found:
                yield {**found, pattern: x}
            elif found[pattern] == x:
                yield found
        elif isinstance(pattern, tuple):
            node = self.node_of(x)
            if node is not None:
                yield from self._call(pattern, node, found)
        elif _same(pattern, x):
            yield found

    def _call(self, pattern: Any, node: Node, found: Found) -> Iterator[Found]:
        if isinstance(pattern, AnyOf):
            for one in pattern.patterns:
                yield from self._call(one, node, found)
            return
        name, *rest = pattern
        attributes = rest.pop() if rest and isinstance(rest[-1], dict) else {}
        if node.op.__name__ != name or len(node.args) != len(rest):
            return
        if set(node.attributes) - set(attributes):
            return
        orders = [list(node.args)]
        if name in _COMMUTATIVE and len(rest) == 2:
            orders.append(list(node.args)[::-1])
        for args in orders:
            yield from self._all(
                [*zip(rest, args), *[(p, node.attributes.get(k)) for k, p in attributes.items()]],
                found,
            )

    def _all(self, pairs: list[tuple[Any, Any]], found: Found) -> Iterator[Found]:
        if not pairs:
            yield found
            return
        (pattern, x), *rest = pairs
        for more in self._fits(pattern, x, found):
            yield from self._all(rest, more)


def _same(pattern: Any, x: Any) -> bool:
    if isinstance(pattern, float) and type(x) in (int, float):
        if pattern == x or not math.isfinite(pattern):
            return pattern == x
        return abs(pattern - x) <= 1e-6 * abs(pattern)
    return type(pattern) is type(x) and bool(pattern == x)
