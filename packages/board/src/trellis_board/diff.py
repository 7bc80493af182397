"""What changed between two sets of runs.

>>> kind_of_change("success", "hollow"), kind_of_change(None, "failure")
('newly hollow', 'newly failing')
>>> kind_of_change("failure", "failure") is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from .outcomes import is_red, severity
from .queries import RunInfo, RunState, backend_names, messages, modules, states_of_runs

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
    before = states_of_runs(connection, project, {run.id for run in base})
    after = states_of_runs(connection, project, {run.id for run in head})
    # Few cells differ, so names and messages are looked up for those alone.
    different = {
        cell: change
        for cell in before.keys() | after.keys()
        if (change := _change(before.get(cell), after.get(cell))) is not None
    }
    said = messages(connection, [after[cell].result_id for cell in different if cell in after])
    backends = backend_names(connection, project)
    diff = Diff(base, head)
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


def _change(before: RunState | None, after: RunState | None) -> str | None:
    old = before.outcome if before else None
    new = after.outcome if after else None
    if old != new:
        return kind_of_change(old, new)
    seconds = _seconds(before, after)
    if seconds and seconds[1] > _SLOWER_FACTOR * seconds[0]:
        return "slower" if seconds[1] - seconds[0] > _SLOWER_SECONDS else None
    return None


def _seconds(before: RunState | None, after: RunState | None) -> tuple[float, float] | None:
    if before and after and before.duration is not None and after.duration is not None:
        return before.duration, after.duration
    return None
