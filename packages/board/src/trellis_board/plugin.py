"""The pytest plugin: ``pytest --board STORE`` records one result per test and backend.

``STORE`` is a path of an SQLite file, a database URL, or the address of a board server. Without the
option the plugin does nothing at all. docs/board.md explains the options.
"""

from __future__ import annotations

import pytest

from . import arrays, callers, cells, hooks, observers, rewriting, rootdir
from .session import Session
from .watcher import Messenger, Watcher


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
        "--board-backend",
        metavar="NAME",
        help="backend of all tests of this session that do not name their own",
    )
    group.addoption(
        "--board-backend-arg",
        metavar="ARG",
        action="append",
        help="test argument that names the backend (several: the first that a test has)",
    )
    group.addoption(
        "--board-columns",
        metavar="WHAT",
        action="append",
        help="columns of their own by version, platform or python",
    )
    parser.addini("board_project", "project the results belong to", default="default")
    parser.addini(
        "board_backend_arg",
        "test arguments that name the backend: the first that a test has",
        type="args",
        default=["backend"],
    )
    parser.addini("board_backends", "backends, in the order of the columns", type="args")
    parser.addini("board_columns", "columns by version, platform or python", type="args")
    parser.addini(
        "board_helpers",
        "further modules whose asserts are a test's: paths, or names of installed modules",
        type="args",
    )
    parser.addini(
        "board_arrays", "packages that arrays of backends are from: mine=torch", type="args"
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    # Before conftest files are rewritten, and before any test module is.
    if early_config.known_args_namespace.board:
        rootdir.correct(early_config, args)
        _observe(early_config)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "board(module=..., row=...): the table and the row of the board this test is in"
    )
    if not config.option.board or config.option.collectonly:
        return
    _observe(config)
    watcher = Watcher(config)
    config.pluginmanager.register(watcher, "board-watcher")
    # xdist: workers tell the controller what they know, and only the controller records.
    is_worker = hasattr(config, "workerinput")
    partner = Messenger(watcher) if is_worker else Session(config, watcher)
    config.pluginmanager.register(partner, "board-partner")


def _observe(config: pytest.Config) -> None:
    """Let asserts, comparison functions and parametrizations tell what they do."""
    if rewriting.is_possible(config):
        rewriting.install(config, config.getini("board_helpers"))
    else:
        callers.let_all_count()
    arrays.declare(_pairs(config.getini("board_arrays")))
    observers.install()
    cells.remember_parametrizations()


def _pairs(words: list[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        backend, equals, package = word.partition("=")
        if not equals or not backend or not package:
            raise pytest.UsageError(f"board_arrays: {word!r}; expected BACKEND=PACKAGE")
        pairs[backend] = package
    return pairs
