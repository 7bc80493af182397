"""Cells that had trouble in recent runs: which of them are flaky, and what each run broke.

Only cells with a failure, an error, a hollow pass or a second attempt are looked at, found by an
index that holds nothing else; a board that is green has nothing to go through.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import Connection, select

from . import schema
from .branches import board_of
from .diff import Change, kind_of_change
from .outcomes import is_red, severity
from .queries import RunInfo, backend_names, modules, runs

__all__ = ["Flaky", "Regressions", "Trouble", "flaky_cells", "recent_trouble", "regressions"]

RUNS = 30
"""How far back "recent" goes."""

# A cell that turns red and green again has turned twice; that is a fault found and fixed.
_TURNS = 3

Cell = tuple[int, int]


@dataclass(frozen=True)
class Flaky:
    """A cell that cannot make up its mind."""

    test_id: int
    backend_id: int
    turns: int
    """How often it turned between green and red."""
    same_commit: bool
    """Whether one commit had it both green and red."""
    reruns: int
    """How often it passed only at a second attempt."""
    results: int
    outcome: str
    since: float
    """When it first turned, in these runs."""


@dataclass(frozen=True)
class Regressions:
    """What one run broke."""

    run: RunInfo
    changes: list[Change]


@dataclass(frozen=True)
class _Result:
    run: RunInfo
    outcome: str
    attempts: int
    message: str


@dataclass(frozen=True)
class Trouble:
    """The recent runs of a branch, newest first, and the cells that had trouble in them.

    A cell has its results from old to new; of one run, the worst.
    """

    runs: list[RunInfo]
    cells: dict[Cell, list[_Result]]


def flaky_cells(trouble: Trouble) -> list[Flaky]:
    """The flaky cells of recent runs, the worst first."""
    found = []
    for cell, results in trouble.cells.items():
        told = [r for r in results if is_red(r.outcome) or r.outcome == "success"]
        red = [is_red(result.outcome) for result in told]
        turns = sum(before != after for before, after in pairwise(red))
        by_commit: dict[str, set[bool]] = {}
        for result in told:
            if result.run.commit:
                by_commit.setdefault(result.run.commit, set()).add(is_red(result.outcome))
        same_commit = any(len(seen) == 2 for seen in by_commit.values())
        reruns = sum(result.attempts > 1 and result.outcome == "success" for result in results)
        if turns >= _TURNS or same_commit or reruns:
            found.append(
                Flaky(
                    *cell,
                    turns=turns,
                    same_commit=same_commit,
                    reruns=reruns,
                    results=len(results),
                    outcome=results[-1].outcome,
                    since=_first_turn(results),
                )
            )
    return sorted(found, key=lambda f: (-f.turns - f.reruns, f.test_id, f.backend_id))


def _first_turn(results: list[_Result]) -> float:
    """When a cell first turned red or green, or passed only when repeated."""
    before: bool | None = None
    for result in results:
        red = is_red(result.outcome)
        if before is not None and red != before and (red or result.outcome == "success"):
            return result.run.started
        if result.attempts > 1 and result.outcome == "success":
            return result.run.started
        before = red if red or result.outcome == "success" else before
    return results[0].run.started


def regressions(connection: Connection, project: int, trouble: Trouble) -> list[Regressions]:
    """What recent runs broke, the newest first; runs that broke nothing are not among them."""
    names = {
        test: (module.name, name)
        for module in modules(connection, project)
        for test, name in module.tests.items()
    }
    backends = backend_names(connection, project)
    recent = trouble.runs
    broken: dict[int, list[Change]] = {}
    for (test, backend), results in trouble.cells.items():
        before: str | None = None
        # What came before the oldest of these runs is not known: it breaks nothing.
        is_known = results[0].run.id != recent[-1].id
        for result in results:
            kind = kind_of_change(before, result.outcome)
            if kind is not None and (is_known or before is not None):
                change = Change(
                    kind, *names[test], backends[backend], before, result.outcome, result.message
                )
                is_worse = before is None or severity(result.outcome) > severity(before)
                if change.is_regression or (kind == "newly hollow" and is_worse):
                    broken.setdefault(result.run.id, []).append(change)
            before = result.outcome
    return [Regressions(run, broken[run.id]) for run in recent if run.id in broken]


def recent_trouble(connection: Connection, project: int, branch: str | None = None) -> Trouble:
    """Look for trouble in the recent runs of a branch, the default one if not given."""
    newest = runs(connection, project, RUNS, of=board_of(connection, project, branch))
    recent = {run.id: run for run in newest}
    result, part = schema.result, schema.part
    of_runs = select(part.c.id).where(part.c.run_id.in_(list(recent)))
    trouble = result.c.outcome.in_(["hollow", "failure", "error"]) | (result.c.attempts > 1)
    marked = (
        select(result.c.test_id, result.c.backend_id)
        .where(result.c.part_id.in_(of_runs), trouble)
        .distinct()
        .subquery()
    )
    query = (
        select(
            *(result.c.test_id, result.c.backend_id, result.c.run_id),
            *(result.c.outcome, result.c.attempts, result.c.message),
        )
        .join(
            marked,
            (marked.c.test_id == result.c.test_id) & (marked.c.backend_id == result.c.backend_id),
        )
        .where(result.c.run_id.in_(list(recent)))
    )
    worst: dict[Cell, dict[int, _Result]] = {}
    for test, backend, run, outcome, attempts, message in connection.execute(query):
        of_cell = worst.setdefault((test, backend), {})
        if run not in of_cell or severity(outcome) > severity(of_cell[run].outcome):
            of_cell[run] = _Result(recent[run], outcome, attempts, message)
    cells = {
        cell: sorted(of_cell.values(), key=lambda r: (r.run.started, r.run.id))
        for cell, of_cell in worst.items()
    }
    return Trouble(newest, cells)
