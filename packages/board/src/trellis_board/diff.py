"""What changed between two sets of runs.

>>> kind_of_change("success", "hollow"), kind_of_change(None, "failure")
('newly hollow', 'newly failing')
>>> kind_of_change("failure", "failure") is None
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from .outcomes import is_red, severity
from .queries import CellResult, RunInfo, backend_names, modules, results_of_runs

__all__ = ["Change", "Diff", "compare", "kind_of_change"]

KINDS = (
    "newly failing",
    "newly hollow",
    "newly skipped",
    "newly passing",
    "slower",
    "no longer run",
)

# Slower means clearly slower: twice the time, and by more than the noise of a busy machine.
_SLOWER_FACTOR = 2.0
_SLOWER_SECONDS = 0.1


@dataclass(frozen=True)
class Change:
    """One cell that differs."""

    kind: str
    module: str
    test: str
    backend: str
    before: str | None
    after: str | None
    message: str = ""
    seconds: tuple[float, float] | None = None

    @property
    def is_regression(self) -> bool:
        """Whether the cell got worse in a way that should stop a change from being merged."""
        if self.kind not in ("newly failing", "newly hollow"):
            return False
        return self.before is None or severity(self.after or "") > severity(self.before)


@dataclass
class Diff:
    """All changes between two sets of runs."""

    base: Sequence[RunInfo]
    head: Sequence[RunInfo]
    changes: list[Change] = field(default_factory=list)

    @property
    def regressions(self) -> list[Change]:
        """The changes for the worse."""
        return [change for change in self.changes if change.is_regression]

    def of_kind(self, kind: str) -> list[Change]:
        """The changes of one kind, in the order of the board."""
        return [change for change in self.changes if change.kind == kind]


def compare(
    connection: Connection, project: int, base: Sequence[RunInfo], head: Sequence[RunInfo]
) -> Diff:
    """Compare the results of two sets of runs, cell by cell."""
    before = _by_cell(results_of_runs(connection, project, [run.id for run in base]))
    after = _by_cell(results_of_runs(connection, project, [run.id for run in head]))
    backends = backend_names(connection, project)
    diff = Diff(base, head)
    for module in modules(connection, project):
        for test, name in module.tests.items():
            for backend, backend_name in backends.items():
                change = _change(
                    (module.name, name, backend_name),
                    before.get((test, backend)),
                    after.get((test, backend)),
                )
                if change is not None:
                    diff.changes.append(change)
    return diff


def kind_of_change(before: str | None, after: str | None) -> str | None:
    """What to call the step from one outcome to another; None if it is not worth a word."""
    if before == after:
        return None
    if after is None:
        return "no longer run"
    if is_red(after):
        return None if before is not None and is_red(before) else "newly failing"
    if after == "hollow":
        return "newly hollow"
    if after == "success":
        return "newly passing"
    return "newly skipped" if before is not None else None


def _change(
    cell: tuple[str, str, str], before: CellResult | None, after: CellResult | None
) -> Change | None:
    old = before.outcome if before else None
    new = after.outcome if after else None
    kind = kind_of_change(old, new)
    if kind is not None:
        return Change(kind, *cell, before=old, after=new, message=after.message if after else "")
    if before and after and before.duration is not None and after.duration is not None:
        seconds = before.duration, after.duration
        if seconds[1] > _SLOWER_FACTOR * seconds[0] and seconds[1] - seconds[0] > _SLOWER_SECONDS:
            return Change("slower", *cell, before=old, after=new, seconds=seconds)
    return None


def _by_cell(results: Iterable[CellResult]) -> dict[tuple[int, int], CellResult]:
    return {(result.test_id, result.backend_id): result for result in results}
