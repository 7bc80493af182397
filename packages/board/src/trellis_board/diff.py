"""What changed between two sets of runs.

>>> kind_of_change("success", "hollow"), kind_of_change(None, "failure")
('newly hollow', 'new failure')
>>> kind_of_change("failure", "error"), kind_of_change("success", "success") is None
('already red', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from .outcomes import is_red
from .queries import RunInfo, RunState, backend_names, died_at, messages, modules, states_of_runs
from .verdicts import Past, past_of

__all__ = ["Change", "Diff", "compare", "kind_of_change"]

KINDS = (
    "new failure",
    "flaky",
    "already red",
    "died",
    "newly hollow",
    "fixed",
    "newly passing",
    "newly skipped",
    "slower",
    "not run",
)
"""What can become of a cell. Only the first is a reason not to merge a change."""

# Slower means clearly slower: twice the time, and by more than the noise of a busy machine.
_SLOWER_FACTOR = 2.0
_SLOWER_SECONDS = 0.1
_IN_DOUBT = ("new failure", "already red", "fixed")


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
        return self.kind == "new failure"


@dataclass
class Diff:
    """All changes between two sets of runs."""

    base: Sequence[RunInfo]
    head: Sequence[RunInfo]
    changes: list[Change] = field(default_factory=list)
    died: dict[str, int] = field(default_factory=dict)
    """The runs that died, and at how many percent of their cells."""

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
    before = states_of_runs(connection, project, {run.id for run in base})
    after = states_of_runs(connection, project, {run.id for run in head})
    # Few cells differ, so names, messages and the past are looked up for those alone.
    different = {
        cell: change
        for cell in before.keys() | after.keys()
        if (change := _change(before.get(cell), after.get(cell))) is not None
    }
    in_doubt = [
        cell
        for cell, kind in different.items()
        if kind in _IN_DOUBT or (cell in after and cell in before and _died(before[cell]))
    ]
    in_doubt = [cell for cell in in_doubt if not _died(after[cell])]
    pasts = past_of(connection, project, in_doubt, base, head)
    for cell, past in pasts.items():
        kind = _verdict(before.get(cell), after[cell], past)
        if kind is None:
            del different[cell]
        else:
            different[cell] = kind
    said = messages(connection, [after[cell].result_id for cell in different if cell in after])
    backends = backend_names(connection, project)
    names = {run.id: run.name for run in [*base, *head]}
    died = died_at(connection, names)
    diff = Diff(base, head, died={names[id]: percent for id, percent in died.items()})
    for module in modules(connection, project) if different else []:
        for test, name in module.tests.items():
            for backend, backend_name in backends.items():
                kind = different.get((test, backend))
                if kind is not None:
                    old, new = before.get((test, backend)), after.get((test, backend))
                    diff.changes.append(
                        Change(
                            kind,
                            *(module.name, name, backend_name),
                            before=old.outcome if old else None,
                            after=new.outcome if new else None,
                            message=said[new.result_id] if new and kind != "slower" else "",
                            seconds=_seconds(old, new) if kind == "slower" else None,
                        )
                    )
    return diff


def kind_of_change(before: str | None, after: str | None) -> str | None:
    """What to call the step from one outcome to another; None if it is not worth a word."""
    if after is not None and is_red(after):
        return "already red" if before is not None and is_red(before) else "new failure"
    if after == "died":
        return "died"
    if before == after:
        return None
    if after is None:
        # What the base did not come to either is no loss.
        return None if before == "died" else "not run"
    if after == "hollow":
        return "newly hollow"
    if after == "success":
        return "fixed" if before is not None and is_red(before) else "newly passing"
    return "newly skipped" if before not in (None, "died") else None


def _died(state: RunState) -> bool:
    return state.outcome == "died"


def _verdict(before: RunState | None, after: RunState, past: Past) -> str | None:
    """The kind of change of a cell that is red, or was, in view of its past."""
    old = before.outcome if before and not _died(before) else past.known
    kind = kind_of_change(old, after.outcome)
    if not past.is_flaky:
        return kind
    return "flaky" if is_red(after.outcome) else None


def _change(before: RunState | None, after: RunState | None) -> str | None:
    old = before.outcome if before else None
    new = after.outcome if after else None
    if old != new or (new is not None and (is_red(new) or new == "died")):
        return kind_of_change(old, new)
    seconds = _seconds(before, after)
    if seconds and seconds[1] > _SLOWER_FACTOR * seconds[0]:
        return "slower" if seconds[1] - seconds[0] > _SLOWER_SECONDS else None
    return None


def _seconds(before: RunState | None, after: RunState | None) -> tuple[float, float] | None:
    if before and after and before.duration is not None and after.duration is not None:
        return before.duration, after.duration
    return None
