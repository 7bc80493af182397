"""What is read of whole boards, kept until they change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from sqlalchemy import Connection, select

from . import schema

__all__ = ["Kept", "Read"]

Value = TypeVar("Value")
Read = Callable[[Connection, int, str | None], Value]


class Kept(Generic[Value]):
    """`read`, which remembers what it gave for the boards that were asked last, as long as the
    revisions of their projects stay the same."""

    def __init__(self, read: Read[Value], most: int = 4) -> None:
        self._read = read
        self._kept: OrderedDict[tuple[int, str | None], tuple[int, Value]] = OrderedDict()
        self._most = most
        # Two that ask of the same board at once must not read it twice.
        self._lock = threading.Lock()

    def __call__(self, connection: Connection, project: int, branch: str | None = None) -> Value:
        """What `read` gives for a branch of a project, the default one if not given."""
        table = schema.project
        query = select(table.c.revision).where(table.c.id == project)
        with self._lock:
            revision, key = connection.execute(query).scalar_one(), (project, branch)
            if key not in self._kept or self._kept[key][0] != revision:
                self._kept[key] = revision, self._read(connection, project, branch)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return self._kept[key][1]
