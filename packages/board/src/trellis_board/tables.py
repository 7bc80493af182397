"""Markdown tables: one per module, a row per test, a column per backend, a badge per cell.

A table that was read comes back byte for byte when it is written:

>>> cell = Cell("success", "https://ci.example/7")
>>> text = write_table(Table(["numpy"], {"test_tanh": {"numpy": cell}}))
>>> text.splitlines()[2][:48]
'| test_tanh | <a href="https://ci.example/7" rel'
>>> write_table(read_table(text)) == text
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape

from .outcomes import OUTCOMES
from .texts import as_markdown, quoted_link, safe_link

__all__ = ["Cell", "Table", "TableError", "read_table", "write_table"]

_BADGE = "https://img.shields.io/badge/-{name}-{colour}"
_LINKED = '<a href="{link}" rel="noopener noreferrer" target="_blank">{image}</a>'
_IMAGE = re.compile(r"<img src=\"?https://img\.shields\.io/badge/-(\w+)-\w+\"?\s*/?>")
_LINK = re.compile(r"<a href=\"([^\"]*)\"[^>]*>(.*)</a>")


class TableError(ValueError):
    """A table that does not have the expected shape."""


@dataclass(frozen=True)
class Cell:
    """What one cell of a table shows.

    `link` is kept as it was written: older tables have the word ``null`` where a link got lost.
    """

    outcome: str
    link: str | None = None


@dataclass
class Table:
    """A table: its columns, and its rows as cells by column. A missing cell was never run."""

    columns: list[str]
    rows: dict[str, dict[str, Cell]] = field(default_factory=dict)


def read_table(text: str, source: str = "table") -> Table:
    """Read a Markdown table; `source` names it in errors."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) < 2 or not re.fullmatch(r"[|:\- ]+", lines[1][1].strip()):
        raise TableError(
            f"{source}: expected a Markdown table: a header line '|  | numpy | torch |', "
            "a line of dashes, and a row per test"
        )
    columns = [_plain(cell) for cell in _split(lines[0][1])[1:]]
    if len(set(columns)) != len(columns) or "" in columns:
        raise TableError(
            f"{source}, line {lines[0][0]}: columns {columns} must differ and have names"
        )
    table = Table(columns)
    for number, line in lines[2:]:
        where = f"{source}, line {number}"
        name, *cells = _split(line)
        name = _plain(name)
        if len(cells) > len(columns):
            raise TableError(f"{where}: {len(cells)} cells in a table of {len(columns)} columns")
        if name in table.rows:
            raise TableError(f"{where}: a second row {name!r}; a table has one row per test")
        table.rows[name] = {
            column: _read_cell(cell, f"{where}, column {column}")
            for column, cell in zip(columns, cells, strict=False)
            if cell
        }
    return table


def write_table(table: Table) -> str:
    """Write a table with aligned columns and no newline at its end."""
    rows = [["", *map(as_markdown, table.columns)]]
    for name, cells in table.rows.items():
        written = [_write_cell(cells[c]) if c in cells else "" for c in table.columns]
        rows.append([as_markdown(name), *written])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [_line([cell.ljust(w) for cell, w in zip(row, widths, strict=True)]) for row in rows]
    lines.insert(1, "|" + "|".join(":" + "-" * (width + 1) for width in widths) + "|")
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _split(line: str) -> list[str]:
    inside = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inside)]


def _read_cell(cell: str, where: str) -> Cell:
    link = _LINK.fullmatch(cell)
    image = _IMAGE.fullmatch(link.group(2) if link else cell)
    if image is None:
        raise TableError(
            f"{where}: {cell[:80]!r}; expected nothing, or a badge such as "
            f"{_write_cell(Cell('success'))}, with or without a link around it"
        )
    outcome = image.group(1)
    if outcome not in OUTCOMES:
        raise TableError(f"{where}: outcome {outcome!r}; expected one of {', '.join(OUTCOMES)}")
    return Cell(outcome, link.group(1) if link else None)


def _write_cell(cell: Cell) -> str:
    outcome = OUTCOMES[cell.outcome]
    image = f"<img src={_BADGE.format(name=outcome.name, colour=outcome.shield)}>"
    link = cell.link if cell.link == "null" else safe_link(cell.link)
    return image if link is None else _LINKED.format(link=quoted_link(link), image=image)


def _plain(text: str) -> str:
    return unescape(text.replace("\\|", "|"))
