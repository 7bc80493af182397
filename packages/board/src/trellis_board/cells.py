"""Which cell of the board a test belongs to: its module, its row and its backend.

>>> split_row("test_tanh[numpy-float32]", "numpy")
'test_tanh[float32]'
>>> cell_from_node_id("tests/test_ops.py::TestUnary::test_tanh[numpy]", ["numpy"])
('tests/test_ops', 'TestUnary::test_tanh', 'numpy')
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import pytest

__all__ = ["PLAIN", "backend_name", "cell_from_node_id", "cell_of_item", "module_of", "split_row"]

PLAIN = "any"
"""The column of tests that have no backend argument."""

Cell = tuple[str, str, str]


def cell_of_item(item: pytest.Item, backend_argument: str) -> Cell:
    """The cell of a collected test; a `board` marker may name another module or row."""
    module, row = _module_and_row(item.nodeid)
    backend = PLAIN
    callspec = getattr(item, "callspec", None)
    if callspec is not None and backend_argument in callspec.params:
        backend = backend_name(callspec.params[backend_argument])
        row = split_row(row, backend)
    marker = item.get_closest_marker("board")
    if marker is not None:
        module = marker.kwargs.get("module", module)
        row = marker.kwargs.get("row", row)
    return module, row, backend


def cell_from_node_id(node_id: str, backends: Collection[str]) -> Cell:
    """The cell as far as a node id tells: for a test whose worker died before it said anything."""
    module, row = _module_and_row(node_id)
    brackets = re.search(r"\[(.*)\]$", row)
    for word in brackets.group(1).split("-") if brackets else ():
        if word in backends:
            return module, split_row(row, word), word
    return module, row, PLAIN


def backend_name(value: Any) -> str:
    """The name of a backend given as a string, an enum member, a module or a named object."""
    if isinstance(value, str):
        return value
    for attribute in ("name", "__name__"):
        name = getattr(value, attribute, None)
        if isinstance(name, str):
            return name.rpartition(".")[2]
    return str(value)


def split_row(row: str, backend: str) -> str:
    """`row` without the backend in its parameter list."""
    name, bracket, parameters = row.partition("[")
    if not bracket:
        return row
    # The backend must stand as a whole between dashes: "torch" is no part of "torchvision".
    pattern = rf"(^|-){re.escape(backend)}(?=-|$)"
    rest = re.sub(pattern, "", parameters.removesuffix("]"), count=1).removeprefix("-")
    return f"{name}[{rest}]" if rest else name


def module_of(node_id: str) -> str:
    """`tests/test_ops` for everything in `tests/test_ops.py`."""
    return node_id.partition("::")[0].removesuffix(".py")


def _module_and_row(node_id: str) -> tuple[str, str]:
    # `pytest --dist loadgroup` writes the group behind the name: test_tanh[numpy]@gpu
    row = re.sub(r"@[^\[\]]*$", "", node_id.partition("::")[2])
    return module_of(node_id), row
