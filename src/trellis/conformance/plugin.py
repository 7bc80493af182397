"""The pytest plugin of the kit: its options, the backend under test, exceptions, the report."""

import os
from pathlib import Path
from typing import Any

# TensorFlow announces its build on standard error at every start otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest

import trellis

from .._core.dispatch import BACKENDS
from ..errors import TrellisError
from .exceptions import Exceptions, find
from .fixtures import _defaults_stay as _defaults_stay
from .fixtures import _dynamo_resets as _dynamo_resets
from .fixtures import array as array
from .fixtures import compiled as compiled
from .fixtures import x64 as x64
from .fixtures import xp as xp
from .summary import Summary

HERE = Path(__file__).parent
FIRST = "test_tier_0"
_has_failed_first = pytest.StashKey[bool]()
_table = pytest.StashKey[Exceptions]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "conformance of a Trellis backend")
    group.addoption("--backend", metavar="NAME", help="the backend under test")
    group.addoption(
        "--conformance",
        metavar="FILE",
        help="what it cannot do; by default conformance.toml of its package or of this folder",
    )
    group.addoption(
        "--conformance-report", metavar="FILE", help="write the report at the end as JSON, too"
    )
    group.addoption(
        "--slice",
        type=int,
        default=1,
        metavar="N",
        help="run every N-th row of each test",
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Any:
    """A board counts the asserts of the kit, which is no folder of tests."""
    if getattr(early_config.known_args_namespace, "board", None):
        early_config.addinivalue_line("board_helpers", "trellis.conformance")
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    name = config.getoption("--backend")
    if name is None:
        raise pytest.UsageError("which backend? Write --backend NAME")
    try:
        module = trellis.namespace(name)
    except TrellisError as error:
        hint = "" if name in BACKENDS else " Is its package installed? pip install -e ."
        raise pytest.UsageError(f"{error}{hint}") from None
    config.stash[_table] = find(config.getoption("--conformance"), module)
    summary = Summary(name, module, config.stash[_table], config.getoption("--conformance-report"))
    config.pluginmanager.register(summary, "trellis-summary")
    if getattr(config.option, "board", None) and not config.option.board_backend:
        config.option.board_backend = name


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """The name of the backend under test."""
    name: str = request.config.getoption("--backend")
    return name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """First what all else needs; what cannot work is expected to fail."""
    from .rows import is_asked  # now, so that a board counts its asserts

    table, step = config.stash[_table], config.getoption("--slice")
    ours = [item for item in items if HERE in item.path.parents]
    ours.sort(key=lambda item: item.path.name != "test_first.py")
    is_whole = {item.path for item in ours} >= set(HERE.glob("test_*.py"))
    unknown = table.unknown([item.name for item in ours]) if is_whole else []
    if unknown:
        raise pytest.UsageError(f"{table.path}: no test or row is called {', '.join(unknown)}")
    counts: dict[Any, int] = {}
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in [item for item in ours if is_asked(item, config.getoption("--backend"))]:
        reason = table.reason(item.name)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        key = item.path, getattr(item, "originalname", item.name)
        counts[key] = counts.get(key, -1) + 1
        (kept if counts[key] % step == 0 else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    items[:] = kept + [item for item in items if HERE not in item.path.parents]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Any:
    report = yield
    if report.failed and item.name.startswith(FIRST):
        item.config.stash[_has_failed_first] = True
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    if item.config.stash.get(_has_failed_first, False) and not item.name.startswith(FIRST):
        item.session.shouldfail = "tier 0 first: every other test needs what failed above"
        return True
    return None
