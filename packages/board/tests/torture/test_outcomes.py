"""Everything that can happen to a test. `test_torture.py` says what each cell must show."""

import doctest
import enum
import time
import unittest
import warnings
from unittest import mock

import checks
import numpy as np
import pytest

BACKENDS = ("numpy", "torch")
both = pytest.mark.parametrize("backend", BACKENDS)


# Classes.


@both
class TestPlain:
    def test_method(self, backend):
        assert backend

    class TestInner:
        def test_inner(self, backend):
            assert backend == "numpy"


class TestUnit(unittest.TestCase):
    def assertNear(self, a, b):
        if abs(a - b) > 1:
            raise self.failureException("too far")

    def test_own_method(self):
        self.assertNear(1, 2)

    def test_no_method(self):
        str(self)

    def test_all_subtests_pass(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertGreaterEqual(i, 0)  # noqa: PT009

    def test_one_subtest_fails(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)  # noqa: PT009

    def test_one_subtest_is_skipped(self):
        for i in range(3):
            with self.subTest(i=i):
                if i == 1:
                    self.skipTest("not this one")
                self.assertGreaterEqual(i, 0)  # noqa: PT009

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.assertEqual(1, 2)  # noqa: PT009

    @unittest.skip("no such device")
    def test_skipped_by_unittest(self):
        raise AssertionError


# Subtests of pytest.


@both
def test_subtests_pass(backend, subtests):
    for i in range(2):
        with subtests.test(i=i):
            assert i >= 0


@both
def test_a_subtest_fails(backend, subtests):
    for i in range(2):
        with subtests.test(i=i):
            assert backend == "numpy" or i == 0
    assert True is not False


@both
def test_a_subtest_is_skipped(backend, subtests):
    for i in range(2):
        with subtests.test(i=i):
            if i == 1:
                pytest.skip("not this one")
            assert i == 0


@both
def test_subtests_compare_nothing(backend, subtests):
    with subtests.test("idle"):
        str(backend)


# Names of parameters.


class Kind(enum.Enum):
    NUMPY = 1
    TORCH = 2


@pytest.mark.parametrize("backend", list(Kind), ids=lambda kind: kind.name.lower())
@pytest.mark.parametrize("size", [1, 2])
def test_enum_with_ids(backend, size):
    assert backend in Kind


def make_numpy():
    return "numpy"


def make_torch():
    return "torch"


@pytest.mark.parametrize("size", ["a-b", "x[0]", "torch"])
@pytest.mark.parametrize("backend", [make_numpy, make_torch], ids=["numpy", "torch"])
def test_functions_with_ids(backend, size):
    assert backend() == "numpy"


@pytest.mark.parametrize("backend", ["torch-cpu", "pandas[pyarrow]", "numpy"])
@pytest.mark.parametrize("axis", ["0-1", "[]"])
def test_ids_with_dashes_and_brackets(axis, backend):
    assert axis


@pytest.mark.parametrize("value,backend,more", [(1, "numpy", "x-y"), (1, "torch", "x-y")])
def test_several_arguments_at_once(value, backend, more):
    assert value == 1


@pytest.mark.parametrize(
    "backend,value", [pytest.param("numpy", 1, id="np"), pytest.param("torch", 1, id="pt")]
)
def test_ids_without_the_backend(backend, value):
    assert value == 1


@pytest.mark.parametrize("backend", [object(), object()])  # noqa: PT014
def test_nameless_backends(backend):
    assert backend is not None


@pytest.mark.parametrize("backend", [])
def test_no_backend_at_all(backend):
    assert backend


@both
@pytest.mark.parametrize("value", [])
def test_no_value_at_all(backend, value):
    assert value


# Marks.


@both
@pytest.mark.xfail(reason="known")
def test_xfail(backend):
    assert backend == "numpy"


@both
@pytest.mark.xfail(reason="known", strict=True)
def test_xfail_strict(backend):
    assert backend == "numpy"


@both
@pytest.mark.xfail(reason="known", run=False)
def test_xfail_not_run(backend):
    raise SystemExit


@both
@pytest.mark.xfail(raises=ValueError, strict=True, reason="known")
def test_xfail_for_another_reason(backend):
    raise KeyError(backend)


@both
def test_xfail_by_hand(backend):
    pytest.xfail("known since today")


@pytest.mark.skip(reason="not today")
@both
def test_skip(backend):
    assert backend


@both
def test_skip_on_one(backend):
    if backend == "torch":
        pytest.skip("torch cannot")
    assert backend


# Fixtures.


@pytest.fixture
def breaks_before(backend):
    if backend == "torch":
        raise OSError("cannot open")


@pytest.fixture
def breaks_after(backend):
    yield
    if backend == "torch":
        raise OSError("cannot close")


@both
def test_setup_error(backend, breaks_before):
    assert backend


@both
def test_teardown_error(backend, breaks_after):
    assert backend


@both
def test_failure_and_teardown_error(backend, breaks_after):
    assert backend == "numpy"


@pytest.fixture
def skips(backend):
    if backend == "torch":
        pytest.skip("no torch here")


@both
def test_skip_in_setup(backend, skips):
    assert backend


# Attempts and time.

seen = set()


@both
@pytest.mark.flaky(reruns=2)
def test_second_attempt(backend):
    first = backend not in seen
    seen.add(backend)
    assert not first


@pytest.mark.timeout(0.2, method="signal")
@both
def test_too_slow(backend):
    if backend == "torch":
        time.sleep(5)
    assert backend


# What counts as a comparison.


@both
def test_by_guard(backend):
    if not backend:
        pytest.fail("no backend")


@both
def test_by_guard_in_a_helper(backend):
    checks.check_by_raising(backend)


@both
def test_by_assert_in_a_helper(backend):
    checks.check_by_asserting(backend)


@both
def test_by_expression(backend):
    backend or pytest.fail("no backend")


@both
def test_by_exception_that_does_not_come(backend):
    try:
        str(backend)
    except ValueError:
        pytest.fail("str() raised")


@both
def test_by_doctests(backend):
    doctest.testmod(checks, raise_on_error=True)


@both
def test_by_mock(backend):
    called = mock.Mock()
    called(backend)
    called.assert_called_once_with(backend)


@both
def test_by_warnings_of_numpy(backend):
    with np.testing.assert_no_warnings():
        str(backend)


@both
def test_by_no_warning(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        str(backend)


@both
def test_doctest_result_dropped(backend):
    doctest.testmod(checks)


@both
def test_answer_dropped(backend):
    np.array_equal([1], [1])


@both
def test_unreached_assert(backend):
    if backend == "":
        assert backend == "never"


@both
def test_assert_in_teardown_only(backend, asserts_after):
    str(backend)


@pytest.fixture
def asserts_after():
    yield
    assert True is not False


@both
def test_sparse(backend):
    """An array whose class has no `shape`: its instances have."""
    result = checks.Sparse([1.0]) if backend == "torch" else np.ones(1)
    np.testing.assert_allclose(np.asarray(result), np.ones(1))


@both
def test_wrapped(backend):
    """The array of the backend is inside of an object."""
    frame = checks.Frame(checks.Sparse([1.0]) if backend == "torch" else np.ones(1))
    np.testing.assert_allclose(frame.to_numpy(), np.ones(1))


@both
def test_never_on_the_backend(backend):
    result = np.ones(1)
    np.testing.assert_allclose(result, np.ones(1))
