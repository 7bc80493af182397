"""Reading a store: names, latest cells, the results of runs, the history of a cell.

Every function takes a connection from `Store.reading` and the id of a project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, case, func, select

from . import schema
from .outcomes import OUTCOMES

__all__ = [
    "CellResult",
    "ModuleNames",
    "PartInfo",
    "RunInfo",
    "UnknownNameError",
    "backend_names",
    "find_project",
    "latest",
    "modules",
    "parts",
    "project_names",
    "results_of_runs",
    "runs",
]


class UnknownNameError(LookupError):
    """A project, module, run or commit that the store does not have."""

    def __str__(self) -> str:  # a LookupError shows its message plainly, a KeyError would not
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class CellResult:
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


def runs(connection: Connection, project: int, limit: int | None = None) -> list[RunInfo]:
    """The runs of the project, newest first."""
    table = schema.run
    query = select(table.c.id, table.c.name, table.c.commit, table.c.branch, table.c.started)
    query = query.where(table.c.project_id == project)
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


def latest(connection: Connection, project: int) -> list[CellResult]:
    """For every cell, its result in the newest run that has one."""
    return _read(connection, _ranked(project), depth=1)


def results_of_runs(
    connection: Connection, project: int, run_ids: Iterable[int]
) -> list[CellResult]:
    """For every cell, its result in the newest of some runs."""
    # By part, because that is where results have an index; one more would slow every recording.
    of_runs = select(schema.part.c.id).where(schema.part.c.run_id.in_(list(run_ids)))
    chosen = _ranked(project).where(schema.result.c.part_id.in_(of_runs))
    return _read(connection, chosen, depth=1)


def history(
    connection: Connection, project: int, test_ids: Iterable[int] | None = None, depth: int = 50
) -> list[CellResult]:
    """The newest `depth` results of every cell, newest first within each cell."""
    query = _ranked(project)
    if test_ids is not None:
        query = query.where(schema.result.c.test_id.in_(list(test_ids)))
    return _read(connection, query, depth)


def _ranked(project: int) -> Select[Any]:
    """All results, numbered within their cell: newest run first, and within a run the worst.

    The worst comes first because tests that share a cell may have run in different shards.
    """
    result, run = schema.result, schema.run
    bad = case({name: rank for rank, name in enumerate(OUTCOMES)}, value=result.c.outcome)
    newest = (run.c.started.desc(), run.c.id.desc(), bad.desc(), result.c.id.desc())
    place = func.row_number().over(
        partition_by=(result.c.test_id, result.c.backend_id), order_by=newest
    )
    columns = [result.c[name] for name in CellResult.__slots__]
    return (
        select(*columns, place.label("place"))
        .join(run, run.c.id == result.c.run_id)
        .where(run.c.project_id == project)
    )


def _read(connection: Connection, ranked: Select[Any], depth: int) -> list[CellResult]:
    inner = ranked.subquery()
    columns = [inner.c[name] for name in CellResult.__slots__]
    query = select(*columns).where(inner.c.place <= depth)
    query = query.order_by(inner.c.test_id, inner.c.backend_id, inner.c.place)
    return [CellResult(*row) for row in connection.execute(query).all()]
