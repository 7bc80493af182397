"""Every test with the argument `backend` runs on all four; a missing framework is an error, not a skip."""

import contextlib
import gc
import os

# TensorFlow announces its build on standard error at every start otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# The tests make XLA compile thousands of tiny programs once each: optimising them takes longer than they run.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
    " --xla_cpu_use_fusion_emitters=false",  # halves the time of a compilation
)

import numpy as np
import pytest

import trellis
from trellis._core.dispatch import BACKENDS

# Four frameworks and all they have compiled are looked through at each collection: let them be fewer.
gc.set_threshold(50_000, 20, 20)


def pytest_addoption(parser):
    parser.addoption(
        "--backend",
        action="append",
        choices=BACKENDS,
        help="run only the tests of this backend (may be given several times)",
    )


def pytest_collection_modifyitems(config, items):
    chosen = config.getoption("--backend")
    if not chosen:
        return
    kept, dropped = [], []
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        is_other = params.get("backend", chosen[0]) not in chosen
        (dropped if is_other else kept).append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


# The group keeps a backend's tests in one process under `pytest -n 2 --dist loadgroup`.
@pytest.fixture(params=[pytest.param(b, marks=pytest.mark.xdist_group(b)) for b in BACKENDS])
def backend(request):
    """The name of a backend."""
    trellis.namespace(request.param)
    return request.param


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


def compile_with(backend, fn):
    """`fn` under the compiler of a backend, in the form that refuses to fall back to Python.

    NumPy has none: there `trellis.compile` runs the function, and must change nothing.
    """
    if backend == "numpy":
        return trellis.compile(fn)
    if backend == "jax":
        import jax

        return jax.jit(fn)
    if backend == "torch":
        import torch

        return torch.compile(fn, backend="eager", fullgraph=True)
    import tensorflow as tf

    return tf.function(fn)


@pytest.fixture(autouse=True)
def _defaults_stay():
    """A test that changes a default of the process fails here, not in the one after it."""
    before = trellis.current_backend(), trellis.default_dtype()
    yield
    assert (trellis.current_backend(), trellis.default_dtype()) == before
