"""The store: one SQLite file, or a PostgreSQL database for many machines.

>>> import tempfile, pathlib
>>> from trellis.board.records import Part, Result
>>> path = pathlib.Path(tempfile.mkdtemp()) / "board.sqlite"
>>> store = Store.open(path)
>>> store.for_project("demo").record(
...     Part(run="1", shard="", started=0.0, results=[Result("ops", "test_tanh", "numpy", "success")])
... )
>>> store.close()
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import NullPool

from . import schema
from .migrations import migrate
from .records import Part, Result, merge

__all__ = ["ProjectStore", "Store"]

_WAIT_FOR_LOCK_SECONDS = 120


@dataclass(frozen=True)
class Store:
    """An open store. `reading` and `writing` are its transactions."""

    engine: Engine

    @classmethod
    def open(cls, address: str | Path, create: bool = True) -> Store:
        """Open a path of an SQLite file or a database URL, and migrate it to the newest schema."""
        url = _url(address)
        is_file = url.get_backend_name() == "sqlite"
        if is_file and not create and not Path(url.database or "").is_file():
            raise FileNotFoundError(
                f"there is no board store at {url.database}; "
                f"`pytest --board {url.database}` makes one"
            )
        if is_file:
            # A connection per use: opening a file is cheap, and none is shared between threads.
            engine = create_engine(url, poolclass=NullPool)
            _teach_sqlite_transactions(engine)
        else:
            engine = create_engine(url, pool_pre_ping=True)
        store = cls(engine)
        with store.writing() as connection:
            migrate(connection)
        return store

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write: it is committed at the end of the block or not at all."""
        engine = self.engine.execution_options(board_writes=True)
        with engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store throughout."""
        level = "REPEATABLE READ" if self.engine.dialect.name == "postgresql" else None
        options = {"isolation_level": level} if level else {}
        with self.engine.connect().execution_options(**options) as connection:
            yield connection

    def for_project(self, name: str) -> ProjectStore:
        """The store as one project sees it."""
        return ProjectStore(self, name)

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()


@dataclass(frozen=True)
class ProjectStore:
    """One project of a store: what the plugin and the server record into."""

    store: Store
    project: str

    def record(self, part: Part) -> None:
        """Record `part` whole or not at all. A named part recorded before is replaced."""
        with self.store.writing() as connection:
            record_part(connection, project_id(connection, self.project), part)


def project_id(connection: Connection, name: str) -> int:
    """The id of a project, made if there is none, and locked: its writers go one after another."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as upsert

        connection.execute(upsert(schema.project).values(name=name).on_conflict_do_nothing())
        query = select(schema.project.c.id).where(schema.project.c.name == name)
        return int(connection.execute(query.with_for_update()).scalar_one())
    known = _ids(connection, schema.project)
    return known.get(name) or _add(connection, schema.project, name=name)


def record_part(connection: Connection, project: int, part: Part) -> int:
    """Insert `part` and its results; returns the id of the part."""
    run = _run_id(connection, project, part)
    part_id = _fresh_part(connection, run, part)
    backends = _ensure_backends(connection, project, part)
    by_cell: dict[tuple[str, str, str], Result] = {}
    for result in part.results:
        cell = result.cell
        by_cell[cell] = merge(by_cell[cell], result) if cell in by_cell else result
    tests = ensure_tests(connection, project, ((m, t) for m, t, _ in by_cell))
    shared = {"run_id": run, "part_id": part_id}
    rows = [
        {
            **shared,
            "test_id": tests[result.module, result.test],
            "backend_id": backends[result.backend],
            "outcome": result.outcome,
            "duration": result.duration,
            "comparisons": result.comparisons,
            "attempts": result.attempts,
            "message": result.message,
            "at": part.started if result.at is None else result.at,
            "link": result.link,
        }
        for result in by_cell.values()
    ]
    rows += _rows_of_broken_modules(connection, project, part, shared)
    if rows:
        connection.execute(insert(schema.result), rows)
    return part_id


