"""The pytest plugin `trellis.testing`: the tests of a library run on every backend.

    pytest -p trellis.testing

or `pytest_plugins = ["trellis.testing"]` in the library's outermost `conftest.py`. A test with the
argument `backend` then runs once for each backend, those of packages too; `make_array` makes arrays
of it. Nothing turns the plugin on by itself.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from typing import Any

# TensorFlow announces its build on standard error at every start otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest

from .._array.creation import asarray
from .._core.dispatch import backend_names, load
from .._core.host_fallback import using_host_fallback
from .._core.installed import backends
from .._core.typing import DTypeLike
from .strict import Inputs, forbid_transfers
from .wide import wide_types


def add_backend_option(parser: pytest.Parser | pytest.OptionGroup) -> None:
    """`--backend`, several times or with commas, for a suite that has it under no other meaning."""
    parser.addoption(
        "--backend",
        action="extend",
        type=_names,
        metavar="NAME",
        help="run only the tests of this backend (may be given several times, or with commas): "
        + ", ".join(backend_names()),
    )


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in backend_names():
            known = ", ".join(backend_names())
            raise argparse.ArgumentTypeError(f"no backend {name!r}; the backends are {known}")
    return names


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    if pluginmanager.has_plugin("trellis.conformance.plugin"):
        raise pytest.UsageError(
            "trellis.conformance tests a backend, trellis.testing a library: run pytest twice, "
            "once with each"
        )
    group = parser.getgroup("trellis", "tests of a library on the backends of Trellis")
    add_backend_option(group)
    group.addoption(
        "--strict-arrays",
        action="store_true",
        help="every test with the argument `backend` uses the fixture strict_arrays",
    )
    parser.addini(
        "trellis_backends",
        "the backends that the library supports; by default all that Trellis knows",
        type="args",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    for name in config.getini("trellis_backends"):
        if name not in backend_names():
            known = ", ".join(backend_names())
            raise pytest.UsageError(f"trellis_backends: no backend {name!r}; there are {known}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" not in metafunc.fixturenames or _is_given(metafunc):
        return
    asked = metafunc.config.getoption("--backend") or []
    names = list(dict.fromkeys(asked or metafunc.config.getini("trellis_backends")))
    rows = [_row(name, name in asked) for name in names or backend_names()]
    metafunc.parametrize("backend", rows, indirect=True)


def _is_given(metafunc: pytest.Metafunc) -> bool:
    """Whether the test names its backends itself, by `parametrize`."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        given = mark.args[0] if mark.args else mark.kwargs["argnames"]
        names = given.split(",") if isinstance(given, str) else given
        if "backend" in [name.strip() for name in names]:
            return True
    return False


def _row(name: str, is_asked: bool) -> Any:
    """A backend as a row. A missing one is skipped, unless the command names it."""
    info = backends(name)
    if is_asked or (info.is_installed and not info.problem):
        return name
    reason = info.problem or f"not installed: pip install '{info.distribution}'"
    return pytest.param(name, marks=pytest.mark.skip(reason=f"{name}: {reason}"))


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    if item.config.getoption("--strict-arrays"):
        names = getattr(item, "fixturenames", [])
        if "backend" in names and "strict_arrays" not in names:
            names.append("strict_arrays")


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """The name of a backend; the test runs on each that is installed."""
    name: str = request.param
    load(name)
    return name


@pytest.fixture
def _made_arrays(request: pytest.FixtureRequest) -> Iterator[Inputs | None]:
    """What make_array made, where the test is strict."""
    if "strict_arrays" not in request.fixturenames:
        yield None
        return
    inputs = Inputs()
    yield inputs
    inputs.check()


@pytest.fixture
def make_array(backend: str, _made_arrays: Inputs | None) -> Callable[..., Any]:
    """A function from numbers, lists and NumPy arrays to arrays of the backend:
    `make_array(values, dtype=None)`."""

    def make(values: Any, dtype: DTypeLike | None = None) -> Any:
        x = asarray(values, dtype=dtype, backend=backend)
        return x if _made_arrays is None else _made_arrays.keep(x, backend)

    return make


@pytest.fixture
def x64(backend: str) -> Iterator[None]:
    """The test has float64 and int64 on every backend: JAX has them only on demand."""
    with wide_types(backend):
        yield


@pytest.fixture
def strict_arrays(backend: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The test fails if the code under test writes into an array of `make_array`, gives an array
    to NumPy, or needs a function that the backend only has by way of NumPy."""
    forbid_transfers(backend, monkeypatch)
    with using_host_fallback(False):
        yield
