"""What the past of a cell says about its present: whether it is flaky, and what it was before.

A cell that is red in a pull request may be the fault of the pull request, or it may have been red
now and then for weeks. The runs of the branch that it is compared with tell.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import Connection, func, select

from . import schema
from .branches import board_of
from .outcomes import is_red, severity
from .queries import RunInfo, runs

__all__ = ["DEPTH", "Past", "past_of"]

DEPTH = 100
"""How many runs are looked at: a cell that fails once in twenty runs has then failed five times."""

# One fault that was found and fixed is no flake, two of them in a hundred runs hardly ever happen.
_FLAKY_EPISODES = 2
# Of the cells of a module; then the module, or the machine, was broken, and no single test was.
_SHARE_OF_AN_OUTAGE = 0.8
_FEWEST_OF_AN_OUTAGE = 3

Cell = tuple[int, int]


@dataclass(frozen=True)
class Past:
    """The results of one cell, from old to new; those of outages are left out of `told`."""

    known: str | None = None
    """The newest outcome of a run that came to it."""
    told: tuple[tuple[str | None, bool], ...] = ()
    """Commit, and whether it was red, of each run in which it was green or red."""
    reruns: int = 0

    @property
    def is_flaky(self) -> bool:
        """Whether it turned by itself: on one commit, at a second attempt, or again and again."""
        by_commit: dict[str, set[bool]] = {}
        for commit, red in self.told:
            if commit:
                by_commit.setdefault(commit, set()).add(red)
        healed = sum(before and not after for (_, before), (_, after) in pairwise(self.told))
        on_one_commit = any(len(seen) == 2 for seen in by_commit.values())
        return on_one_commit or self.reruns > 0 or healed >= _FLAKY_EPISODES


def past_of(
    connection: Connection,
    project: int,
    cells: Collection[Cell],
    base: Sequence[RunInfo],
    head: Sequence[RunInfo],
) -> dict[Cell, Past]:
    """The pasts of some cells: the runs of the base's branch before the head, and other runs of the
    head's own commit."""
    if not cells:
        return {}
    started = min(run.started for run in head)
    board = board_of(connection, project, base[0].branch)
    every = runs(connection, project, of=board)
    own = {run.id for run in head}
    recent = [run for run in every if run.started <= started and run.id not in own][:DEPTH]
    commits = {run.commit for run in head if run.commit}
    same = [run for run in runs(connection, project) if run.commit in commits]
    chosen = {run.id: run for run in [*recent, *same]}
    found = _results(connection, cells, chosen)
    outages = _outages(connection, found)
    order = sorted(chosen.values(), key=lambda run: (run.started, run.id))
    pasts = {}
    for cell in cells:
        of_cell, module = found.get(cell, {}), found.modules.get(cell[0])
        known, told, reruns = None, [], 0
        for run in order:
            outcome, attempts = of_cell.get(run.id, (None, 1))
            if outcome is None or outcome == "died":
                continue
            if run.id not in own:
                known = outcome
            reruns += attempts > 1 and outcome == "success"
            is_told = outcome == "success" or is_red(outcome)
            if is_told and not (is_red(outcome) and (run.id, module) in outages):
                told.append((run.commit, is_red(outcome)))
        pasts[cell] = Past(known, tuple(told), reruns)
    return pasts


class _Found(dict[Cell, dict[int, tuple[str, int]]]):
    """For each cell and run the worst outcome and the attempts; and the modules of the tests."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[int, int] = {}


def _results(connection: Connection, cells: Collection[Cell], chosen: Collection[int]) -> _Found:
    result, test = schema.result, schema.test
    found = _Found()
    wanted = sorted({test_id for test_id, _ in cells})
    for start in range(0, len(wanted), 500):
        some = wanted[start : start + 500]
        query = (
            select(
                *(result.c.test_id, result.c.backend_id, result.c.run_id),
                *(result.c.outcome, result.c.attempts, test.c.module_id),
            )
            .join(test, test.c.id == result.c.test_id)
            .where(result.c.test_id.in_(some), result.c.run_id.in_(list(chosen)))
        )
        for test_id, backend, run, outcome, attempts, module in connection.execute(query):
            found.modules[test_id] = module
            of_cell = found.setdefault((test_id, backend), {})
            if run not in of_cell or severity(outcome) > severity(of_cell[run][0]):
                of_cell[run] = outcome, attempts
    return found


def _outages(connection: Connection, found: _Found) -> set[tuple[int, int]]:
    """Runs and modules in which nearly everything was red."""
    red_runs = {
        run
        for of_cell in found.values()
        for run, (outcome, _) in of_cell.items()
        if is_red(outcome)
    }
    result, test, part = schema.result, schema.test, schema.part
    of_runs = select(part.c.id).where(part.c.run_id.in_(sorted(red_runs)))
    query = (
        select(result.c.run_id, test.c.module_id, result.c.outcome, func.count())
        .join(test, test.c.id == result.c.test_id)
        .where(result.c.part_id.in_(of_runs), test.c.module_id.in_(set(found.modules.values())))
        .group_by(result.c.run_id, test.c.module_id, result.c.outcome)
    )
    counts: dict[tuple[int, int], list[int]] = {}
    for run, module, outcome, number in connection.execute(query):
        if outcome not in ("skipped", "died"):
            count = counts.setdefault((run, module), [0, 0])
            count[0] += number
            count[1] += number * is_red(outcome)
    return {
        key
        for key, (of, red) in counts.items()
        if of >= _FEWEST_OF_AN_OUTAGE and red >= _SHARE_OF_AN_OUTAGE * of
    }
