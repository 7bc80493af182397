"""One store out of several: the artifacts of a CI matrix become one board without a server."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import Connection, select, update

from . import schema
from .clean import name_of
from .queries import backend_names, modules, parts, project_names, runs
from .recording import COLLECTION, ensure_tests, project_id, record_part
from .records import BrokenModule, Part, Result
from .store import Store

__all__ = ["merge_store", "stored_parts"]


def merge_store(source: Store, target: Store, project: str | None = None) -> int:
    """Take all that `source` has into `target`; returns how many parts were taken.

    A part that the target has already, known by its run and shard, is replaced: merging twice is
    merging once. Tokens stay where they are.
    """
    taken = 0
    with source.reading() as reading, target.writing() as writing:
        for name, id in project_names(reading).items():
            if project in (None, name):
                owner = project_id(writing, name)
                _take_names(reading, id, writing, owner)
                for part in stored_parts(reading, id):
                    record_part(writing, owner, part)
                    taken += 1
    return taken


def stored_parts(connection: Connection, project: int) -> Iterator[Part]:
    """The parts of a project as they were recorded, those of the oldest run first."""
    tests = {
        test: (module.name, name)
        for module in modules(connection, project)
        for test, name in module.tests.items()
    }
    backends = backend_names(connection, project)
    by_run: dict[int, list[int]] = {}
    known = parts(connection, project)
    for part in known.values():
        by_run.setdefault(part.run_id, []).append(part.id)
    for run in reversed(runs(connection, project)):
        for id in sorted(by_run.get(run.id, [])):
            yield Part(
                run=run.name,
                shard=known[id].shard,
                started=known[id].started,
                commit=run.commit,
                branch=run.branch,
                link=known[id].link,
                python=known[id].python,
                platform=known[id].platform,
                versions=known[id].versions,
                results=_results(connection, id, tests, backends),
                broken=_broken(connection, id),
            )


def _results(
    connection: Connection,
    part: int,
    tests: dict[int, tuple[str, str]],
    backends: dict[int, str],
) -> list[Result]:
    table = schema.result
    query = select(table).where(table.c.part_id == part).order_by(table.c.id)
    return [
        Result(
            *tests[row.test_id],
            backends[row.backend_id],
            row.outcome,
            duration=row.duration,
            comparisons=row.comparisons,
            attempts=row.attempts,
            message=row.message,
            at=row.at,
            link=row.link,
        )
        for row in connection.execute(query)
        # What a broken module did to the cells of the source it does anew to those of the target.
        if tests[row.test_id][1] != COLLECTION
    ]


def _broken(connection: Connection, part: int) -> list[BrokenModule]:
    table = schema.broken
    query = select(table).where(table.c.part_id == part).order_by(table.c.id)
    return [
        BrokenModule(row.module, row.message, json.loads(row.backends))
        for row in connection.execute(query)
    ]


def _take_names(reading: Connection, project: int, writing: Connection, owner: int) -> None:
    """The order of rows and columns, and the settings where the target has none."""
    every = modules(reading, project)
    rows = [(m.name, test) for m in every for test in m.tests.values() if test != COLLECTION]
    ensure_tests(writing, owner, rows)
    module = schema.module
    for found in every:
        if found.columns is not None:
            writing.execute(
                update(module)
                .where(module.c.project_id == owner, module.c.name == name_of(found.name))
                .values(columns=json.dumps(found.columns))
            )
    table = schema.project
    settings = reading.execute(select(table.c.settings).where(table.c.id == project)).scalar()
    if settings:
        writing.execute(
            update(table)
            .where(table.c.id == owner, table.c.settings.is_(None))
            .values(settings=settings)
        )
