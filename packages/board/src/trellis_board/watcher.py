"""Where tests run, in this process or in each xdist worker: their cells and their comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from _pytest.unittest import TestCaseFunction

from . import arrays, cells, comparisons, environment, journal, observers, rewriting
from .columns import PLAIN, Labels, group_of
from .hints import other_argument
from .recorder import Verdict, is_subtest
from .records import Cell
from .unmade import remarks_on

__all__ = ["Messenger", "Watcher"]


class SeenArrays:
    """In how many tests of each column arrays were seen: its own, and others where it has none.

    A rule that never applies is silent. A backend whose arrays are never there is worth a line.
    """

    def __init__(self) -> None:
        self.columns: dict[str, list[int]] = {}

    def add(self, column: str, tally: comparisons.Tally) -> None:
        """Take note of one test that compared something."""
        found = tally.evidence if tally.family is not None else bool(tally.seen)
        self.merge({column: [1, int(found)]})

    def merge(self, columns: Mapping[str, Sequence[int]]) -> None:
        """Add what another process has seen."""
        for column, (tests, found) in columns.items():
            known = self.columns.setdefault(column, [0, 0])
            known[0] += tests
            known[1] += found

    def told(self) -> list[str]:
        """The lines for the end of a session."""
        lines = []
        for column, (tests, found) in self.columns.items():
            family = arrays.family_of(column)
            plural = "" if tests == 1 else "s"
            if family is not None and not found:
                of = "" if group_of(column) == family else f" of {column}"
                lines.append(f"board: no {family} array was seen in {tests} test{plural}{of}")
            elif family is None and found and group_of(column) != PLAIN:
                lines.append(
                    f"board: which arrays are those of {column!r} is not known, so nobody looked "
                    f"for them in {tests} test{plural}; board_arrays = {group_of(column)}=PACKAGE"
                )
        return lines


class Watcher:
    """Knows the cell of every collected test, and what the running one compared."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        given = [name for text in option.board_backend_arg or [] for name in text.split(",")]
        self.arguments = given or config.getini("board_backend_arg")
        self.session_backend: str | None = option.board_backend
        wanted = option.board_columns or config.getini("board_columns")
        try:
            self.labels = Labels([name for text in wanted for name in text.split(",")])
        except ValueError as error:
            raise pytest.UsageError(f"--board-columns {error}") from error
        self.cells: dict[str, Cell] = {}
        self._hook = config.hook.pytest_board_backend
        self._has_hook = True  # until all conftest files are loaded, which may bring one
        self._counts_asserts = rewriting.is_possible(config)
        worker = getattr(config, "workerinput", {})
        is_writer = worker.get("workerid") == "gw0" and "board_journal" in worker
        self.journal = Path(worker["board_journal"]) if is_writer else None
        self._tally: comparisons.Tally | None = None
        self._item: pytest.Item | None = None
        self.seen = SeenArrays()
        self.hint: str | None = None
        """Which argument may name the backends, where none of the expected ones does."""
        self._outer: comparisons.Tally | None = None
        self._seen_classes: set[type] = set()

    def cell_of(self, item: pytest.Item) -> Cell:
        """The cell of a test."""
        cell = self.cells.get(item.nodeid)
        if cell is None:
            module, row, backend = cells.cell_of_item(item, self.arguments, self.session_backend)
            if self._has_hook:
                backend = item.ihook.pytest_board_backend(item=item) or backend
            cell = self.cells[item.nodeid] = (module, row, self.labels.column(backend))
        return cell

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._has_hook = bool(self._hook.get_hookimpls())
        for item in session.items:
            self.cell_of(item)
        if all(group_of(cell[2]) == PLAIN for cell in self.cells.values()):
            self.hint = other_argument(session.items)
        # Under xdist the controller collects nothing: its first worker writes the plan.
        if self.journal is not None and session.items:
            versions = environment.versions({group_of(cell[2]) for cell in self.cells.values()})
            journal.write_plan(self.journal, self.cells, versions)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        cell = self.cells.get(item.nodeid) or self.cell_of(item)
        self._item = item
        self._tally = tally = comparisons.Tally(cell[2])
        self._outer = comparisons.start(tally)
        if type(item) is not pytest.Function:
            self._look_at_kind(item, tally)

    def _look_at_kind(self, item: pytest.Item, tally: comparisons.Tally) -> None:
        if isinstance(item, TestCaseFunction) and item.cls not in self._seen_classes:
            self._seen_classes.add(item.cls)
            observers.watch_test_case(item.cls)
        if isinstance(item, pytest.DoctestItem) and item.dtest is not None:
            # An example with an expected output is a comparison; doctest makes it by itself.
            tally.count += sum(bool(example.want) for example in item.dtest.examples)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        if self._tally is not None:
            comparisons.start(self._outer)

    def verdict(self) -> Verdict:
        """What the call of the test that just ran has compared."""
        tally, self._tally = self._tally, None
        if tally is None:
            return None, None
        comparisons.start(self._outer)
        if tally.count == 0 and not self._counts_asserts:
            return None, None  # pytest --assert=plain: not known
        item, self._item = self._item, None
        if item is not None and tally.count:
            self.seen.add(self.cells[item.nodeid][2], tally)
        return tally.count, tally.why_hollow(remarks_on(item) if tally.count == 0 else ())


class Messenger:
    """Puts what a worker knows on its reports; xdist carries plain lists to the controller."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            cell = self._watcher.cells.get(report.nodeid)
            report.board_cell = cell and list(cell)  # type: ignore[attr-defined]
        elif report.when == "call" and not is_subtest(report):
            report.board_verdict = list(self._watcher.verdict())  # type: ignore[attr-defined]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # The controller tells what all workers together have seen.
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["board_seen"] = self._watcher.seen.columns
            output["board_hint"] = self._watcher.hint
