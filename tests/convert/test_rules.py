"""What rules call exists: a rule runs only when a model has its operation."""

import ast
from pathlib import Path

import pytest

import trellis
from trellis.convert import semantics

CONVERT = Path(trellis.__file__).parent / "convert"
ROOMS = {
    "t": trellis,
    "F": trellis.functional,
    "linalg": trellis.linalg,
    "fft": trellis.fft,
    "s": semantics,
}


@pytest.mark.parametrize("path", sorted(CONVERT.rglob("*.py")), ids=lambda path: path.stem)
def test_rules_call_what_exists(path):
    """`g.t.name`, `g.F.name`, `g.s.name`, ... in the text of the readers."""
    missing = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute)):
            continue
        inner = node.value
        if isinstance(inner.value, ast.Name) and inner.value.id == "g" and inner.attr in ROOMS:
            if not hasattr(ROOMS[inner.attr], node.attr):
                missing.append(f"line {node.lineno}: g.{inner.attr}.{node.attr}")
    assert missing == []
