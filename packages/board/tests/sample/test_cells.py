"""One test for every kind of cell; the name of a test says what its cells must show."""

import pathlib
import unittest
import warnings

import numpy as np
import pytest
from arrays import asarray, double
from numpy.testing import assert_allclose


def test_success_by_assert(backend):
    assert double(asarray([1.0], backend)).shape is not None


def test_success_by_numpy_testing(backend):
    result = double(asarray([1.0, 2.0], backend))
    assert_allclose(result, [2.0, 4.0])


def test_success_after_conversion(backend):
    result = double(asarray([1.0, 2.0], backend))
    assert_allclose(np.asarray(result), np.array([2.0, 4.0]))


def test_success_by_raises(backend):
    with pytest.raises(ZeroDivisionError):
        1 / 0  # noqa: B018


def test_success_by_warns(backend):
    with pytest.warns(ResourceWarning):
        warnings.warn("as announced", ResourceWarning, stacklevel=1)


def test_failure(backend):
    assert double(asarray([1.0], backend)) is None, "<b>bold</b> claim & 'quotes'"


def test_skipped(backend):
    pytest.skip("this machine has no such device")


@pytest.mark.xfail(reason="known bug 12", strict=True)
def test_xfailed(backend):
    assert backend == "never"


@pytest.mark.xfail(reason="fixed meanwhile", strict=True)
def test_failure_because_xfail_passed(backend):
    assert backend


@pytest.mark.xfail(reason="flaky driver")
def test_success_although_xfail(backend):
    assert backend


def test_hollow_early_return(backend):
    if backend:
        return
    assert double(asarray([1.0], backend)) is not None


def test_hollow_result_thrown_away(backend):
    np.allclose(double(asarray([1.0], backend)), [2.0])


def test_foreign_arrays(backend):
    """Whatever the cell says, only NumPy is used: fine for numpy, hollow for torch."""
    assert_allclose(double(np.array([1.0])), [2.0])


@pytest.mark.parametrize("size", [1, 3])
def test_parametrised(backend, size):
    assert size


@pytest.fixture
def broken_setup():
    raise OSError("no such device")


def test_error_in_setup(backend, broken_setup):
    assert backend


@pytest.fixture
def broken_teardown():
    yield
    raise OSError("cannot close")


def test_error_in_teardown(backend, broken_teardown):
    assert backend


@pytest.mark.board(module="shared", row="test_row_of_two")
@pytest.mark.parametrize("case", ["good", "bad"])
def test_two_cases_one_row(backend, case):
    assert case == "good" or backend == "numpy"


def test_needs_rerun(backend, tmp_path_factory):
    """Fails at the first attempt and passes at the second."""
    seen = pathlib.Path(f"seen-{backend}")
    first = not seen.exists()
    seen.touch()
    assert not first


def test_without_backend():
    assert 1 == 1


class TestInClass(unittest.TestCase):
    def test_by_unittest(self):
        self.assertEqual(1 + 1, 2)  # noqa: PT009

    def test_hollow_by_unittest(self):
        pass
