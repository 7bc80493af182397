"""Every test with the argument `backend` runs on all four, and on those that installed packages
bring; a missing framework is an error, not a skip."""

import gc
import os

# TensorFlow announces its build on standard error at every start otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest

import programs  # before JAX is imported: it reads the environment then
import trellis
from frameworks import BACKENDS, hide_others, named_by_the_test
from memory import Memory

pytest.register_assert_rewrite("trellis.conformance")

from trellis._testing.plugin import add_backend_option  # noqa: E402
from trellis.conformance.compilers import compile_with as compile_with  # noqa: E402
from trellis.conformance.compilers import fresh as fresh  # noqa: E402
from trellis.conformance.compilers import one_program as one_program  # noqa: E402
from trellis.conformance.fixtures import _defaults_stay as _defaults_stay  # noqa: E402
from trellis.conformance.fixtures import _dynamo_resets as _dynamo_resets  # noqa: E402
from trellis.conformance.fixtures import array as array  # noqa: E402
from trellis.conformance.fixtures import compiled as compiled  # noqa: E402
from trellis.conformance.fixtures import x64 as x64  # noqa: E402
from trellis.conformance.fixtures import xp as xp  # noqa: E402
from trellis.conformance.rows import is_asked  # noqa: E402

# Four frameworks and all they compiled are looked through at each collection: let them be fewer.
gc.set_threshold(50_000, 20, 20)


def pytest_addoption(parser):
    add_backend_option(parser)
    parser.addoption(
        "--alone",
        choices=BACKENDS,
        help="run the tests of this backend as if no other framework were installed;"
        " a test that asks for another by name is skipped",
    )
    parser.addoption(
        "--slice",
        type=int,
        default=1,
        metavar="N",
        help="run every N-th row of each test, and no test marked slow if N > 1",
    )
    parser.addoption(
        "--long",
        action="store_true",
        help="run the large matrices too: the tests marked long",
    )


def pytest_configure(config):
    alone = config.getoption("--alone")
    if alone:
        hide_others(alone)
    if not hasattr(config, "workerinput"):  # workers share what the run began with
        programs.stay_few()


def pytest_collection_modifyitems(config, items):
    alone = config.getoption("--alone")
    chosen = [alone] if alone else config.getoption("--backend") or BACKENDS
    step = config.getoption("--slice")
    kept, dropped, rows = [], [], {}
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        name = params.get("backend", chosen[0])
        row = rows.get((item.path, item.originalname), 0) if name in chosen else 0
        is_kept = name in chosen and row % step == 0 and is_asked(item, name)
        if step > 1 and item.get_closest_marker("slow"):
            is_kept = False
        if item.get_closest_marker("long") and not config.getoption("--long"):
            is_kept = False
        needed = item.get_closest_marker("needs")
        if alone and needed and set(needed.args) - {alone}:
            is_kept = False
        if name in chosen:
            rows[item.path, item.originalname] = row + 1
        (kept if is_kept else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    items[:] = rows_together(kept)


def rows_together(items):
    """The tests of one row and backend after each other: JAX compiles for the first alone."""
    files, places, keys = {}, {}, {}
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        row = (params["backend"], params["name"]) if {"backend", "name"} <= set(params) else item
        file = files.setdefault(item.path, len(files))
        keys[item] = file, places.setdefault((file, row), len(places))
    return sorted(items, key=keys.get)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from scheduling import ByBackend

    return ByBackend(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    alone = item.config.getoption("--alone")
    if alone and call.excinfo is not None and report.failed:
        other = named_by_the_test(call.excinfo, alone)
        if other is not None:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1], f"the test asks for {other}")
    return report


@pytest.fixture(params=BACKENDS)
def backend(request):
    """The name of a backend."""
    trellis.namespace(request.param)
    if request.param == "torch":
        leave_guards_untimed()
    if request.param == "jax":
        programs.share_contexts()
    return request.param


def leave_guards_untimed():
    """Dynamo times the guards of each program once, after flushing the cache of the processor:
    a fifth of what a small program takes to compile, and nobody reads the number."""
    from torch._dynamo import guards

    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = _no_time


def _no_time(*_):
    return 0.0


_memory = Memory()


@pytest.fixture(autouse=True)
def _compiled_programs_stay_few():
    """Thousands of compiled programs would fill the memory of a worker."""
    yield
    _memory.release_if_grown()
