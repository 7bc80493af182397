"""One session of pytest, from its start to the part it records; its journal if it dies."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from . import environment, journal
from .cells import module_of
from .columns import group_of
from .destination import Destination, is_unreachable, open_destination
from .outcomes import OUTCOMES
from .recorder import Recorder, Verdict, is_subtest
from .records import Part
from .watcher import Watcher

__all__ = ["Session"]

_UNKNOWN: Verdict = (None, None)


class Session:
    """Gathers all reports of a session and records them as one part of a run at its end."""

    def __init__(self, config: pytest.Config, watcher: Watcher) -> None:
        self._started = time.time()
        self._watcher = watcher
        self._recorder = Recorder(config.rootpath, watcher.cells)
        self._interrupted = False
        self._is_spread = getattr(config.option, "dist", "no") != "no"
        self._said: list[str] = []
        self._backends: list[str] = config.getini("board_backends")
        self._project = str(
            config.option.board_project
            or os.environ.get("BOARD_PROJECT")
            or config.getini("board_project")
        )
        address = config.option.board
        try:
            self._destination: Destination = open_destination(address, self._project)
            place = journal.place_for(address, _cache_folder(config))
            self._recover(place, address)
            self._journal = journal.Journal(place) if place else None
        except ImportError as error:
            wanted = "pip install 'trellis-board[postgres]'"
            raise pytest.UsageError(f"--board: {error}; {wanted}") from error
        except Exception as error:
            raise pytest.UsageError(f"--board {address}: {error}") from error
        self._header = self._describe(config)
        self._write("session", self._project, self._header)
        watcher.journal = self._journal.path if self._journal else None

    def _recover(self, place: Path | None, address: str) -> None:
        def record(project: str, part: Part) -> None:
            open_destination(address, project).record(part)

        if place is not None:
            self._said += [f"board: {line}" for line in journal.recover(place, record)]

    def _describe(self, config: pytest.Config) -> dict[str, Any]:
        """All of a part but what the tests themselves tell."""
        env = os.environ
        python, platform = environment.python_and_platform()
        return {
            "run": config.option.board_run or environment.run_id(env),
            "shard": config.option.board_shard or environment.shard(env),
            "started": self._started,
            "commit": environment.commit(env, config.rootpath),
            "branch": environment.branch(env, config.rootpath),
            "link": environment.run_link(env),
            "python": python,
            "platform": platform,
        }

    def _write(self, *line: Any) -> None:
        if self._journal is not None:
            self._journal.write(*line)

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.Module):
            self._write("collecting", module_of(collector.nodeid))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._recorder.collected(report)
            broken = self._recorder.broken_modules(self._columns())[-1]
            self._write("broken", broken.module, broken.message, broken.backends)

    def _columns(self) -> list[str]:
        """The columns that this session is about; empty if they are all there are."""
        backend, labels = self._watcher.session_backend, self._watcher.labels
        if not (backend or labels):
            return []
        found = {cell[2] for cell in self._watcher.cells.values()}
        return sorted({labels.column(b) for b in [*self._backends, backend] if b} | found)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self._journal is not None:
            node.workerinput["board_journal"] = str(self._journal.path.absolute())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # A worker that crashed has left nothing.
        left = getattr(node, "workeroutput", {})
        self._watcher.seen.merge(left.get("board_seen", {}))
        self._watcher.hint = self._watcher.hint or left.get("board_hint")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config) -> None:
        # In one process the tests come in the order of the plan, and need not be sent.
        config.pluginmanager.register(_Starts(self._write), "board-starts")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        when, node_id = report.when, report.nodeid
        if when == "call" and not is_subtest(report):
            told = vars(report).get("board_verdict")
            self._recorder.reported(report, told or self._watcher.verdict())
            return
        self._recorder.reported(report, _UNKNOWN)
        if when == "setup":
            cell = getattr(report, "board_cell", None) if self._is_spread else None
            if cell is not None:
                self._watcher.cells[node_id] = tuple(cell)
        elif when != "call" and self._journal is not None:
            self._journal.write_end(node_id, self._recorder.attempts[node_id])

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # Collection errors also end here, as Session.Interrupted; those runs are worth recording.
        self._interrupted = not isinstance(excinfo.value, pytest.Session.Interrupted)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        with _no_garbage_collection():
            self._finish(session)

    def _finish(self, session: pytest.Session) -> None:
        unrecorded: Part | None = None
        if self._interrupted:
            self._said.append("board: interrupted, so nothing was recorded")
        else:
            part = self._finished_part(session)
            if not (part.results or part.broken):
                self._said.append("board: no test ran, so nothing was recorded")
            elif not self._record(part, session):
                unrecorded = part
        if self._journal is not None and unrecorded is not None:
            self._journal.keep(unrecorded)
            self._said.append(f"board: kept for the next run in {self._journal.path}")
        elif self._journal is not None:
            self._journal.discard()

    def _record(self, part: Part, session: pytest.Session) -> bool:
        """Record the part and say so; False if that may succeed later."""
        try:
            self._destination.record(part)
        except Exception as error:
            self._said.append(f"board: NOTHING WAS RECORDED: {error}")
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
            return not is_unreachable(error)
        else:
            counts = Counter(result.outcome for result in part.results)
            told = [f"{counts[name]} {name}" for name in OUTCOMES if counts[name]]
            if broken := len(part.broken):
                told.append(f"{broken} module{'' if broken == 1 else 's'} could not be imported")
            self._said.append(f"board: run {part.run} recorded: {', '.join(told)}")
            page = getattr(self._destination, "page", None)  # that of a server
            self._said += [f"board: {page}"] if page else []
            self._said += self._watcher.seen.told()
            if self._watcher.hint is not None:
                self._said.append(f"board: all tests are in one column; {self._watcher.hint}")
        return True

    def _finished_part(self, session: pytest.Session) -> Part:
        died = session.exitstatus == pytest.ExitCode.INTERNAL_ERROR
        if self._journal is not None and (died or self._recorder.has_lost_tests()):
            story = journal.read(self._journal.path)
            if died:
                return journal.part_of(story)
            for node_id, cell in (story.plan or {}).items():
                self._watcher.cells.setdefault(node_id, cell)
        results = self._recorder.results(self._backends)
        columns = dict.fromkeys([*self._backends, *(group_of(r.backend) for r in results)])
        return Part(
            **self._header,
            versions=environment.versions(columns),
            results=results,
            broken=self._recorder.broken_modules(self._columns()),
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self._said:
            terminalreporter.write_line(line, red="NOTHING" in line or "had died" in line)


class _Starts:
    """Notes which tests the workers are at."""

    def __init__(self, write: Callable[..., None]) -> None:
        self._write = write

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write("start", nodeid)


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Results become many objects that all live until they are recorded: nothing to be found."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _cache_folder(config: pytest.Config) -> Path | None:
    """Where pytest keeps what is of use to its next run; None if it is told to keep nothing."""
    cache = getattr(config, "cache", None)
    return cache.mkdir("board") if cache is not None else None
