"""Reading a store: names, latest cells, the results of runs, the history of a cell.

Every function takes a connection from `Store.reading` and the id of a project.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, case, func, select

from . import schema
from .branches import NAMELESS, board_of
from .outcomes import SEVERITY, severity

__all__ = [
    "CellResult",
    "ModuleNames",
    "PartInfo",
    "RunInfo",
    "RunState",
    "UnknownNameError",
    "backend_names",
    "died_at",
    "find_project",
    "history",
    "latest",
    "messages",
    "modules",
    "parts",
    "project_names",
    "runs",
    "states",
    "states_of_run",
    "states_of_runs",
]


class UnknownNameError(LookupError):
    """A project, module, run or commit that the store does not have."""

    def __str__(self) -> str:  # a LookupError shows its message plainly, a KeyError would not
        return str(self.args[0])


class CellResult(NamedTuple):
    """One result, as the ids of what it belongs to and what happened."""

    test_id: int
    backend_id: int
    run_id: int
    part_id: int
    outcome: str
    duration: float | None
    comparisons: int | None
    attempts: int
    message: str
    at: float
    link: str | None


class RunState(NamedTuple):
    """How a cell went in a run."""

    outcome: str
    duration: float | None
    result_id: int


@dataclass(frozen=True)
class RunInfo:
    """One run."""

    id: int
    name: str
    commit: str | None
    branch: str | None
    started: float


@dataclass(frozen=True)
class PartInfo:
    """One recorded part of a run, without its results."""

    id: int
    run_id: int
    shard: str
    started: float
    link: str | None
    python: str | None
    platform: str | None
    versions: dict[str, str]


@dataclass(frozen=True)
class ModuleNames:
    """A module, its tests in the order of their rows, and the order of columns it was given."""

    id: int
    name: str
    columns: list[str] | None
    tests: dict[int, str]


def project_names(connection: Connection) -> dict[str, int]:
    """All projects of the store and their ids."""
    query = select(schema.project.c.name, schema.project.c.id).order_by(schema.project.c.name)
    return {row.name: row.id for row in connection.execute(query)}


def find_project(connection: Connection, name: str | None) -> int:
    """The id of a project; without a name, of the only one there is."""
    known = project_names(connection)
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name in known:
        return known[name]
    have = ", ".join(known) or "none yet"
    if name is None:
        raise UnknownNameError(f"this store has the projects {have}; name one with --project")
    raise UnknownNameError(f"this store has no project {name!r}; it has {have}")


def backend_names(connection: Connection, project: int) -> dict[int, str]:
    """Ids and names of the project's backends, in the order they were first seen."""
    table = schema.backend
    query = select(table.c.id, table.c.name).where(table.c.project_id == project)
    return {row.id: row.name for row in connection.execute(query.order_by(table.c.id))}


def modules(connection: Connection, project: int, only: int | None = None) -> list[ModuleNames]:
    """The modules of the project by name, with their tests; all, or only the one with this id."""
    module, test = schema.module, schema.test
    chosen = [module.c.project_id == project, *([module.c.id == only] if only else [])]
    found = {
        row.id: ModuleNames(row.id, row.name, row.columns and json.loads(row.columns), {})
        for row in connection.execute(select(module).where(*chosen).order_by(module.c.name))
    }
    rows = connection.execute(
        select(test.c.id, test.c.name, test.c.module_id)
        .join(module, module.c.id == test.c.module_id)
        .where(*chosen)
        .order_by(test.c.module_id, test.c.position, test.c.id)
    )
    for id, name, module_id in rows.all():
        found[module_id].tests[id] = name
    return list(found.values())


def runs(
    connection: Connection,
    project: int,
    limit: int | None = None,
    of: Collection[str] | None = None,
) -> list[RunInfo]:
    """The runs of the project, newest first; all, or those of some branches (see `board_of`)."""
    table = schema.run
    query = select(table.c.id, table.c.name, table.c.commit, table.c.branch, table.c.started)
    query = query.where(table.c.project_id == project)
    if of is not None:
        query = query.where(_branch().in_(list(of)))
    query = query.order_by(table.c.started.desc(), table.c.id.desc()).limit(limit)
    return [RunInfo(*row) for row in connection.execute(query)]


def parts(connection: Connection, project: int) -> dict[int, PartInfo]:
    """All recorded parts of the project."""
    table = schema.part
    query = (
        select(table)
        .join(schema.run, schema.run.c.id == table.c.run_id)
        .where(schema.run.c.project_id == project)
    )
    return {
        row.id: PartInfo(
            row.id,
            row.run_id,
            row.shard,
            row.started,
            row.link,
            row.python,
            row.platform,
            json.loads(row.versions),
        )
        for row in connection.execute(query)
    }


def states(
    connection: Connection, project: int, branch: str | None = None
) -> list[tuple[int, int, str, int, float | None, float]]:
    """Every cell of a branch's board: test, backend, outcome, run, duration and time.

    This and `latest` read the summary rows; their cost does not grow with the history.
    """
    cell = schema.cell
    columns = (
        *(cell.c.test_id, cell.c.backend_id, cell.c.outcome, cell.c.run_id),
        *(cell.c.duration, cell.c.at),
    )
    return [tuple(row[:6]) for row in _newest(connection, project, branch, select(*columns))]


