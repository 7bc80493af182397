"""Two boards side by side: the tables of one project, and what another shows for the same tests.

Rows are matched by the name of the test. Where the other project has several rows of that name (in
classes, or parametrised further), the worst of them stands for all.
"""

from __future__ import annotations

from sqlalchemy import Connection

from .outcomes import worst
from .table_files import export_tables
from .tables import Table

__all__ = ["side_by_side"]

_MARKS = {
    "success": "✅",
    "skipped": "⚪",
    "xfailed": "🟡",
    "hollow": "🟠",
    "failure": "❌",
    "error": "💥",
}


def side_by_side(
    connection: Connection, left: tuple[int, str], right: tuple[int, str]
) -> tuple[str, int, int]:
    """A Markdown page; then how many cells it has, and how many are green on the right."""
    (left_id, left_name), (right_id, right_name) = left, right
    theirs = export_tables(connection, left_id)
    ours = _by_test(export_tables(connection, right_id))
    lines: list[str] = []
    cells = green = 0
    for module, table in theirs.items():
        lines += ["", f"## {module}", "", _header(table), "|:--|" + ":--|" * len(table.columns)]
        for test, row in table.rows.items():
            steps = []
            for backend in table.columns:
                before = row[backend].outcome if backend in row else None
                found = ours.get((test, backend))
                after = worst(found) if found else None
                cells += 1
                green += after == "success"
                steps.append(f"{_shown(before)} → {_shown(after)}")
            lines.append(f"| `{test}` | {' | '.join(steps)} |")
    intro = [
        f"# {left_name} beside {right_name}",
        "",
        f"Each cell: {left_name} → {right_name}. "
        f"{green} of {cells} cells are green in {right_name}.",
    ]
    return "\n".join([*intro, *lines]) + "\n", cells, green


def _by_test(tables: dict[str, Table]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for table in tables.values():
        for row, cells in table.rows.items():
            test = row.partition("[")[0].rpartition("::")[2]
            for backend, cell in cells.items():
                found.setdefault((test, backend), []).append(cell.outcome)
    return found


def _header(table: Table) -> str:
    return "| test | " + " | ".join(table.columns) + " |"


def _shown(outcome: str | None) -> str:
    return f"{_MARKS[outcome]} {outcome}" if outcome else "never run"
