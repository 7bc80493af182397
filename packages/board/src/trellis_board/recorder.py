"""From test reports to results: attempts, phases, subtests, crashes.

One test sends up to three reports per attempt (setup, call, teardown). A new setup report starts a
new attempt, which replaces the one before: that is what rerunning plugins do. Reports of subtests
come before that of the call; a failed one fails the test, whatever the call says. A worker that
dies sends nothing more; xdist then reports a failure of no particular phase, which becomes an
error.

Most tests pass at once, and a suite may have very many: of those only a `Pass` is kept, which the
collector of garbage does not have to look at.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from .cells import cell_from_node_id, module_of
from .columns import PLAIN
from .records import BrokenModule, Cell, Result, merge

__all__ = ["Attempt", "Pass", "Recorder", "Verdict", "is_subtest"]

_LONGEST_MESSAGE = 20_000

Verdict = tuple[int | None, str | None]
"""How many comparisons a test made, and why its pass would be hollow; None if not known."""

Pass = tuple[float, int | None, float | None]
"""A test that passed at its first attempt: duration, comparisons, and when it ended."""


@dataclass(slots=True)
class Attempt:
    """The state of one test in its newest attempt."""

    number: int = 1
    outcome: str = "error"
    message: str = "the test started and never reported an end"
    duration: float | None = None
    comparisons: int | None = None
    at: float | None = None
    failed_subtests: str = ""
    skipped_subtests: int = 0


class Recorder:
    """Collects the reports of a session; `results` are its cells.

    Messages name files from `root` on: a board is public, and the folder of a checkout is nobody's
    business. `cells` are those of the collected tests, as far as they are known in this process;
    those that become known later may be added to it.
    """

    def __init__(self, root: Path, cells: dict[str, Cell]) -> None:
        self._root = f"{root}{os.sep}"
        self._cells = cells
        self._begun: dict[str, None] = {}
        self.attempts: dict[str, Attempt | Pass] = {}
        self.broken: dict[str, str] = {}

    def collected(self, report: pytest.CollectReport) -> None:
        """Take the report of a module or folder that was collected, or could not be."""
        if report.failed:
            message = _shorten(report.longreprtext).replace(self._root, "")
            self.broken[module_of(report.nodeid)] = message

    def reported(self, report: pytest.TestReport, verdict: Verdict) -> None:
        """Take the report of one phase of one test; `verdict` is that of its call."""
        node_id, when = report.nodeid, report.when
        if report.outcome == "passed":
            known = node_id in self.attempts
            if when == "setup" and not known:
                self._begun[node_id] = None
                return
            if when == "teardown" and known:
                return
            if when == "call" and not known and _is_plain_pass(report, verdict):
                self.attempts[node_id] = report.duration, verdict[0], vars(report).get("stop")
                return
        attempt = self._attempt(node_id, when)
        if report.outcome == "passed" and when != "call":
            return
        if when == "call":
            if is_subtest(report):
                _take_subtest(attempt, report)
            else:
                _conclude(attempt, report, verdict, failed="failure")
                attempt.duration, attempt.at = report.duration, getattr(report, "stop", None)
        elif when == "setup":
            _conclude(attempt, report, (None, None), failed="error")
            attempt.duration, attempt.at = report.duration, getattr(report, "stop", None)
        elif report.outcome == "failed":  # teardown, or a crash that belongs to no phase
            attempt.outcome, attempt.message = "error", _shorten(report.longreprtext)
            attempt.at = getattr(report, "stop", None) or attempt.at
        if attempt.message:
            attempt.message = attempt.message.replace(self._root, "")

    def _attempt(self, node_id: str, when: str) -> Attempt:
        """The attempt that a report is about: a new one if it is of a setup."""
        known = self.attempts.get(node_id)
        if when != "setup" and isinstance(known, Attempt):
            return known
        attempt = Attempt()
        if when == "setup" and known is not None:
            attempt.number = known.number + 1 if isinstance(known, Attempt) else 2
        elif isinstance(known, tuple):
            attempt.outcome, attempt.message = "success", ""
            attempt.duration, attempt.comparisons, attempt.at = known
        self.attempts[node_id] = attempt
        return attempt

    def has_lost_tests(self) -> bool:
        """Whether there are tests without a result: their worker crashed."""
        return not self._cells.keys() >= self.attempts.keys() | self._begun.keys()

    def results(self, known_backends: Collection[str] = ()) -> list[Result]:
        """One result per cell, in the order in which the tests came to something."""
        for node_id in self._begun:
            if node_id not in self.attempts:
                self.attempts[node_id] = Attempt()
        known = {cell[2] for cell in self._cells.values()} - {PLAIN}
        known.update(known_backends)
        by_cell: dict[Cell, Result] = {}
        for node_id, attempt in self.attempts.items():
            cell = self._cells.get(node_id) or cell_from_node_id(node_id, known)
            if isinstance(attempt, tuple):
                duration, comparisons, at = attempt
                result = Result(*cell, "success", duration, comparisons, 1, "", at)
            else:
                result = Result(
                    *(*cell, attempt.outcome, attempt.duration, attempt.comparisons),
                    *(attempt.number, attempt.message, attempt.at),
                )
            by_cell[cell] = merge(by_cell[cell], result) if cell in by_cell else result
        return list(by_cell.values())

    def broken_modules(self, backends: Collection[str] = ()) -> list[BrokenModule]:
        """The modules that could not be collected; `backends` are those this session is about."""
        return [
            BrokenModule(module, message, sorted(backends))
            for module, message in self.broken.items()
        ]


def is_subtest(report: pytest.TestReport) -> bool:
    """Whether a report is that of a subtest, of pytest itself or of pytest-subtests."""
    return type(report) is not pytest.TestReport and "context" in vars(report)


def _is_plain_pass(report: pytest.TestReport, verdict: Verdict) -> bool:
    """Whether there is nothing to say about a passed call but that it passed."""
    return verdict[1] is None and "wasxfail" not in vars(report) and not is_subtest(report)


def _take_subtest(attempt: Attempt, report: pytest.TestReport) -> None:
    if report.outcome == "failed":
        attempt.failed_subtests += f"{report.head_line}\n{_shorten(report.longreprtext)}\n"
    elif report.outcome == "skipped":
        attempt.skipped_subtests += 1


def _conclude(attempt: Attempt, report: pytest.TestReport, verdict: Verdict, failed: str) -> None:
    """Set the outcome that this report means; `failed` is what a failure is called in its phase."""
    attempt.comparisons, why_hollow = verdict
    expected_failure = getattr(report, "wasxfail", None)
    if attempt.failed_subtests and expected_failure is None:
        # Told first: pytest says of the whole test at most that it has failed subtests.
        own = report.longreprtext if report.outcome == "failed" else ""
        attempt.outcome, attempt.message = failed, _shorten(f"{attempt.failed_subtests}{own}")
    elif report.outcome == "failed":
        attempt.outcome, attempt.message = failed, _shorten(report.longreprtext)
    elif report.outcome == "skipped" and expected_failure is not None:
        attempt.outcome, attempt.message = "xfailed", expected_failure.removeprefix("reason: ")
    elif report.outcome == "skipped":
        attempt.outcome, attempt.message = "skipped", _skip_reason(report)
    elif report.outcome == "passed":
        attempt.outcome, attempt.message = "success", ""
        if attempt.skipped_subtests:
            attempt.message = f"{attempt.skipped_subtests} subtests were skipped"
        if why_hollow:
            attempt.outcome, attempt.message = "hollow", why_hollow
        elif expected_failure is not None:
            attempt.message = f"passed although marked xfail: {expected_failure}"


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
