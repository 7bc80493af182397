"""What the board of a branch said after each of its runs, for the lines over time.

A run may be a part of the suite, or one backend of several: its own results alone would be a dip
that no reader of the board ever saw. So a point is a state of the board: cells that the run did not
have keep their last outcome. It is kept when the run is recorded, in `standing` (how many cells of
each backend have which outcome) and `joint` (the joint score), and written again as long as the run
is the newest of its board.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, TextClause, bindparam, select, text

from . import schema
from .branches import board_of
from .layout import board_layout
from .queries import runs

__all__ = ["keep_standing"]

# The cells of a board. Where the default branch and the runs without a name both have a cell, the
# newer run counts, as in `queries.states`.
_ONE_BRANCH = """
    SELECT test_id, backend_id, outcome, run_id FROM cell
    WHERE project_id = :project AND branch IN :branches
"""
_TWO_BRANCHES = """
    SELECT test_id, backend_id, outcome, run_id FROM (
        SELECT cell.*, row_number() OVER (
            PARTITION BY test_id, backend_id ORDER BY started DESC, run_id DESC) AS place
        FROM cell WHERE project_id = :project AND branch IN :branches) AS ranked
    WHERE place = 1
"""
_STANDING = """
    INSERT INTO standing (run_id, backend_id, outcome, cells)
    SELECT :run, backend_id, outcome, count(*) FROM ({board}) AS board GROUP BY backend_id, outcome
"""
# What `rows.joint_score` says of the whole board. A row that has no cell in some column is green if
# there is no such test: `reach` are the columns on which the runs that have it ran its module.
_JOINT = """
    INSERT INTO joint (run_id, green, "of")
    WITH cells AS (
        SELECT board.*, test.module_id FROM ({board}) AS board
            JOIN test ON test.id = board.test_id
        WHERE backend_id IN :columns),
    tests AS (
        SELECT test_id, count(*) AS cells,
            sum(CASE outcome WHEN 'success' THEN 1 ELSE 0 END) AS green,
            sum(CASE outcome WHEN 'skipped' THEN 1 ELSE 0 END) AS skipped
        FROM cells GROUP BY test_id),
    ran AS (SELECT DISTINCT module_id, run_id, backend_id FROM cells),
    narrow AS (
        SELECT test_id FROM tests WHERE cells > 1 AND cells < :width AND green = cells),
    reach AS (
        SELECT cells.test_id, count(DISTINCT ran.backend_id) AS backends
        FROM narrow JOIN cells ON cells.test_id = narrow.test_id
            JOIN ran ON ran.module_id = cells.module_id AND ran.run_id = cells.run_id
        GROUP BY cells.test_id)
    SELECT :run, coalesce(sum(CASE
            WHEN tests.green = tests.cells AND coalesce(reach.backends, tests.cells) = :width
            THEN 1 ELSE 0 END), 0), count(*)
    FROM tests LEFT JOIN reach ON reach.test_id = tests.test_id
    WHERE tests.cells > 1 AND tests.skipped < tests.cells
"""


def keep_standing(connection: Connection, project: int, branch: str | None = None) -> None:
    """Write down what the board of a branch says now, as what it said after its newest run."""
    board = board_of(connection, project, branch)
    newest = runs(connection, project, limit=1, of=board)
    if not newest:
        return
    run = newest[0].id
    for table in ("standing", "joint"):
        connection.execute(text(f"DELETE FROM {table} WHERE run_id = :run"), {"run": run})
    full = _with_cells(connection, project, board)
    if not full:
        return
    columns = list(board_layout(connection, project, branch).columns)
    values = {"run": run, "project": project, "branches": full}
    cells = _ONE_BRANCH if len(full) < 2 else _TWO_BRANCHES
    connection.execute(_listing(_STANDING.format(board=cells), "branches"), values)
    if len(columns) > 1:
        statement = _listing(_JOINT.format(board=cells), "branches", "columns")
        connection.execute(statement, {**values, "columns": columns, "width": len(columns)})


def _with_cells(connection: Connection, project: int, board: Sequence[str]) -> list[str]:
    """Those of some branches that have a cell; usually one of the two of the default board."""
    cell = schema.cell
    return [
        branch
        for branch in board
        if connection.execute(
            select(cell.c.test_id)
            .where(cell.c.project_id == project, cell.c.branch == branch)
            .limit(1)
        ).first()
    ]


def _listing(statement: str, *names: str) -> TextClause:
    return text(statement).bindparams(*(bindparam(name, expanding=True) for name in names))