def latest(connection: Connection, project: int, branch: str | None = None) -> list[CellResult]:
    """For every cell of a branch's board, all that is known of its newest result."""
    result, cell = schema.result, schema.cell
    query = select(*(result.c[name] for name in CellResult._fields))
    query = query.select_from(cell.join(result, result.c.id == cell.c.result_id))
    width = len(CellResult._fields)
    return [CellResult._make(r[:width]) for r in _newest(connection, project, branch, query)]


def _newest(
    connection: Connection, project: int, branch: str | None, query: Select[Any]
) -> list[Row[Any]]:
    """The rows of `query` for one board. Its first two columns are test and backend.

    The default board is made of two branches, its own and the one without a name; where both have
    a cell, the newer run counts.
    """
    cell = schema.cell
    query = query.add_columns(cell.c.started, cell.c.run_id.label("newest_run"))
    query = query.where(cell.c.project_id == project)
    sources = [
        connection.execute(query.where(cell.c.branch == name)).all()
        for name in board_of(connection, project, branch)
    ]
    full = [rows for rows in sources if rows]
    if len(full) < 2:
        return list(full[0]) if full else []
    chosen: dict[tuple[int, int], Row[Any]] = {}
    for row in (row for rows in full for row in rows):
        known = chosen.get((row[0], row[1]))
        if known is None or tuple(row[-2:]) > tuple(known[-2:]):
            chosen[row[0], row[1]] = row
    return list(chosen.values())


def states_of_runs(
    connection: Connection, project: int, run_ids: Collection[int]
) -> dict[tuple[int, int], RunState]:
    """For every cell, how it went in the newest of some runs that ran it."""
    chosen: dict[tuple[int, int], RunState] = {}
    for run in reversed([run for run in runs(connection, project) if run.id in run_ids]):
        for cell, state in states_of_run(connection, run.id).items():
            if state.outcome != "died" or cell not in chosen:
                chosen[cell] = state
    return chosen


def died_at(connection: Connection, run_ids: Iterable[int]) -> dict[int, int]:
    """How many percent of their cells those runs had reached that died on the way."""
    tally = schema.tally
    counts: dict[int, dict[str, int]] = {}
    query = select(tally).where(tally.c.run_id.in_(list(run_ids)))
    for row in connection.execute(query):
        of_run = counts.setdefault(row.run_id, {})
        of_run[row.outcome] = of_run.get(row.outcome, 0) + row.cells
    return {
        run: 100 * (sum(found.values()) - found["died"]) // sum(found.values())
        for run, found in counts.items()
        if found.get("died")
    }


def states_of_run(connection: Connection, run: int) -> dict[tuple[int, int], RunState]:
    """Every cell of one run; where several of its parts have a cell, the worst."""
    # By part, because that is where results have an index; one more would slow every recording.
    result = schema.result
    of_run = select(schema.part.c.id).where(schema.part.c.run_id == run)
    query = select(
        *(result.c.test_id, result.c.backend_id),
        *(result.c.outcome, result.c.duration, result.c.id),
    ).where(result.c.part_id.in_(of_run))
    cells: dict[tuple[int, int], RunState] = {}
    for test, backend, outcome, duration, id in connection.execute(query).all():
        known = cells.get((test, backend))
        if known is None or severity(outcome) > severity(known.outcome):
            cells[test, backend] = RunState(outcome, duration, id)
    return cells


def messages(connection: Connection, result_ids: Iterable[int]) -> dict[int, str]:
    """What some results have to say, by their ids."""
    result = schema.result
    ids = list(result_ids)
    found: dict[int, str] = {}
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        query = select(result.c.id, result.c.message).where(result.c.id.in_(some))
        found.update({row.id: row.message for row in connection.execute(query)})
    return found


def history(
    connection: Connection,
    project: int,
    test_ids: Iterable[int],
    depth: int = 50,
    branch: str | None = None,
) -> list[CellResult]:
    """The newest `depth` results of some tests' cells on a board, newest first in each cell."""
    result, run = schema.result, schema.run
    bad = case(SEVERITY, value=result.c.outcome)
    newest = (run.c.started.desc(), run.c.id.desc(), bad.desc(), result.c.id.desc())
    place = func.row_number().over(
        partition_by=(result.c.test_id, result.c.backend_id), order_by=newest
    )
    ranked = (
        select(*(result.c[name] for name in CellResult._fields), place.label("place"))
        .join(run, run.c.id == result.c.run_id)
        .where(run.c.project_id == project, result.c.test_id.in_(list(test_ids)))
        .where(_branch().in_(board_of(connection, project, branch)))
        .subquery()
    )
    query = select(*(ranked.c[name] for name in CellResult._fields))
    query = query.where(ranked.c.place <= depth)
    query = query.order_by(ranked.c.test_id, ranked.c.backend_id, ranked.c.place)
    return list(map(CellResult._make, connection.execute(query).all()))


def _branch() -> Any:
    return func.coalesce(schema.run.c.branch, NAMELESS)
