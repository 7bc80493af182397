"""Comparing two boards: the tables of one project, and the cells of another for the same tests.

Rows are matched by the name of the test. Where the other project has several rows of that name (in
classes, or parametrised further), the worst of them counts.
"""

from __future__ import annotations

from sqlalchemy import Connection

from .outcomes import severity
from .table_files import export_tables
from .tables import Cell, Table
from .texts import as_code, as_markdown

__all__ = ["side_by_side", "tables_like"]

_MARKS = {
    "success": "✅",
    "skipped": "⚪",
    "xfailed": "🟡",
    "hollow": "🟠",
    "died": "🟣",
    "failure": "❌",
    "error": "💥",
}


def tables_like(connection: Connection, model: int, project: int) -> dict[str, Table]:
    """Tables with the rows and columns of the project `model` and the cells of `project`."""
    found: dict[tuple[str, str], Cell] = {}
    for table in export_tables(connection, project).values():
        for row, cells in table.rows.items():
            test = row.partition("[")[0].rpartition("::")[2]
            for backend, cell in cells.items():
                known = found.setdefault((test, backend), cell)
                if severity(cell.outcome) > severity(known.outcome):
                    found[test, backend] = cell
    return {
        name: Table(
            table.columns,
            {
                test: {b: found[test, b] for b in table.columns if (test, b) in found}
                for test in table.rows
            },
        )
        for name, table in export_tables(connection, model).items()
    }


def side_by_side(
    connection: Connection, left: tuple[int, str], right: tuple[int, str]
) -> tuple[str, int, int]:
    """A Markdown page; then how many cells it has, and how many are green on the right."""
    (left_id, left_name), (right_id, right_name) = left, right
    theirs = export_tables(connection, left_id)
    ours = tables_like(connection, left_id, right_id)
    lines: list[str] = []
    cells = green = 0
    for module, table in theirs.items():
        header = "| test | " + " | ".join(map(as_markdown, table.columns)) + " |"
        dashes = "|:--|" + ":--|" * len(table.columns)
        lines += ["", f"## {as_markdown(module)}", "", header, dashes]
        for test, row in table.rows.items():
            steps = []
            for backend in table.columns:
                after = ours[module].rows[test].get(backend)
                cells += 1
                green += after is not None and after.outcome == "success"
                steps.append(f"{_shown(row.get(backend))} → {_shown(after)}")
            lines.append(f"| {as_code(test)} | {' | '.join(steps)} |")
    intro = [
        f"# {right_name} compared with {left_name}",
        "",
        f"Each cell: {left_name} → {right_name}. "
        f"{green} of {cells} cells are green in {right_name}.",
    ]
    return "\n".join([*intro, *lines]) + "\n", cells, green


def _shown(cell: Cell | None) -> str:
    return f"{_MARKS[cell.outcome]} {cell.outcome}" if cell else "never run"
