"""The rows of a board, with what is known of each cell: for questions and for the joint score.

>>> rows = [
...     Row("m", "test_a", None, {"numpy": Cell("success"), "torch": Cell("success")}),
...     Row("m", "test_b", None, {"numpy": Cell("success"), "torch": Cell("skipped")}),
...     Row("m", "test_torch_only", None, {"torch": Cell("failure")}),
... ]
>>> joint_score(rows)
Joint(green=1, of=2)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Subquery, func, select

from . import schema
from .branches import NAMELESS, board_of
from .kept import Read
from .layout import Layout, board_layout
from .outcomes import OUTCOMES, is_red
from .queries import backend_names, modules, states
from .questions import Cell, Question, Row
from .settings import read_settings
from .trouble import flaky_cells, recent_trouble

__all__ = [
    *("Joint", "Pasts", "board_rows", "column_labels", "joint_score"),
    *("matching_rows", "not_green", "pasts"),
]

_RED = [outcome for outcome in OUTCOMES if is_red(outcome)]


class Joint(NamedTuple):
    """Rows that are green on all backends, out of those that ran on two or more."""

    green: int
    of: int


class Pasts(NamedTuple):
    """What became of the cells of a board that are not green now."""

    red_since: dict[tuple[int, int], float]
    never_green: set[tuple[int, int]]
    flaky: set[tuple[int, int]]


def joint_score(rows: Iterable[Row]) -> Joint:
    """The joint score of some rows.

    A cell that was skipped, or that no run has had, is not green. Rows that ran on one backend
    alone do not count, nor do those that were skipped everywhere.
    """
    green = of = 0
    for row in rows:
        outcomes = [cell.outcome for cell in row.cells.values()]
        if len(outcomes) > 1 and set(outcomes) != {"skipped"}:
            of += 1
            green += not row.never and set(outcomes) == {"success"}
    return Joint(green, of)


def matching_rows(
    connection: Connection,
    project: int,
    question: str,
    branch: str | None = None,
    read: Read[list[Row]] | None = None,
) -> list[Row]:
    """The rows of a branch's board that a question asks for; see `questions`.

    A server has a `read` that spares it from reading the board again for every question.
    """
    labels = column_labels(connection, project, branch)
    ask = Question(question, labels, labels)
    every = (read or board_rows)(connection, project, branch)
    return list(filter(ask.fits, every))


def column_labels(
    connection: Connection, project: int, branch: str | None = None
) -> dict[str, str]:
    """The names of a board's columns from left to right, and what the page calls them."""
    names = backend_names(connection, project)
    layout = board_layout(connection, project, branch)
    return {names[id]: label for id, label in layout.columns.items()}


def board_rows(connection: Connection, project: int, branch: str | None = None) -> list[Row]:
    """The rows of a branch's board, in the order of their modules."""
    settings = read_settings(connection, project)
    names = backend_names(connection, project)
    layout = board_layout(connection, project, branch)
    found = states(connection, project, branch)
    past = pasts(connection, project, branch, not_green(found))
    of_test: dict[int, dict[int, tuple[str, int]]] = {}
    for test, backend, outcome, run, *_ in found:
        if layout.shows(backend):
            of_test.setdefault(test, {})[backend] = outcome, run
    rows = []
    shared: dict[tuple[object, ...], dict[str, Cell]] = {}
    for module in modules(connection, project):
        absent: dict[tuple[tuple[int, int], ...], frozenset[str]] = {}
        ran = {
            (run, backend)
            for test in module.tests
            for backend, (_, run) in of_test.get(test, {}).items()
        }
        for test, name in module.tests.items():
            every = of_test.get(test, {})
            normal = {b: cell for b, cell in every.items() if b != layout.plain}
            alone = {b: cell for b, cell in every.items() if b == layout.plain}
            for cells in filter(None, (normal, alone)):
                place = settings.place(module.name, name)
                runs = tuple((backend, run) for backend, (_, run) in cells.items())
                if runs not in absent:
                    absent[runs] = _never(names, layout, cells, ran)
                rows.append(
                    Row(
                        module.name,
                        name,
                        settings.groups[place[0]].name if place else None,
                        _cells(names, test, cells, past, shared),
                        absent[runs],
                        (place[2] or "") if place and cells is normal else "",
                    )
                )
    return rows


