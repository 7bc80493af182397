"""Where a recorded part goes: a store on this machine, a database, or a board server."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from .migrations import refuse_newer
from .records import Part

__all__ = ["Destination", "is_unreachable", "open_destination"]


class Destination(Protocol):
    """Anything that records a part whole or raises."""

    def record(self, part: Part) -> None: ...


def open_destination(address: str, project: str) -> Destination:
    """The destination at `address`: ``board.sqlite``, ``postgresql://...`` or ``https://...``."""
    if address.startswith(("http://", "https://")):
        from .client import Client

        return Client(address, project, token=os.environ.get("BOARD_TOKEN"))
    if "://" not in address:
        _try_file(address)
        return _FileStore(address, project)
    from .store import Store

    return Store.open(address).for_project(project)


def is_unreachable(error: Exception) -> bool:
    """Whether the same part may be recorded later: nothing is wrong with it, and with its token."""
    from .client import UnreachableError

    if isinstance(error, UnreachableError):
        return True
    from .store import StoreError

    return isinstance(error, StoreError)


@dataclass(frozen=True)
class _FileStore:
    """A store that is opened when there is something to record.

    The libraries it needs are large: loaded before the tests, they would be in the way of each
    collection of garbage among them.
    """

    path: str
    project: str

    def record(self, part: Part) -> None:
        from .store import Store

        Store.open(self.path).for_project(self.project).record(part)


def _try_file(path: str) -> None:
    """Raise now, and not after all tests, if nothing can be recorded in the file at `path`."""
    with closing(sqlite3.connect(path, timeout=120, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
        if "board_schema" in tables:
            versions = connection.execute("SELECT version FROM board_schema").fetchall()
            refuse_newer(max([version for (version,) in versions], default=0))
        connection.execute("ROLLBACK")
