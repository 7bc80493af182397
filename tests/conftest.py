"""Every test with the argument `backend` runs on all four; a missing framework is an error, not a
skip."""

import contextlib
import gc
import os
import sys

# TensorFlow announces its build on standard error at every start otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# XLA compiles thousands of tiny programs once each: optimising them takes longer than they run.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
    " --xla_cpu_use_fusion_emitters=false",  # halves the time of a compilation
)

import numpy as np
import pytest

import programs  # before JAX is imported: it reads the environment then
import trellis
from frameworks import BACKENDS, hide_others, named_by_the_test
from memory import Memory

# Four frameworks and all they compiled are looked through at each collection: let them be fewer.
gc.set_threshold(50_000, 20, 20)


def pytest_addoption(parser):
    parser.addoption(
        "--backend",
        action="append",
        choices=BACKENDS,
        help="run only the tests of this backend (may be given several times)",
    )
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
        is_kept = name in chosen and row % step == 0
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


@pytest.fixture
def xp(backend):
    """The namespace of the backend."""
    return trellis.namespace(backend)


@pytest.fixture
def x64(backend):
    """A function giving a context with 64-bit types: JAX must be asked for them."""

    def enabled():
        if backend == "jax":
            import jax

            return jax.enable_x64(True)
        return contextlib.nullcontext()

    return enabled


@pytest.fixture
def array(backend):
    """A function from Python numbers or NumPy arrays to arrays of the backend.

    NumPy's are read-only, so that a function that writes into its input fails here.
    """

    def make(values, dtype=None):
        if isinstance(values, np.ndarray):
            x = np.array(values, dtype)
        else:
            x = trellis.namespace("numpy").asarray(values, dtype=dtype)
        if backend == "numpy":
            x.setflags(write=False)
        return trellis.namespace(backend).from_numpy(x)

    return make


@pytest.fixture
def compiled(backend):
    """A function that compiles another with the compiler of the backend."""
    if backend == "torch":
        import torch

        torch._dynamo.reset()

    def make(fn):
        return compile_with(backend, fn)

    return make


def compile_with(backend, fn, autograph=True):
    """`fn` under the compiler of a backend, in the form that refuses to fall back to Python.

    Without one `trellis.compile` runs the function, and must change nothing. TensorFlow rewrites
    the source of all that is called, unless `autograph` is False, as in `trellis.compile`.
    """
    if backend == "jax":
        import jax

        return jax.jit(fn)
    if backend == "torch":
        import torch

        return torch.compile(fn, backend="eager", fullgraph=True)
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(fn, autograph=autograph)
    return trellis.compile(fn)


def one_program(backend, fn):
    """`fn` as one program on JAX, which would compile each of its operations alone; else itself.

    For what is about numbers; that every operation runs alone too is for `test_cases` to say.
    """
    return compile_with(backend, fn) if backend == "jax" else fn


@pytest.fixture(autouse=True)
def _defaults_stay():
    """A test that changes a default of the process fails here, not in the one after it."""
    before = trellis.current_backend(), trellis.default_dtype()
    yield
    assert (trellis.current_backend(), trellis.default_dtype()) == before


_memory = Memory()


@pytest.fixture(autouse=True, scope="module")
def _dynamo_counts_within_a_file():
    """Dynamo limits how often one function is compiled, over all tests of a process."""
    yield
    if "torch._dynamo" in sys.modules:
        sys.modules["torch._dynamo"].reset()


@pytest.fixture(autouse=True)
def _compiled_programs_stay_few():
    """Thousands of compiled programs would fill the memory of a worker."""
    yield
    _memory.release_if_grown()


def fresh(backend, fn):
    """Compiled anew: Dynamo counts the compilations of one function over all tests."""
    if backend == "torch":
        import torch

        torch._dynamo.reset()
    return compile_with(backend, fn)
