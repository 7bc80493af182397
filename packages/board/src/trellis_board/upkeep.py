"""Looking after a store: delete runs, forget old ones, make a backup and restore it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from pathlib import Path

from sqlalchemy import Connection, delete, exists, insert, select, text

from . import schema
from .branches import board_of
from .queries import RunInfo, UnknownNameError, runs
from .standing import keep_standing
from .store import Store
from .summaries import refresh_run

__all__ = ["backup", "compact", "copy_store", "delete_runs", "old_runs"]

_ROWS_AT_ONCE = 5000


def delete_runs(connection: Connection, project: int, names: Collection[str]) -> int:
    """Delete runs and all they recorded; cells fall back to older runs. Returns how many."""
    known = {run.name: run.id for run in runs(connection, project)}
    for name in names:
        if name not in known:
            raise UnknownNameError(f"there is no run {name!r}; it has {', '.join(known) or 'none'}")
    result, part = schema.result, schema.part
    for name in dict.fromkeys(names):
        run = known[name]
        of_run = select(part.c.id).where(part.c.run_id == run)
        tests = set(
            connection.execute(select(result.c.test_id).where(result.c.part_id.in_(of_run)))
            .scalars()
            .all()
        )
        for table in (result, schema.broken):
            connection.execute(delete(table).where(table.c.part_id.in_(of_run)))
        connection.execute(delete(part).where(part.c.run_id == run))
        connection.execute(delete(schema.run).where(schema.run.c.id == run))
        refresh_run(connection, project, run, moved=True)
        _forget_tests(connection, tests)
        for table in (schema.standing, schema.joint):
            connection.execute(delete(table).where(table.c.run_id == run))
    _forget_empty_names(connection, project)
    keep_standing(connection, project)
    return len(set(names))


def old_runs(
    connection: Connection, project: int, before: float, keep_shown: bool = False
) -> list[RunInfo]:
    """The runs that began before a time, without the newest one of the default branch.

    With `keep_shown`, those stay that a cell of the default branch still shows.
    """
    board = board_of(connection, project)
    kept = {run.id for run in runs(connection, project, limit=1, of=board)}
    if keep_shown:
        cell = schema.cell
        shown = select(cell.c.run_id).where(cell.c.project_id == project, cell.c.branch.in_(board))
        kept |= set(connection.execute(shown.distinct()).scalars())
    return [r for r in runs(connection, project) if r.started < before and r.id not in kept]


def backup(store: Store, to: Path) -> None:
    """Copy a store to a new SQLite file while others may keep writing to it."""
    if to.exists():
        raise FileExistsError(f"{to} exists; a backup never overwrites a file")
    if store.engine.dialect.name != "sqlite":
        copy_store(store, Store.open(to))
        return
    target = sqlite3.connect(to)
    try:
        with store.engine.connect() as connection:
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            source.backup(target)
        # One file without a separate journal, so that it can be copied.
        target.execute("PRAGMA journal_mode = DELETE")
    finally:
        target.close()


def copy_store(source: Store, target: Store) -> int:
    """Copy everything into an empty store of either database, settings and tokens included.

    Returns the number of results. It is one transaction on either side: the copy shows one moment,
    and is whole or not there.
    """
    copied = 0
    with source.reading() as reading, target.writing() as writing:
        if writing.execute(select(schema.project.c.id).limit(1)).first() is not None:
            raise ValueError("the store is not empty; a backup is restored into a new one")
        for table in schema.metadata.sorted_tables:
            found = reading.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table))
            for some in found.mappings().partitions():
                writing.execute(insert(table), [dict(row) for row in some])
                copied += len(some) if table is schema.result else 0
            if target.engine.dialect.name == "postgresql" and "id" in table.c:
                # The next row gets a number after those that were copied.
                writing.execute(
                    text(
                        f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'),"
                        f" (SELECT coalesce(max(id), 1) FROM {table.name}))"
                    )
                )
    return copied


def compact(store: Store) -> None:
    """Free the space of deleted runs; PostgreSQL does that by itself."""
    if store.engine.dialect.name != "sqlite":
        return
    # Not through a transaction of the engine: SQLite does this only outside of one.
    connection = store.engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def _forget_tests(connection: Connection, tests: set[int]) -> None:
    """Delete tests that lost their last result: a row of empty cells says nothing."""
    result, test = schema.result, schema.test
    ordered = sorted(tests)
    for start in range(0, len(ordered), 500):
        connection.execute(
            delete(test).where(
                test.c.id.in_(ordered[start : start + 500]),
                ~exists().where(result.c.test_id == test.c.id),
            )
        )


def _forget_empty_names(connection: Connection, project: int) -> None:
    test, module, backend = schema.test, schema.module, schema.backend
    connection.execute(
        delete(module).where(
            module.c.project_id == project, ~exists().where(test.c.module_id == module.c.id)
        )
    )
    used = exists().where(schema.cell.c.backend_id == backend.c.id)
    connection.execute(delete(backend).where(backend.c.project_id == project, ~used))
    # SQLite uses the numbers of deleted rows again.
    known = exists().where(backend.c.id == schema.standing.c.backend_id)
    connection.execute(delete(schema.standing).where(~known))