def _cells(
    names: Mapping[int, str],
    test: int,
    found: Mapping[int, tuple[str, int]],
    past: Pasts,
    shared: dict[tuple[object, ...], dict[str, Cell]],
) -> dict[str, Cell]:
    """The cells of a row; rows with equal cells share them, which makes questions cheap."""
    facts = tuple(
        (
            backend,
            outcome,
            past.red_since.get((test, backend)),
            (test, backend) not in past.never_green,
            (test, backend) in past.flaky,
        )
        for backend, (outcome, _) in found.items()
    )
    if facts not in shared:
        shared[facts] = {
            names[backend]: Cell(outcome, since, was_green, flaky)
            for backend, outcome, since, was_green, flaky in facts
        }
    return shared[facts]


def _never(
    names: Mapping[int, str],
    layout: Layout,
    found: Mapping[int, tuple[str, int]],
    ran: set[tuple[int, int]],
) -> frozenset[str]:
    """The columns that have no cell yet. A run that had the row, and its module on another backend,
    would have had the row there too: then there is no such test."""
    if layout.plain in found:
        return frozenset()
    runs = {run for _, run in found.values()}
    missing = [backend for backend in layout.columns if backend not in found]
    return frozenset(names[b] for b in missing if not any((run, b) in ran for run in runs))


def not_green(
    cells: Iterable[tuple[int, int, str, int, float | None, float]],
) -> dict[tuple[int, int], str]:
    """The outcomes of the cells that are not green."""
    return {(cell[0], cell[1]): cell[2] for cell in cells if cell[2] != "success"}


def pasts(
    connection: Connection, project: int, branch: str | None, now: Mapping[tuple[int, int], str]
) -> Pasts:
    """Since when cells are red, which were never green, and which are flaky.

    `now` has the outcome of every cell of the board that is not green (see `not_green`). Only their
    history is looked at, so a green board costs nothing.
    """
    cell, result, run = schema.cell, schema.result, schema.run
    board = board_of(connection, project, branch)
    bad = (
        select(cell.c.test_id, cell.c.backend_id)
        .where(cell.c.project_id == project, cell.c.branch.in_(board), cell.c.outcome != "success")
        .distinct()
        .subquery()
    )
    here = func.coalesce(run.c.branch, NAMELESS).in_(board)

    def of_bad(table: Subquery) -> Any:
        return (table.c.test_id == result.c.test_id) & (table.c.backend_id == result.c.backend_id)

    green = (
        select(result.c.test_id, result.c.backend_id, func.max(run.c.started).label("newest"))
        .join(bad, of_bad(bad))
        .join(run, run.c.id == result.c.run_id)
        .where(here, result.c.outcome == "success")
        .group_by(result.c.test_id, result.c.backend_id)
        .subquery()
    )
    ever = {(row[0], row[1]) for row in connection.execute(select(green))}
    red = (
        select(result.c.test_id, result.c.backend_id, func.min(run.c.started))
        .join(bad, of_bad(bad))
        .join(run, run.c.id == result.c.run_id)
        .join(green, of_bad(green), isouter=True)
        .where(here, result.c.outcome.in_(_RED))
        .where(green.c.newest.is_(None) | (run.c.started > green.c.newest))
        .group_by(result.c.test_id, result.c.backend_id)
    )
    since = {
        (row[0], row[1]): float(row[2])
        for row in connection.execute(red)
        if is_red(now.get((row[0], row[1]), "success"))
    }
    never = now.keys() - ever
    flaky = flaky_cells(recent_trouble(connection, project, branch))
    return Pasts(since, never, {(each.test_id, each.backend_id) for each in flaky})
