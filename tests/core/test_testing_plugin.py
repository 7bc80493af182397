"""`trellis.testing` as a plugin for the tests of other people's libraries."""

import operator
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis._testing.strict import Inputs, forbid_transfers
from trellis.testing import assert_close

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "examples" / "library"


def run(folder, *options):
    """pytest in a process of its own: its exit code and what it printed."""
    path = os.pathsep.join([str(Path(trellis.__file__).parents[1]), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


# The example ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.needs("numpy", "jax", "torch", "tensorflow")
def test_the_library_of_the_example_passes_on_four_backends():
    names = "numpy,jax,torch,tensorflow"
    code, text = run(LIBRARY, "--strict-arrays", "--backend", names)
    assert code == 0, text
    assert "28 passed" in text, text


def test_its_examples_in_docstrings_run():
    code, text = run(LIBRARY, "--doctest-modules", "src")
    assert code == 0, text
    assert "3 passed" in text, text


# Which backends a test runs on ------------------------------------------------------------------

TESTS = """
import pytest

def test_one(make_array, backend):
    assert type(make_array([1.0, 2.0])).__module__.startswith(backend)

@pytest.mark.parametrize("n, backend", [(1, "numpy"), (2, "numpy")], indirect=["backend"])
def test_given(n, backend):
    assert backend == "numpy"

def test_without():
    pass
"""
# As if NumPy were the only framework; importing the module first must not warn.
ALONE = """
from frameworks import hide_others
import trellis.testing

hide_others("numpy")
pytest_plugins = ["trellis.testing"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(ALONE)
    return tmp_path


def test_missing_frameworks_are_skipped_with_a_reason(folder):
    code, text = run(folder, "-W", "error")
    assert code == 0, text
    assert "4 passed" in text, text
    for name in ("jax", "torch", "tensorflow"):
        assert f"{name}: not installed: pip install 'trellis-ml[{name}]'" in text, text


def test_a_missing_framework_that_is_named_fails(folder):
    code, text = run(folder, "--backend", "numpy,torch", "--backend", "numpy")
    assert code == 1, text
    assert "1 error" in text and "test_one[torch]" in text and "4 passed" in text, text
    assert "pip install 'trellis-ml[torch]'" in text, text


def test_the_library_names_its_backends(folder):
    (folder / "pytest.ini").write_text("[pytest]\ntrellis_backends = numpy\n")
    code, text = run(folder)
    assert code == 0 and "4 passed" in text and "skipped" not in text, text
    (folder / "pytest.ini").write_text("[pytest]\ntrellis_backends = nump\n")
    code, text = run(folder)
    assert code == 4 and "trellis_backends: no backend 'nump'" in text, text


def test_unknown_backends_are_named(folder):
    code, text = run(folder, "--backend", "caffe")
    assert code == 4, text
    assert "no backend 'caffe'; the backends are numpy, jax, torch, tensorflow" in text, text


def test_it_does_not_run_together_with_the_conformance_kit(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    options = ("-p", "trellis.conformance", "-p", "trellis.testing", "--backend", "numpy")
    code, text = run(tmp_path, *options)
    assert code != 0 and "run pytest twice" in text, text


def test_it_is_off_unless_it_is_asked_for(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_one(make_array): pass")
    code, text = run(tmp_path)
    assert code == 1 and "fixture 'make_array' not found" in text, text


STRICT = """
import pytest

def write(x):
    x[0] = 5.0

@pytest.mark.usefixtures("strict_arrays")
def test_strict(make_array):
    write(make_array([1.0]))

def test_not_strict(make_array):
    write(make_array([1.0]))
"""


def test_strict_by_fixture_and_by_option(folder):
    (folder / "test_it.py").write_text(STRICT)
    code, text = run(folder, "--backend", "numpy")
    assert code == 1 and "1 failed, 1 passed" in text, text
    assert "assignment destination is read-only" in text, text
    code, text = run(folder, "--backend", "numpy", "--strict-arrays")
    assert code == 1 and "2 failed" in text, text


# What strict forbids ----------------------------------------------------------------------------

SILENT = {
    "asarray": np.asarray,
    "array": np.array,
    "sin": np.sin,
    "sum": np.sum,
    "concatenate": lambda x: np.concatenate([x, x]),
    "beside an array of NumPy": lambda x: np.ones(2, "float32") * x,
    "reduce": np.add.reduce,
    "mean": lambda x: np.mean(x, axis=0),
}


@pytest.mark.parametrize("name", SILENT)
def test_numpy_does_not_convert_silently(backend, array, name, monkeypatch):
    x = array([1.0, 2.0])
    if backend == "numpy":
        SILENT[name](x)
    with monkeypatch.context() as patch:
        forbid_transfers(backend, patch)
        if backend == "numpy":
            SILENT[name](x)  # nothing is transferred
            return
        # Looked up now, as a library does: `np.asarray` is another function meanwhile.
        call = getattr(np, name) if name in ("asarray", "array") else SILENT[name]
        with pytest.raises(AssertionError, match=f"got an array of {backend}, in .*test_testing"):
            call(x)
    assert np.asarray([1.0]).tolist() == [1.0]
    assert_close(np.asarray(trellis.to_numpy(x)), np.array([1.0, 2.0], "float32"))


def test_what_is_meant_still_works(backend, array, monkeypatch):
    x = array([1.0, 2.0])
    expected = np.array([1.0, 2.0], "float32")
    forbid_transfers(backend, monkeypatch)
    assert trellis.to_numpy(x).tolist() == [1.0, 2.0]
    assert_close(trellis.to_backend(x, "numpy"), expected)
    assert_close(trellis.sum(trellis.sin(x)), np.sin(expected).sum(), backend=backend)
    assert_close(trellis.grad(lambda v: trellis.sum(v * v))(x), 2 * expected, backend=backend)
    assert tuple(np.shape(x)) == (2,) and np.ndim(x) == 1
    assert float(x[1]) == 2.0
    assert np.asarray(expected) is expected


@pytest.mark.parametrize(
    "fn",
    [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt],
    ids=lambda fn: fn.__name__,
)
def test_numpy_scalars_still_defer_to_the_array(backend, array, fn, monkeypatch):
    x, number = array([1.0, 3.0]), np.float32(2.0)
    before = fn(number, x)
    forbid_transfers(backend, monkeypatch)
    after = fn(number, x)
    assert type(after) is type(before)
    assert_close(after, fn(2.0, np.array([1.0, 3.0], "float32")), backend=backend)


def test_writes_into_inputs_are_found(backend):
    """NumPy's own raise where they happen; torch's are found at the end of the test."""
    inputs = Inputs()
    x = inputs.keep(trellis.asarray([1.0, 2.0], backend=backend), backend)
    inputs.check()
    if backend == "numpy":
        with pytest.raises(ValueError, match="read-only"):
            x += 1
    elif backend == "torch":
        x += 1
        with pytest.raises(pytest.fail.Exception, match="was written to: it held"):
            inputs.check()
    else:
        x += 1  # another array
        inputs.check()
