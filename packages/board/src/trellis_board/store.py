"""The store: one SQLite file, or a PostgreSQL database for many machines.

>>> import tempfile, pathlib
>>> from trellis_board.records import Part, Result
>>> path = pathlib.Path(tempfile.mkdtemp()) / "board.sqlite"
>>> store = Store.open(path)
>>> result = Result("ops", "test_tanh", "numpy", "success")
>>> store.for_project("demo").record(Part(run="1", shard="", started=0.0, results=[result]))
>>> store.close()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from .migrations import migrate
from .recording import project_id, record_part
from .records import Part

__all__ = ["ProjectStore", "Store", "StoreError"]

_WAIT_FOR_LOCK_SECONDS = 120


class StoreError(ValueError):
    """The database cannot be used: it is locked, damaged, gone, or no store at all."""


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
            if is_file:
                _refuse_programs(connection)
            migrate(connection)
        return store

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write: it is committed at the end of the block or not at all."""
        engine = self.engine.execution_options(board_writes=True)
        with self._in_our_words(), engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store throughout."""
        level = "REPEATABLE READ" if self.engine.dialect.name == "postgresql" else None
        options = {"isolation_level": level} if level else {}
        with (
            self._in_our_words(),
            self.engine.connect().execution_options(**options) as connection,
        ):
            yield connection

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        """A file that is no database, or a damaged one, is an error of its own."""
        try:
            yield
        except DBAPIError as error:
            where = self.engine.url.render_as_string(hide_password=True)
            raise StoreError(f"{where}: {error.orig}") from error
        # SQLite keeps whatever is put into a column, and a file may come from anybody.
        except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            where = self.engine.url.render_as_string(hide_password=True)
            raise StoreError(
                f"{where} has values that no store has: it is damaged, or this is our fault "
                f"({error!r:.200})"
            ) from error

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


def _refuse_programs(connection: Connection) -> None:
    """A store has tables and indices. A view can be a query without end, a trigger can undo."""
    query = "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') LIMIT 1"
    for kind, name in connection.exec_driver_sql(query):
        raise StoreError(f"this is no board store: it has a {kind} {name!r:.80}")


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
        # In WAL mode NORMAL would keep the file whole, but lose the last pushes with the power,
        # and those were acknowledged.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        # The file may be an artifact of a pull request: nothing in its schema may call functions.
        cursor.execute("PRAGMA trusted_schema = OFF")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        # A writer takes the lock at once: one that upgrades later could only fail.
        writes = connection.get_execution_options().get("board_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
