"""Writing a part into a store: names first, then its results in one go.

Every function works inside a transaction of `Store.writing`, so nothing is ever half there.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from . import schema, summaries
from .clean import clean, name_of
from .columns import PLAIN
from .records import BrokenModule, Part, Result, merge
from .standing import keep_standing

__all__ = ["COLLECTION", "PROJECT_PATTERN", "ensure_tests", "project_id", "record_part"]

COLLECTION = "(collection)"
"""The row of a module for itself: whether its tests could be collected."""
PROJECT_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"
# Clocks differ, but not by more than this; a run of next year would hide all others until then.
_CLOCKS_DIFFER_SECONDS = 3600.0


def project_id(connection: Connection, name: str) -> int:
    """The id of a project, made if there is none, and locked: its writers go one after another."""
    if not re.fullmatch(PROJECT_PATTERN, name):
        raise ValueError(
            f"project {name!r}; expected up to 100 letters, digits, dots, dashes and underscores, "
            "because the name is part of addresses"
        )
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as upsert

        connection.execute(upsert(schema.project).values(name=name).on_conflict_do_nothing())
        query = select(schema.project.c.id).where(schema.project.c.name == name)
        return int(connection.execute(query.with_for_update()).scalar_one())
    known = _ids(connection, schema.project)
    return known.get(name) or _add(connection, schema.project, name=name)


def record_part(connection: Connection, project: int, part: Part) -> int:
    """Insert `part` and its results; returns the id of the part."""
    part = clean(part)
    _refuse_the_future(part)
    run, branch, moved = _run_id(connection, project, part)
    part_id, replaced = _fresh_part(connection, run, part)
    backends = _ensure_backends(connection, project, [r.backend for r in part.results])
    by_cell: dict[tuple[str, str, str], Result] = {}
    for result in part.results:
        cell = result.cell
        by_cell[cell] = merge(by_cell[cell], result) if cell in by_cell else result
    tests = ensure_tests(connection, project, ((m, t) for m, t, _ in by_cell))
    cells = {(tests[r.module, r.test], backends[r.backend]): r for r in by_cell.values()}
    for test, backend, result in _results_of_broken_modules(connection, project, part):
        cells.setdefault((test, backend), result)
    for test, backend, result in _results_of_mended_modules(connection, project, part):
        cells.setdefault((test, backend), result)
    rows = [
        _row(run, part, part_id, test, backend, result) for (test, backend), result in cells.items()
    ]
    _insert_results(connection, rows)
    if moved or replaced:
        summaries.refresh_run(connection, project, run, moved)
    else:
        summaries.add_part(connection, project, run, part_id)
    keep_standing(connection, project, branch)
    if moved:
        keep_standing(connection, project)  # it may have been a run of the default branch
    return part_id


def _refuse_the_future(part: Part) -> None:
    newest = max([part.started, *(result.at for result in part.results if result.at is not None)])
    if newest > time.time() + _CLOCKS_DIFFER_SECONDS:
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(min(newest, 1e11)))
        raise ValueError(
            f"run {part.run!r} is dated {when} UTC, which is in the future: "
            "it would hide every later run; check the clock of the machine it ran on"
        )


# In the order of the table's columns, without its id.
def _row(
    run: int, part: Part, part_id: int, test: int, backend: int, result: Result
) -> tuple[object, ...]:
    at = part.started if result.at is None else result.at
    return (
        *(run, part_id, test, backend),
        *(result.outcome, result.duration, result.comparisons, result.attempts),
        *(result.message, at, result.link),
    )


def _insert_results(connection: Connection, rows: list[tuple[object, ...]]) -> None:
    """Insert many rows at the speed of the driver: half the time of a recording is here."""
    if not rows:
        return
    columns = [column.name for column in schema.result.columns if column.name != "id"]
    statement = insert(schema.result).compile(dialect=connection.dialect, column_keys=columns)
    parameters: Any = rows
    if not connection.dialect.positional:
        parameters = [dict(zip(columns, row, strict=True)) for row in rows]
    connection.exec_driver_sql(str(statement), parameters)


def ensure_tests(
    connection: Connection, project: int, names: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """The ids of tests, given as (module, name); the missing ones are added in this order."""
    wanted: dict[str, dict[str, None]] = {}
    for module, name in names:
        wanted.setdefault(name_of(module), {})[name_of(name)] = None
    modules = _ids(connection, schema.module, project_id=project)
    tests: dict[tuple[str, str], int] = {}
    for module, rows in wanted.items():
        if module not in modules:
            modules[module] = _add(connection, schema.module, project_id=project, name=module)
        known = _ids(connection, schema.test, module_id=modules[module])
        new = [name for name in rows if name not in known]
        if new:
            _append_tests(connection, modules[module], new)
            known = _ids(connection, schema.test, module_id=modules[module])
        tests.update({(module, name): known[name] for name in rows})
    return tests


def _append_tests(connection: Connection, module: int, names: list[str]) -> None:
    table = schema.test
    last = connection.execute(
        select(func.max(table.c.position)).where(table.c.module_id == module)
    ).scalar()
    first = 0 if last is None else last + 1
    connection.execute(
        insert(table),
        [
            {"module_id": module, "name": name, "position": position}
            for position, name in enumerate(names, start=first)
        ],
    )


def _run_id(connection: Connection, project: int, part: Part) -> tuple[int, str | None, bool]:
    """The id and branch of the part's run; whether an old run now has another start or branch."""
    run = schema.run
    found = connection.execute(
        select(run).where(run.c.project_id == project, run.c.name == part.run)
    ).one_or_none()
    if found is None:
        added = _add(
            connection,
            run,
            project_id=project,
            name=part.run,
            commit=part.commit,
            branch=part.branch,
            started=part.started,
        )
        return added, part.branch, False
    if part.commit and found.commit and part.commit != found.commit:
        raise ValueError(
            f"run {part.run!r} belongs to commit {found.commit}, this part to {part.commit}: "
            "a run has one commit, so give this part another run id"
        )
    branch, started = found.branch or part.branch, min(found.started, part.started)
    connection.execute(
        update(run)
        .where(run.c.id == found.id)
        .values(commit=found.commit or part.commit, branch=branch, started=started)
    )
    return int(found.id), branch, (branch, started) != (found.branch, found.started)


