"""Filling the expressions of the op table with the arguments of one call."""

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any


@cache
def _parsed(way: str) -> ast.expr:
    return ast.parse(way, mode="eval").body


def filled(
    way: str, arguments: Mapping[str, Any], left_out: frozenset[str], text: Callable[[Any], str]
) -> str:
    """The expression `way` with each name in `arguments` replaced by its text.

    Keyword arguments in `left_out` are removed; conditions are decided by the values of the
    arguments.
    """
    return _Filling(way, arguments, left_out, text).of(_parsed(way))


class _Filling:
    """Replaces parts of the source of one expression."""

    def __init__(
        self,
        way: str,
        arguments: Mapping[str, Any],
        left_out: frozenset[str],
        text: Callable[[Any], str],
    ):
        self._way, self._arguments, self._left_out, self._text = way, arguments, left_out, text

    def of(self, node: ast.expr) -> str:
        if isinstance(node, ast.IfExp):
            return self.of(node.body if self._holds(node.test) else node.orelse)
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Name):
            return ", ".join([self._text(x) for x in self._arguments[node.value.id]])
        pieces = [(*self._span(child), self._piece(node, child)) for child in self._children(node)]
        return self._joined(node, pieces)

    def _children(self, node: ast.AST) -> list[ast.expr]:
        """The expressions below a node, in the order of the source."""
        found = [x for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr)]
        for x in ast.iter_child_nodes(node):
            if isinstance(x, (ast.keyword, ast.comprehension)):
                found += self._children(x)
        return sorted(found, key=self._span)

    def _piece(self, parent: ast.AST, child: ast.expr) -> str:
        text = self.of(child)
        is_apart = isinstance(parent, (ast.Call, ast.List, ast.Tuple)) and not (
            isinstance(parent, ast.Call) and child is parent.func
        )
        return text if is_apart or not isinstance(child, ast.Name) else _as_factor(text)

    def _joined(self, node: ast.expr, pieces: list[tuple[int, int, str]]) -> str:
        start, stop = self._span(node)
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                value = keyword.value
                if isinstance(value, ast.Name) and value.id in self._left_out:
                    end = self._span(value)[1]
                    comma = self._way.rindex(",", 0, keyword.col_offset)
                    pieces = [x for x in pieces if x[1] != end] + [(comma, end, "")]
        parts: list[str] = []
        for begin, end, text in sorted(pieces):
            parts += [self._way[start:begin], text]
            start = end
        return "".join([*parts, self._way[start:stop]])

    def _named(self, name: str) -> str:
        return self._text(self._arguments[name]) if name in self._arguments else name

    def _holds(self, test: ast.expr) -> bool:
        """A condition of the table: a name, `name is None` or `name == constant`."""
        if isinstance(test, ast.Name):
            return bool(self._arguments[test.id])
        assert isinstance(test, ast.Compare) and isinstance(test.left, ast.Name)
        (other,) = test.comparators
        assert isinstance(other, ast.Constant)
        return bool(self._arguments[test.left.id] == other.value)

    def _span(self, node: ast.expr) -> tuple[int, int]:
        return node.col_offset, node.end_col_offset or 0


def _as_factor(text: str) -> str:
    """The text, in brackets where operator precedence needs them."""
    whole = ast.parse(text, mode="eval").body
    is_whole = isinstance(whole, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant))
    return text if is_whole else f"({text})"
