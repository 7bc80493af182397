"""What the tests try of each public name: its rows in the kit, and the tests that name it."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
KIT = ROOT / "src" / "trellis" / "conformance"
# A test with one of these arguments runs once on every framework.
ON_EVERY_BACKEND = {"backend", "xp", "array", "x64", "compiled"}


@dataclass
class Line:
    """The line of one name."""

    rows: int = 0
    with_gradient: int = 0
    with_compiler: int = 0
    files: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # on every framework
    other_files: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def sentence(self) -> str:
        """In words.

        >>> Line(rows=2, with_gradient=1, with_compiler=2).sentence()
        '2 rows in the conformance kit run on NumPy, JAX, PyTorch and TensorFlow: value, dtype and native type in 2, compiled in 2, gradient against finite differences in 1.'
        """  # noqa: E501
        parts = []
        if self.rows:
            parts.append(
                f"{_many(self.rows, 'row')} in the conformance kit "
                f"{'runs' if self.rows == 1 else 'run'} on NumPy, JAX, PyTorch and TensorFlow: "
                "value, dtype and native type in "
                f"{self.rows}, compiled in {self.with_compiler}, gradient against finite "
                f"differences in {self.with_gradient}."
            )
        if self.files:
            count = sum(self.files.values())
            where = ", ".join(f"`{name}`" for name in sorted(self.files))
            verb = "names it" if count == 1 else "name it"
            parts.append(f"{_many(count, 'test')} on all four {verb}: {where}.")
        if self.other_files and not (self.rows or self.files):
            where = ", ".join(f"`{name}`" for name in sorted(self.other_files))
            parts.append(f"It is used in {where}.")
        return " ".join(parts)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def lines() -> dict[str, Line]:
    """The lines of all names that the tests know, by the way a user writes them."""
    found: dict[str, Line] = defaultdict(Line)
    _count_rows(found)
    for path in sorted([*TESTS.rglob("*.py"), *KIT.glob("test_*.py")]):
        _read(path, found)
    return dict(found)


def _count_rows(found: dict[str, Line]) -> None:
    sys.path.insert(0, str(TESTS))
    try:
        from optim_cases import OptimCase
        from trellis.conformance.cases import all_cases
    finally:
        sys.path.remove(str(TESTS))
    for _, row in all_cases():
        line = found[f"trellis.{row.op}"]
        line.rows += 1
        line.with_gradient += row.gradient is True
        line.with_compiler += row.compiled is True or isinstance(row.compiled, dict)
    module = sys.modules[OptimCase.__module__]
    tables = [value for value in vars(module).values() if isinstance(value, list | tuple)]
    for row in [row for table in tables for row in table if isinstance(row, OptimCase)]:
        line = found[f"trellis.optim.{row.name}"]
        line.files["tests/optim_cases.py"] += 1


def _read(path: Path, found: dict[str, Line]) -> None:
    """The names that one file of tests uses, and in how many of its tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    where = path.relative_to(ROOT).as_posix()
    aliases = _imports(tree)
    tests = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    for test in tests:
        arguments = {each.arg for each in test.args.args}
        for name in _names(test, aliases):
            if arguments & ON_EVERY_BACKEND:
                found[name].files[where] += 1
            else:
                found[name].other_files[where] += 1
    for name in _names(tree, aliases):
        if where not in found[name].files:
            found[name].other_files[where] += 1


def _imports(tree: ast.Module) -> dict[str, str]:
    """What the names of a file stand for: {"F": "trellis.functional"}."""
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.partition(".")[0] == "trellis":
                    aliases[each.asname or "trellis"] = each.name if each.asname else "trellis"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trellis"):
            for each in node.names:
                aliases[each.asname or each.name] = f"{node.module}.{each.name}"
    return aliases


def _names(tree: ast.AST, aliases: dict[str, str]) -> set[str]:
    """The names of Trellis that a piece of code mentions, written in full."""
    found = set()
    for node in ast.walk(tree):
        parts = []
        inner = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in aliases:
            found.add(".".join([aliases[inner.id], *reversed(parts)]))
    return found
