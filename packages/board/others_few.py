"""Green tests that made one comparison or none, and whose text does not show which.

A test of which the only check is an `assert` or a `pytest.raises` in its own body has passed it, or
it would not be green. What is listed here has its check in a branch, a loop, a helper, a task or
nowhere that can be seen: a reader decides whether it is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

__all__ = ["to_be_read"]

_CHECKS = ("assert", "raises", "warns", "fail", "deprecated_call")


def to_be_read(checkout: Path, tests: Iterable[tuple[str, str]]) -> list[str]:
    """Of some tests, as module and name, the functions without a check that is always reached."""
    functions: dict[tuple[str, str], None] = {
        (module, name.partition("[")[0]): None for module, name in tests
    }
    parsed: dict[str, dict[str, ast.AST]] = {}
    found = []
    for module, name in functions:
        if module not in parsed:
            file = checkout / f"{module}.py"
            text = file.read_text(encoding="utf-8") if file.is_file() else ""
            parsed[module] = dict(_functions(ast.parse(text), ""))
        function = parsed[module].get(name)
        if function is None or not _always_checks(getattr(function, "body", [])):
            line = getattr(function, "lineno", 0)
            found.append(f"{module}.py:{line} {name}")
    return found


def _functions(node: ast.AST, prefix: str) -> Iterable[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}::")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.If | ast.Try):
            yield from _functions(child, prefix)


def _always_checks(body: Iterable[ast.stmt]) -> bool:
    """Whether one of some statements is a check that is about something."""
    for statement in body:
        if isinstance(statement, ast.Assert):
            if any(isinstance(node, ast.Name) for node in ast.walk(statement.test)):
                return True
        elif isinstance(statement, ast.With | ast.AsyncWith):
            if any(_is_check(item.context_expr) for item in statement.items):
                return True
            if _always_checks(statement.body):
                return True
        elif isinstance(statement, ast.Expr):
            value = statement.value
            if _is_check(value.value if isinstance(value, ast.Await) else value):
                return True
        elif isinstance(statement, ast.Return):
            return False
        elif isinstance(statement, ast.If) and any(
            isinstance(node, ast.Return) for node in ast.walk(statement)
        ):
            return False  # what comes after it may not be reached
    return False


def _is_check(expression: ast.expr) -> bool:
    """A call of something whose name says that it checks, and that has arguments."""
    if not isinstance(expression, ast.Call):
        return False
    function = expression.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return bool(expression.args or expression.keywords) and name.lstrip("_").startswith(_CHECKS)
