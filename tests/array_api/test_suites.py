"""The runner of other libraries' tests over wrapped arrays: one file of SciPy, in a process."""

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "ecosystem"


@pytest.fixture
def suites(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    yield __import__("suites")
    sys.modules.pop("suites")


def test_a_file_of_scipy_over_wrapped_arrays(backend, suites):
    # SciPy's list has it, and wrapped arrays take its place; before 1.17 its tests differ.
    pytest.importorskip("array_api_strict")
    pytest.importorskip("scipy", minversion="1.17")
    total, failures = suites.run("scipy.fft.tests.test_helper", backend)
    assert failures == {}
    assert total["passed"] >= 20  # all of them: the file has 21 in SciPy 1.17


def test_unknown_suites_are_named(suites):
    with pytest.raises(SystemExit, match=r"no suite 'scipy\.nothing'"):
        suites.run("scipy.nothing", "numpy")
