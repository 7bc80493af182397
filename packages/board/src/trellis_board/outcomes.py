"""The outcomes a cell can have, from good to bad, and how each is shown.

>>> worst(["success", "failure", "hollow"])
'failure'
>>> is_red("error"), is_red("hollow")
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["OUTCOMES", "SEVERITY", "Outcome", "is_red", "severity", "worst"]


@dataclass(frozen=True)
class Outcome:
    """One outcome: its stored name, its meaning and its badge colour."""

    name: str
    meaning: str
    shield: str
    """Colour word of the Markdown badge (`success` and `red` are those of older tables)."""
    colour: str
    """Colour of the SVG badge."""


# The order is the order of severity; the last one wins where several tests share one cell.
OUTCOMES: dict[str, Outcome] = {
    outcome.name: outcome
    for outcome in (
        Outcome("success", "passed, and something was really compared", "success", "#1a7f4b"),
        Outcome("skipped", "did not run, for the reason given", "lightgrey", "#6b7280"),
        Outcome("xfailed", "fails as expected, for the reason given", "yellow", "#8a6d00"),
        Outcome("hollow", "passed, but nothing of this backend was compared", "orange", "#b45309"),
        Outcome("died", "not run: pytest died before its turn", "blueviolet", "#6d28d9"),
        Outcome("failure", "ran and failed", "red", "#c62a2f"),
        Outcome("error", "could not finish: setup, teardown or a crash", "critical", "#9f1239"),
    )
}


class _Severities(dict[str, int]):
    def __missing__(self, outcome: str) -> int:
        # SQLite keeps whatever is put into a column, and a store may come from anybody.
        raise ValueError(
            f"the store is damaged: it has the outcome {outcome!r:.80}; expected one of "
            + ", ".join(self)
        )


SEVERITY = _Severities((name, rank) for rank, name in enumerate(OUTCOMES))
"""How bad each outcome is: 0 for success, higher is worse."""


def severity(outcome: str) -> int:
    """How bad an outcome is: 0 for success, higher is worse."""
    return SEVERITY[outcome]


def worst(outcomes: Iterable[str]) -> str:
    """The worst of some outcomes."""
    return max(outcomes, key=severity)


def is_red(outcome: str) -> bool:
    """Whether the outcome says that something is broken."""
    return outcome in ("failure", "error")
