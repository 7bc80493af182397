"""The tables that answer quickly: the newest result of every cell, and what each run came to.
What the board said after each run is in `standing`.

They are changed in the transaction that changes the results, by one of two functions: `add_part`
when results were only added, `refresh_run` when some were replaced, moved or taken away.

On a branch, a cell shows the newest run that ran it; within a run the worst, because tests that
share a cell may have run in different shards.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from .outcomes import OUTCOMES

__all__ = ["add_part", "changed", "refresh_run", "severity_sql"]

# Older than any run: what points at a run that has changed.
_STALE = -1e300


def severity_sql(column: str) -> str:
    """How bad the outcome in `column` is, as an expression of SQL."""
    steps = " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(OUTCOMES))
    return f"CASE {column} {steps} END"


def _was_run(table: str) -> str:
    """1 for a result of a test that ran. One that did not, because pytest died, tells less than
    the last that did: it is shown only where there is no other."""
    return f"CASE {table}.outcome WHEN 'died' THEN 0 ELSE 1 END"


_COLUMNS = (
    "project_id, branch, test_id, backend_id, run_id, part_id, result_id, started, outcome, "
    "duration, at"
)

_FOUND = """
        SELECT run.project_id, coalesce(run.branch, '') AS branch, result.test_id,
            result.backend_id, result.run_id, result.part_id, result.id AS result_id, run.started,
            result.outcome, result.duration, result.at{place}
        FROM result JOIN run ON run.id = result.run_id
"""
_PLACE = f""",
            row_number() OVER (
                PARTITION BY result.test_id, result.backend_id, coalesce(run.branch, '')
                ORDER BY {_was_run("result")} DESC, run.started DESC, run.id DESC,
                    {severity_sql("result.outcome")} DESC, result.id DESC) AS place"""
_KEEP_NEWEST = f"""
    ON CONFLICT (project_id, branch, test_id, backend_id) DO UPDATE SET
        run_id = excluded.run_id, part_id = excluded.part_id, result_id = excluded.result_id,
        started = excluded.started, outcome = excluded.outcome, duration = excluded.duration,
        at = excluded.at
    WHERE ({_was_run("excluded")}, excluded.started, excluded.run_id,
            {severity_sql("excluded.outcome")}, excluded.result_id)
        > ({_was_run("cell")}, cell.started, cell.run_id,
            {severity_sql("cell.outcome")}, cell.result_id)
"""
# A part has a cell once, so its results need no ranking.
_PUT_PART = f"""
    INSERT INTO cell ({_COLUMNS}) {_FOUND.format(place="")}
    WHERE result.part_id = :part {_KEEP_NEWEST}
"""
_PUT = f"""
    INSERT INTO cell ({_COLUMNS})
    SELECT {_COLUMNS} FROM ({_FOUND.format(place=_PLACE)} {{where}}) AS ranked
    WHERE place = 1 {_KEEP_NEWEST}
"""
_CELLS_OF_RUN = f"""
    SELECT backend_id, outcome FROM (
        SELECT backend_id, outcome,
            row_number() OVER (
                PARTITION BY test_id, backend_id
                ORDER BY {severity_sql("outcome")} DESC) AS place
        FROM result WHERE part_id IN (SELECT id FROM part WHERE run_id = :run)) AS ranked
    WHERE place = 1
"""
_OF_RUN = "WHERE result.part_id IN (SELECT id FROM part WHERE run_id = :run)"
_OF_STALE_CELLS = """
        JOIN cell AS stale ON stale.test_id = result.test_id
            AND stale.backend_id = result.backend_id AND stale.branch = coalesce(run.branch, '')
            AND stale.project_id = run.project_id
        WHERE stale.project_id = :project AND stale.started = :stale
"""


def add_part(connection: Connection, project: int, run: int, part: int) -> None:
    """Take the results of a part into account that was added to a run."""
    connection.execute(text(_PUT_PART), {"part": part})
    _count(connection, run)
    changed(connection, project)


def refresh_run(connection: Connection, project: int, run: int, moved: bool) -> None:
    """Make good what a change to a run did to the cells that showed it.

    `moved` says that the run is gone, or has another start or branch than before. Otherwise it is
    still the newest that these cells have, and the history is needed only for those it lost.
    """
    stale = {"project": project, "stale": _STALE}
    connection.execute(
        text(
            "UPDATE cell SET started = :stale, outcome = 'died'"
            " WHERE project_id = :project AND run_id = :run"
        ),
        {**stale, "run": run},
    )
    of_run = text(_PUT.format(where=_OF_RUN)), {"run": run}
    of_history = text(_PUT.format(where=_OF_STALE_CELLS)), stale
    # A run that died may have lost a cell to one before it, which only the history knows.
    query = text(f"SELECT 1 FROM result {_OF_RUN} AND result.outcome = 'died' LIMIT 1")
    ask_first = moved or connection.execute(query, {"run": run}).first() is not None
    for statement, values in (of_history, of_run) if ask_first else (of_run, of_history):
        connection.execute(statement, values)
    connection.execute(
        text("DELETE FROM cell WHERE project_id = :project AND started = :stale"), stale
    )
    _count(connection, run)
    changed(connection, project)


def changed(connection: Connection, project: int) -> None:
    """Tell whoever keeps a copy of the project's pages that it is old."""
    connection.execute(
        text("UPDATE project SET revision = revision + 1 WHERE id = :project"), {"project": project}
    )


def _count(connection: Connection, run: int) -> None:
    connection.execute(text("DELETE FROM tally WHERE run_id = :run"), {"run": run})
    parts = connection.execute(text("SELECT id FROM part WHERE run_id = :run"), {"run": run}).all()
    # Only where there are several parts can a cell be there more than once.
    counted = _CELLS_OF_RUN if len(parts) > 1 else "SELECT * FROM result WHERE part_id = :part"
    connection.execute(
        text(
            "INSERT INTO tally (run_id, backend_id, outcome, cells)"
            f" SELECT :run, backend_id, outcome, count(*) FROM ({counted}) AS counted"
            " GROUP BY backend_id, outcome"
        ),
        {"run": run, "part": parts[0].id if parts else None},
    )