def _fresh_part(connection: Connection, run: int, part: Part) -> tuple[int, bool]:
    """The id of a new row for the part, and whether it takes the place of an older one."""
    table = schema.part
    old = connection.execute(
        select(table.c.id).where(table.c.run_id == run, table.c.shard == part.shard)
    ).scalar()
    if old is not None:
        for of_part in (schema.result, schema.broken):
            connection.execute(delete(of_part).where(of_part.c.part_id == old))
        connection.execute(delete(table).where(table.c.id == old))
    added = _add(
        connection,
        table,
        run_id=run,
        shard=part.shard,
        started=part.started,
        link=part.link,
        python=part.python,
        platform=part.platform,
        versions=json.dumps(part.versions, sort_keys=True),
    )
    for broken in part.broken:
        values = {
            "part_id": added,
            "module": broken.module,
            "message": broken.message,
            "backends": json.dumps(broken.backends),
        }
        connection.execute(insert(schema.broken).values(values))
    return added, old is not None


def _ensure_backends(
    connection: Connection, project: int, names: Iterable[str], only: bool = False
) -> dict[str, int]:
    """The ids of all backends of the project, or only of these; the missing ones are added."""
    known = _ids(connection, schema.backend, project_id=project)
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            known[name] = _add(connection, schema.backend, project_id=project, name=name)
    return {name: known[name] for name in wanted} if only else known


def _results_of_broken_modules(
    connection: Connection, project: int, part: Part
) -> Iterator[tuple[int, int, Result]]:
    """An error for every cell that a module had before it stopped being collectable."""
    shown, test, module, backend = schema.cell, schema.test, schema.module, schema.backend
    for broken in part.broken:
        # A folder whose conftest.py fails takes all modules in it along.
        is_inside = module.c.name.startswith(f"{broken.module}/", autoescape=True)
        query = (
            select(shown.c.test_id, shown.c.backend_id)
            .distinct()
            .join(test, test.c.id == shown.c.test_id)
            .join(module, module.c.id == test.c.module_id)
            .join(backend, backend.c.id == shown.c.backend_id)
            .where(module.c.project_id == project, (module.c.name == broken.module) | is_inside)
        )
        if broken.backends:
            query = query.where(backend.c.name.in_(broken.backends))
        cells = [(row.test_id, row.backend_id) for row in connection.execute(query)]
        message = f"the module could not be collected:\n{broken.message}"
        error = Result(broken.module, "", "", outcome="error", message=message)
        for cell in cells or _row_of_module(connection, project, broken):
            yield *cell, error


def _row_of_module(
    connection: Connection, project: int, broken: BrokenModule
) -> Iterator[tuple[int, int]]:
    """A module that never had a test gets a row for itself: what nobody sees, nobody mends."""
    row = (broken.module, COLLECTION)
    test = ensure_tests(connection, project, [row])[row]
    wanted = broken.backends or [PLAIN]
    for backend in _ensure_backends(connection, project, wanted, only=True).values():
        yield test, backend


def _results_of_mended_modules(
    connection: Connection, project: int, part: Part
) -> Iterator[tuple[int, int, Result]]:
    """A pass in the row of a module for itself, once its tests can be collected; in the column of a
    backend only if this session has that backend."""
    shown, test, module, backend = schema.cell, schema.test, schema.module, schema.backend
    query = (
        select(shown.c.test_id, shown.c.backend_id, module.c.name, backend.c.name)
        .distinct()
        .join(test, test.c.id == shown.c.test_id)
        .join(module, module.c.id == test.c.module_id)
        .join(backend, backend.c.id == shown.c.backend_id)
        .where(module.c.project_id == project, test.c.name == COLLECTION)
        .where(shown.c.outcome == "error")
    )
    broken = {each.module for each in part.broken}
    collected = {result.module for result in part.results}
    columns = {PLAIN, *(result.backend for result in part.results)}
    for test_id, backend_id, name, column in connection.execute(query).all():
        is_here = any(seen == name or seen.startswith(f"{name}/") for seen in collected)
        if is_here and name not in broken and column in columns:
            passed = Result(name, COLLECTION, "", "success", message="it can be collected again")
            yield test_id, backend_id, passed


def _ids(connection: Connection, table: Any, **where: int) -> dict[str, int]:
    """Names and ids of the rows of a table that belong to something."""
    query = select(table.c.name, table.c.id)
    for column, value in where.items():
        query = query.where(table.c[column] == value)
    return {row.name: row.id for row in connection.execute(query)}


def _add(connection: Connection, table: Any, **values: Any) -> int:
    statement = insert(table).values(**values).returning(table.c.id)
    return int(connection.execute(statement).scalar_one())
