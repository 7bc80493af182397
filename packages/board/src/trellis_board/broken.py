"""The modules of a board that could not be imported when they were last tried.

Their tests are in no column, or red in all of them: a score without a word on them would be that of
the other modules.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, func, select

from . import schema
from .branches import NAMELESS, board_of

__all__ = ["broken_modules", "told"]

_MOST_NAMES = 5


def broken_modules(connection: Connection, project: int, branch: str | None = None) -> list[str]:
    """The names of modules, or of folders, that no newer run of the board could import again."""
    broken, part, run = schema.broken, schema.part, schema.run
    board = board_of(connection, project, branch)
    query = (
        select(broken.c.module, broken.c.backends, part.c.id, run.c.started, run.c.id)
        .join(part, part.c.id == broken.c.part_id)
        .join(run, run.c.id == part.c.run_id)
        .where(run.c.project_id == project)
        .where(func.coalesce(run.c.branch, NAMELESS).in_(board))
    )
    found = connection.execute(query).all()
    if not found:
        return []
    tried = {name: _cells(connection, project, board, name) for name in {row[0] for row in found}}
    stand = set()
    for name, backends, of_part, *when in found:
        only = set(json.loads(backends))
        cells = [cell for cell in tried[name] if not only or cell[0] in only]
        is_shown = any(cell[1:3] == (of_part, "error") for cell in cells)
        if is_shown and all(list(cell[3:]) <= when for cell in cells):
            stand.add(name)
    return sorted(stand)


def _cells(
    connection: Connection, project: int, board: Sequence[str], name: str
) -> list[tuple[str, int, str, float, int]]:
    """Backend, part, outcome, start and run of the cells of a module, or of those in a folder."""
    cell, test, module, backend = schema.cell, schema.test, schema.module, schema.backend
    query = (
        select(backend.c.name, cell.c.part_id, cell.c.outcome, cell.c.started, cell.c.run_id)
        .join(test, test.c.id == cell.c.test_id)
        .join(module, module.c.id == test.c.module_id)
        .join(backend, backend.c.id == cell.c.backend_id)
        .where(cell.c.project_id == project, cell.c.branch.in_(board))
        .where(
            (module.c.name == name) | module.c.name.startswith(f"{name}/", autoescape=True),
            module.c.project_id == project,
        )
    )
    return [tuple(row) for row in connection.execute(query)]  # type: ignore[misc]


def told(names: Iterable[str]) -> str:
    """In words, for people.

    >>> told(["tests/test_a"])
    '1 module could not be imported: tests/test_a'
    """
    every = list(names)
    number = f"{len(every)} module{'' if len(every) == 1 else 's'} could not be imported"
    shown = ", ".join(every[:_MOST_NAMES])
    more = f" and {len(every) - _MOST_NAMES} more" if len(every) > _MOST_NAMES else ""
    return f"{number}: {shown}{more}"