def ensure_tests(
    connection: Connection, project: int, names: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """The ids of tests, given as (module, name); the missing ones are added in this order."""
    wanted: dict[str, dict[str, None]] = {}
    for module, name in names:
        wanted.setdefault(module, {})[name] = None
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


def _run_id(connection: Connection, project: int, part: Part) -> int:
    run = schema.run
    found = connection.execute(
        select(run).where(run.c.project_id == project, run.c.name == part.run)
    ).one_or_none()
    if found is None:
        return _add(
            connection,
            run,
            project_id=project,
            name=part.run,
            commit=part.commit,
            branch=part.branch,
            started=part.started,
        )
    if part.commit and found.commit and part.commit != found.commit:
        raise ValueError(
            f"run {part.run!r} belongs to commit {found.commit}, this part to {part.commit}: "
            "a run has one commit, so give this part another run id"
        )
    connection.execute(
        update(run)
        .where(run.c.id == found.id)
        .values(
            commit=found.commit or part.commit,
            branch=found.branch or part.branch,
            started=min(found.started, part.started),
        )
    )
    return int(found.id)


def _fresh_part(connection: Connection, run: int, part: Part) -> int:
    table = schema.part
    old = connection.execute(
        select(table.c.id).where(table.c.run_id == run, table.c.shard == part.shard)
    ).scalar()
    if old is not None:
        connection.execute(delete(schema.result).where(schema.result.c.part_id == old))
        connection.execute(delete(table).where(table.c.id == old))
    return _add(
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


def _ensure_backends(connection: Connection, project: int, part: Part) -> dict[str, int]:
    known = _ids(connection, schema.backend, project_id=project)
    for name in dict.fromkeys(result.backend for result in part.results):
        if name not in known:
            known[name] = _add(connection, schema.backend, project_id=project, name=name)
    return known


def _rows_of_broken_modules(
    connection: Connection, project: int, part: Part, shared: dict[str, Any]
) -> list[dict[str, Any]]:
    """An error for every cell that a module had before it stopped being collectable."""
    rows: list[dict[str, Any]] = []
    result, test, module = schema.result, schema.test, schema.module
    for broken in part.broken:
        cells = connection.execute(
            select(result.c.test_id, result.c.backend_id)
            .distinct()
            .join(test, test.c.id == result.c.test_id)
            .join(module, module.c.id == test.c.module_id)
            .where(module.c.project_id == project, module.c.name == broken.module)
        )
        for cell in cells:
            rows.append(
                {
                    **shared,
                    "test_id": cell.test_id,
                    "backend_id": cell.backend_id,
                    "outcome": "error",
                    "duration": None,
                    "comparisons": None,
                    "attempts": 1,
                    "message": f"the module could not be collected:\n{broken.message}",
                    "at": part.started,
                    "link": None,
                }
            )
    return rows


def _ids(connection: Connection, table: Any, **where: int) -> dict[str, int]:
    """Names and ids of the rows of a table that belong to something."""
    query = select(table.c.name, table.c.id)
    for column, value in where.items():
        query = query.where(table.c[column] == value)
    return {name: id for name, id in connection.execute(query.order_by(table.c.id))}


def _add(connection: Connection, table: Any, **values: Any) -> int:
    return int(connection.execute(insert(table).values(**values)).inserted_primary_key[0])


def _url(address: str | Path) -> URL:
    if "://" not in str(address):
        return URL.create("sqlite", database=str(address))
    url = make_url(str(address))
    if url.get_backend_name() in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite":
        return url
    raise ValueError(
        f"a store at {url.render_as_string(hide_password=True)!r}; expected a path of an SQLite "
        "file or a URL that begins with postgresql://"
    )


def _teach_sqlite_transactions(engine: Engine) -> None:
    """Real transactions: Python's driver would begin them late and commit them on its own."""

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        # The first pragma can itself meet a lock, so the patience comes before it.
        cursor.execute(f"PRAGMA busy_timeout = {_WAIT_FOR_LOCK_SECONDS * 1000}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        # A writer takes the lock at once: one that upgrades later could only fail.
        writes = connection.get_execution_options().get("board_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
