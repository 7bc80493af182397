"""What the tests of the board share: parts to record, and what is read back from a store."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from trellis_board import queries
from trellis_board.queries import CellResult
from trellis_board.records import Part, Result
from trellis_board.store import Store

Cells = dict[tuple[str, str], CellResult]

DAY = 86400.0
EVIL = "<img src=x onerror=\"document.title='owned'\">"
"""A name that must stay a name wherever it is shown."""


def missing(what: str) -> None:
    """Skip a test that needs `what`; where everything must be there, fail it."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and CI must have it")
    pytest.skip(f"{what} is missing")


def make_part(run: str = "1", shard: str = "a", started: float = 1000.0, **cells: str) -> Part:
    """A part whose results are given as ``test__backend="outcome"``."""
    results = []
    for cell, outcome in cells.items():
        test, backend = cell.split("__")
        results.append(Result("ops", f"test_{test}", backend, outcome, duration=0.1))
    return Part(run=run, shard=shard, started=started, commit=f"c0ffee{run}", results=results)


def free_port() -> int:
    """A TCP port of this machine that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def latest_cells(
    store: Store | Path | str, project: str | None = None, branch: str | None = None
) -> Cells:
    """The latest result of every cell, by test and backend."""
    if not isinstance(store, Store):
        store = Store.open(store, create=False)
    with store.reading() as connection:
        id = queries.find_project(connection, project)
        names = {t: n for m in queries.modules(connection, id) for t, n in m.tests.items()}
        backends = queries.backend_names(connection, id)
        return {
            (names[cell.test_id], backends[cell.backend_id]): cell
            for cell in queries.latest(connection, id, branch)
        }


def outcomes(
    store: Store | Path | str, project: str | None = None, branch: str | None = None
) -> dict[tuple[str, str], str]:
    """The latest outcome of every cell, by test and backend."""
    return {cell: result.outcome for cell, result in latest_cells(store, project, branch).items()}


@dataclass
class Counts:
    """How many rows a store has of each kind."""

    runs: int
    parts: int
    cells: int


def count(store: Store) -> Counts:
    """Count everything that a store holds."""
    from sqlalchemy import func, select

    from trellis_board import schema

    with store.reading() as connection:
        return Counts(
            *(
                connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in (schema.run, schema.part, schema.result)
            )
        )
