"""Tables for documentation: which function works on which backend, as the results say.

A function is a row that tests share (``{row}`` in ``board.toml``), or a test without parameters.

>>> from trellis_board.questions import Cell
>>> rows = [
...     Row("ops", "test_value[tanh]", "Math", {"numpy": Cell("success"), "jax": Cell("success")},
...         line="tanh"),
...     Row("ops", "test_grad[tanh]", "Math", {"numpy": Cell("success"), "jax": Cell("failure")},
...         line="tanh"),
... ]
>>> print(as_markdown(table_of(rows, "Math", ["numpy", "jax"])))
| | numpy | jax |
|:--|:--|:--|
| `tanh` | ✓ | 1 of 2 |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .layout import score
from .outcomes import worst
from .questions import Row
from .spans import spans
from .texts import as_code
from .texts import as_markdown as as_markdown_text

__all__ = ["Table", "UnknownTableError", "as_markdown", "read_table", "table_of"]


_SAYS_NOTHING = {"hollow", "skipped", "died"}


class UnknownTableError(ValueError):
    """The board has no group, module or row of that name."""


@dataclass(frozen=True)
class Table:
    """The columns, and for each function a word for each column and remarks about versions."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], str], ...]


def table_of(
    rows: Iterable[Row], name: str, columns: Sequence[str], labels: Mapping[str, str] | None = None
) -> Table:
    """The table of a group, or of the modules that a pattern fits, as ``tests/linalg*``."""
    functions: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if row.group == name or fnmatchcase(row.module, name):
            function = row.line or row.test.partition("[")[0].removeprefix("test_")
            cells = functions.setdefault(function, {})
            for column, cell in row.cells.items():
                cells.setdefault(column, []).append(cell.outcome)
    shown = [c for c in columns if any(c in cells for cells in functions.values())]
    if not functions or not shown:
        raise UnknownTableError(f"this board has no group {name!r}, and no module that it fits")
    return Table(
        tuple((labels or {}).get(column, column) for column in shown),
        tuple(
            (function, tuple(_word(cells.get(column, [])) for column in shown), _remark(cells))
            for function, cells in functions.items()
        ),
    )


def _word(outcomes: Sequence[str]) -> str:
    found = score(outcomes)
    if not found.of:
        return "skipped" if outcomes else ""
    if found.green == found.of:
        return "✓"
    if not {*outcomes} - _SAYS_NOTHING:
        return "not checked"  # nobody has found that it does not work
    return f"{found.green} of {found.of}" if found.green else "✕"


def _remark(cells: Mapping[str, Sequence[str]]) -> str:
    told = spans({column: worst(outcomes) for column, outcomes in cells.items()})
    # That it is green in all versions is no news, and that a run died says nothing about it.
    news = [
        f"{family} {words}"
        for family, words in told.items()
        if not words.startswith(("green in", "died"))
    ]
    return ", ".join(news)


def as_markdown(table: Table) -> str:
    """A table of Markdown; remarks are a column if there are any."""
    remarks = any(remark for _, _, remark in table.rows)
    head = ["", *map(as_markdown_text, table.columns), *([""] if remarks else [])]
    lines = [
        f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in head)}|",
        "|:--" * len(head) + "|",
    ]
    for function, words, remark in table.rows:
        cells = [as_code(function), *words, *([as_markdown_text(remark)] if remarks else [])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def read_table(source: str | Path, name: str, project: str | None = None) -> Table:
    """A table from a store, or from the file that ``trellis-board capabilities --json`` wrote."""
    if str(source).endswith(".json"):
        return _from_json(json.loads(Path(source).read_text(encoding="utf-8")), name)
    from .queries import find_project
    from .rows import board_rows, column_labels
    from .store import Store

    store = Store.open(source, create=False)
    with store.reading() as connection:
        id = find_project(connection, project)
        labels = column_labels(connection, id)
        rows = board_rows(connection, id)
    store.close()
    return table_of(rows, name, list(labels), labels)


def to_json(tables: Mapping[str, Table]) -> dict[str, Any]:
    """Tables by name, as plain values."""
    return {
        name: {"columns": list(table.columns), "rows": [[f, list(w), r] for f, w, r in table.rows]}
        for name, table in tables.items()
    }


def _from_json(kept: Mapping[str, Any], name: str) -> Table:
    if name not in kept:
        raise UnknownTableError(f"this file has no table {name!r}; it has {', '.join(kept)}")
    found = kept[name]
    rows = tuple((str(f), tuple(map(str, words)), str(r)) for f, words, r in found["rows"])
    return Table(tuple(map(str, found["columns"])), rows)
