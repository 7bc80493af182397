"""The pytest plugin: ``pytest --board STORE`` records one result per test and backend.

``STORE`` is a path of an SQLite file, a database URL, or the address of a board server. Without the
option the plugin does nothing at all. docs/board.md explains the options.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Generator
from types import FrameType

import pytest

from . import cells, comparisons, environment, observers
from .outcomes import OUTCOMES
from .recorder import Recorder
from .records import Part

_THIS_PACKAGE = __name__.partition(".")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("board", "conformance board")
    group.addoption(
        "--board",
        metavar="STORE",
        help="record results in STORE: an SQLite file, a database URL or a board server's address",
    )
    group.addoption("--board-project", metavar="NAME", help="project the results belong to")
    group.addoption("--board-run", metavar="ID", help="run id, the same for all shards of a run")
    group.addoption("--board-shard", metavar="NAME", help="name of this shard of the run")
    group.addoption(
        "--board-backend-arg", metavar="ARG", help="test argument that names the backend"
    )
    parser.addini("board_project", "project the results belong to", default="default")
    parser.addini("board_backend_arg", "test argument that names the backend", default="backend")
    parser.addini("board_backends", "backends, in the order of the columns", type="args")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    # Before conftest files are rewritten, and before any test module is.
    if early_config.known_args_namespace.board:
        _turn_on_assertion_hook(early_config)
        observers.install()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "board(module=..., row=...): the table and the row of the board this test is in"
    )
    if not config.option.board or config.option.collectonly:
        return
    _turn_on_assertion_hook(config)
    observers.install()
    config.pluginmanager.register(_Watcher(config), "board-watcher")
    if not hasattr(config, "workerinput"):  # xdist: only the controller records
        config.pluginmanager.register(_Session(config), "board-session")


def _turn_on_assertion_hook(config: pytest.Config) -> None:
    """Make pytest report passing assertions, as the ini option of that name would.

    Rewritten modules are cached in files whose name does not tell whether the hook was on. They get
    a name of their own here, so that neither kind of run ever loads the other's.
    """
    from _pytest.assertion import rewrite

    config._inicache["enable_assertion_pass_hook"] = True
    if not rewrite.PYC_TAIL.startswith(".board-"):
        rewrite.PYC_TAIL = f".board-{rewrite.PYC_TAIL.removeprefix('.')}"


class _Watcher:
    """Counts comparisons where tests run: in this process, or in each xdist worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._argument = _setting(config, "backend_arg")
        self._tally: comparisons.Tally | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        backend = cells.cell_of_item(item, self._argument)[2]
        self._tally = comparisons.Tally(backend)
        with comparisons.recording(self._tally):
            result = yield
        if isinstance(item, pytest.DoctestItem) and item.dtest is not None:
            # An example with an expected output is a comparison; doctest makes it by itself.
            self._tally.count += sum(bool(example.want) for example in item.dtest.examples)
        return result

    def pytest_assertion_pass(self, item: pytest.Item) -> None:
        asserting = _asserting_frame(sys._getframe(1))
        if self._tally is not None and asserting is not None:
            self._tally.add((), asserting)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        # Plain lists: xdist carries them to the controller.
        report.board_cell = list(cells.cell_of_item(item, self._argument))  # type: ignore[attr-defined]
        if call.when == "call" and self._tally is not None:
            tally = [self._tally.count, self._tally.why_hollow()]
            report.board_tally = tally  # type: ignore[attr-defined]
            self._tally = None
        return report


class _Session:
    """Gathers all reports of a session and records them as one part of a run at its end."""

    def __init__(self, config: pytest.Config) -> None:
        from .destination import open_destination

        self._started = time.time()
        self._recorder = Recorder(config.rootpath)
        self._interrupted = False
        self._said = ""
        project = config.option.board_project or os.environ.get("BOARD_PROJECT")
        try:
            self._destination = open_destination(
                config.option.board, project or config.getini("board_project")
            )
        except ImportError as error:
            raise pytest.UsageError(
                f"--board: {error}; pip install 'trellis-board[server]'"
            ) from error
        except Exception as error:
            raise pytest.UsageError(f"--board {config.option.board}: {error}") from error

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._recorder.collected(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._recorder.reported(report)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # Collection errors also end here, as Session.Interrupted; those runs are worth recording.
        self._interrupted = not isinstance(excinfo.value, pytest.Session.Interrupted)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        part = self._part(session.config)
        if self._interrupted:
            self._said = "board: interrupted, so nothing was recorded"
        elif not part.results and not part.broken:
            self._said = "board: no test ran, so nothing was recorded"
        else:
            try:
                self._destination.record(part)
            except Exception as error:
                self._said = f"board: NOTHING WAS RECORDED: {error}"
                session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
            else:
                counts = Counter(result.outcome for result in part.results)
                told = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])
                self._said = f"board: run {part.run} recorded: {told or 'broken modules only'}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(self._said, red="NOTHING" in self._said)

    def _part(self, config: pytest.Config) -> Part:
        env = os.environ
        backends = config.getini("board_backends")
        results = self._recorder.results(backends)
        columns = dict.fromkeys([*backends, *(result.backend for result in results)])
        python, platform = environment.python_and_platform()
        return Part(
            run=config.option.board_run or environment.run_id(env),
            shard=config.option.board_shard or environment.shard(env),
            started=self._started,
            commit=environment.commit(env, config.rootpath),
            branch=environment.branch(env, config.rootpath),
            link=environment.run_link(env),
            python=python,
            platform=platform,
            versions=environment.versions(columns),
            results=results,
            broken=self._recorder.broken_modules(),
        )


def _setting(config: pytest.Config, name: str) -> str:
    return str(getattr(config.option, f"board_{name}") or config.getini(f"board_{name}"))


def _asserting_frame(frame: FrameType | None) -> FrameType | None:
    """The frame of the `assert` that just passed, or None if it belongs to this library itself.

    pytest rewrites the assertions of a distribution that brings a plugin. Those are not the test's.
    """
    while frame is not None:
        root = frame.f_globals.get("__name__", "").partition(".")[0]
        if root == _THIS_PACKAGE:
            if frame.f_globals.get("__name__") != __name__:
                return None
        elif root not in ("pluggy", "_pytest"):
            return frame
        frame = frame.f_back
    return None
