"""What the tests of the kit are given besides `backend`, the name of the one under test."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import trellis

from .._core.dispatch import BACKENDS
from .._testing.wide import wide_types
from .compilers import compile_with, forget_programs


@pytest.fixture
def xp(backend: str) -> Any:
    """The namespace of the backend."""
    return trellis.namespace(backend)


@pytest.fixture
def x64(backend: str) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """A function giving a context with 64-bit types: JAX must be asked for them."""
    return functools.partial(wide_types, backend)


@pytest.fixture
def array(backend: str) -> Callable[..., Any]:
    """A function from Python numbers or NumPy arrays to arrays of the backend.

    NumPy's are read-only, so that a function that writes into its input fails here.
    """

    # Not asked of the others: Dynamo, which may trace a call of this, cannot.
    has_all_types = backend in BACKENDS

    def make(values: Any, dtype: Any = None) -> Any:
        if isinstance(values, np.ndarray):
            x = np.array(values, dtype)
        else:
            x = np.asarray(trellis.namespace("numpy").asarray(values, dtype=dtype))
        if not has_all_types and x.dtype.name not in trellis.namespace(backend).TYPES:
            pytest.skip(f"{x.dtype.name} is none of its types")
        if backend == "numpy":
            x.setflags(write=False)
        return trellis.namespace(backend).from_numpy(x)

    return make


@pytest.fixture
def compiled(backend: str) -> Callable[..., Any]:
    """A function that compiles another with the compiler of the backend."""
    forget_programs(backend)
    return lambda fn: compile_with(backend, fn)


@pytest.fixture(autouse=True)
def _defaults_stay() -> Iterator[None]:
    """A test that changes a default of the process fails here, not in the one after it."""
    before = trellis.current_backend(), trellis.default_dtype()
    yield
    assert (trellis.current_backend(), trellis.default_dtype()) == before


@pytest.fixture(autouse=True, scope="module")
def _dynamo_resets() -> Iterator[None]:
    """Dynamo limits how often one function is compiled, over all tests of a process."""
    yield
    if "torch._dynamo" in sys.modules:
        forget_programs("torch")
