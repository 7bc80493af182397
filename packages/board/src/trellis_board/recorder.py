"""From test reports to results: attempts, phases, crashes.

One test sends up to three reports per attempt (setup, call, teardown). A new setup report starts a
new attempt, which replaces the one before: that is what rerunning plugins do. A worker that dies
sends nothing more; xdist then reports a failure of no particular phase, which becomes an error.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from .cells import PLAIN, Cell, cell_from_node_id, module_of
from .records import BrokenModule, Result, merge

__all__ = ["Recorder"]

_LONGEST_MESSAGE = 20_000


@dataclass
class _Attempt:
    """The state of one test in its newest attempt."""

    number: int = 1
    cell: Cell | None = None
    outcome: str = "error"
    message: str = "the test started and never reported an end"
    duration: float | None = None
    comparisons: int | None = None
    at: float | None = None


class Recorder:
    """Collects the reports of a session; `results` are its cells.

    Messages name files from `root` on: a board is public, and where a checkout lies is nobody's business.
    """

    def __init__(self, root: Path) -> None:
        self._root = f"{root}{os.sep}"
        self._attempts: dict[str, _Attempt] = {}
        self._broken: dict[str, str] = {}

    def collected(self, report: pytest.CollectReport) -> None:
        """Take the report of a module that was collected, or could not be."""
        if report.failed:
            self._broken[module_of(report.nodeid)] = _shorten(report.longreprtext)

    def reported(self, report: pytest.TestReport) -> None:
        """Take the report of one phase of one test."""
        attempt = self._attempts.get(report.nodeid)
        if attempt is None:
            attempt = self._attempts[report.nodeid] = _Attempt()
        elif report.when == "setup":
            attempt = self._attempts[report.nodeid] = _Attempt(number=attempt.number + 1)
        cell = getattr(report, "board_cell", None)
        if cell is not None:
            attempt.cell = tuple(cell)
        attempt.at = getattr(report, "stop", None) or attempt.at
        if report.when == "setup":
            if report.outcome != "passed":
                _conclude(attempt, report, failed="error")
                attempt.duration = report.duration
        elif report.when == "call":
            _conclude(attempt, report, failed="failure")
            attempt.duration = report.duration
        elif report.outcome == "failed":  # teardown, or a crash that belongs to no phase
            attempt.outcome, attempt.message = "error", _shorten(report.longreprtext)

    def results(self, known_backends: Collection[str] = ()) -> list[Result]:
        """One result per cell, in the order in which the tests were first reported."""
        known = {a.cell[2] for a in self._attempts.values() if a.cell} - {PLAIN}
        known.update(known_backends)
        by_cell: dict[Cell, Result] = {}
        for node_id, attempt in self._attempts.items():
            cell = attempt.cell or cell_from_node_id(node_id, known)
            result = Result(
                *cell,
                outcome=attempt.outcome,
                duration=attempt.duration,
                comparisons=attempt.comparisons,
                attempts=attempt.number,
                message=attempt.message.replace(self._root, ""),
                at=attempt.at,
            )
            by_cell[cell] = merge(by_cell[cell], result) if cell in by_cell else result
        return list(by_cell.values())

    def broken_modules(self) -> list[BrokenModule]:
        """The modules that could not be collected."""
        return [
            BrokenModule(module, message.replace(self._root, ""))
            for module, message in self._broken.items()
        ]


def _conclude(attempt: _Attempt, report: pytest.TestReport, failed: str) -> None:
    """Set the outcome that this report means; `failed` is what a failure is called in its phase."""
    attempt.comparisons, why_hollow = getattr(report, "board_tally", (None, None))
    expected_failure = getattr(report, "wasxfail", None)
    if report.outcome == "failed":
        attempt.outcome, attempt.message = failed, _shorten(report.longreprtext)
    elif report.outcome == "skipped" and expected_failure is not None:
        attempt.outcome, attempt.message = "xfailed", expected_failure.removeprefix("reason: ")
    elif report.outcome == "skipped":
        attempt.outcome, attempt.message = "skipped", _skip_reason(report)
    elif why_hollow:
        attempt.outcome, attempt.message = "hollow", why_hollow
    elif report.outcome == "passed":
        unexpected = expected_failure is not None
        attempt.outcome = "success"
        attempt.message = f"passed although marked xfail: {expected_failure}" if unexpected else ""


def _skip_reason(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return _shorten(report.longrepr[2].removeprefix("Skipped: "))
    return _shorten(report.longreprtext)


def _shorten(text: str) -> str:
    """The beginning and the end of a long text: errors are told at the end."""
    # PostgreSQL takes no NUL in text, and no terminal shows one.
    text = text.replace("\x00", "\\x00")
    if len(text) <= _LONGEST_MESSAGE:
        return text
    half = _LONGEST_MESSAGE // 2 - 20
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters ...]\n{text[-half:]}"
