"""Tests that look like checks and are none, and the reverse; `test_truth.py` outside says which."""

import asyncio
import contextlib
from functools import partial

import installed_checks
import library
import numpy as np
import pytest
from numpy.testing import assert_allclose

import conftest

BACKENDS = ("numpy", "torch")
both = pytest.mark.parametrize("backend", BACKENDS)


@both
def test_only_the_library_checks(backend):
    library.solve(np.ones(2))


@both
def test_answer_dropped_beside_the_librarys_check(backend):
    np.allclose(library.solve(np.ones(2)), 2)


@pytest.mark.parametrize("backend", ["numpy"])
def test_its_own_check_counts(backend):
    np.testing.assert_allclose(library.solve(np.ones(2)), 2)


@pytest.mark.parametrize("backend", ["numpy"])
def test_a_check_that_was_handed_over(backend):
    library.tree_map(np.testing.assert_allclose, [np.ones(2)], [np.ones(2)])


@pytest.mark.parametrize("backend", ["numpy"])
def test_a_check_that_was_prepared(backend):
    library.tree_map(partial(assert_allclose, rtol=1e-3), [np.ones(2)], [np.ones(2)])


@pytest.mark.parametrize("backend", ["numpy"])
def test_a_check_in_a_lambda(backend):
    library.tree_map(lambda a, b: assert_allclose(a, b), [np.ones(2)], [np.ones(2)])


@both
def test_data_of_conftest_is_no_check(backend):
    library.solve(conftest.make_data())


@both
def test_a_check_of_conftest(backend):
    conftest.check_data(conftest.make_data())


@both
def test_a_check_that_a_fixture_returns(backend, checker):
    checker(backend)


@both
def test_an_installed_helper(backend):
    installed_checks.sane(backend)


@both
def test_unreached_sentinel(backend):
    with contextlib.suppress(ValueError):
        int(f"no number: {backend}")
        pytest.fail("it is no number")


@both
def test_unreached_end_of_a_function(backend):
    def work():
        int(f"no number: {backend}")
        pytest.fail("it is no number")

    with contextlib.suppress(ValueError):
        work()


@both
def test_unreached_end_of_a_function_that_nobody_calls(backend):
    def work():
        """Nothing."""
        pytest.fail("it was called")

    str(work)


class fail_after:
    """Stands for that of anyio and trio."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return None


@both
def test_in_time(backend):
    with fail_after(1):
        str(backend)


@both
def test_a_limit_that_a_task_enters(backend):
    def work(scope):
        with scope:
            str(backend)

    limit = fail_after(1)
    work(limit)


@both
def test_awaited_in_time(backend):
    async def work():
        await asyncio.wait_for(asyncio.sleep(0), 5)

    asyncio.run(work())


@both
def test_a_function_that_would_wait_is_not_called(backend):
    async def work():
        await asyncio.wait_for(asyncio.sleep(0), 5)

    str(work)


CASES = [
    (backend, name, (lambda name=name: name,))
    for backend in BACKENDS
    for name in ("sum", "prod", "sum", "max")
    if (backend, name) != ("torch", "prod")
]


@pytest.mark.parametrize("backend,fn,args", CASES)
def test_numbered_values(backend, fn, args):
    assert args[0]() == fn


@pytest.mark.parametrize("backend", [("numpy", "torch"), ("torch", "numpy")])
def test_pairs_of_backends(backend):
    assert len(backend) == 2


@pytest.mark.parametrize("backend", [("numpy_backend", {}), ("pytorch_backend", {})])
def test_backends_with_options(backend):
    assert backend


@both
def test_what_was_compared(backend):
    result = np.ones(2)
    assert result.shape == (2,)
    np.testing.assert_allclose(result, np.ones(2))
    np.testing.assert_allclose(result, np.ones(2))


@pytest.mark.parametrize("backend", ["pytorch"])
def test_a_name_that_is_an_alias(backend):
    np.testing.assert_allclose(np.ones(2), np.ones(2))


@pytest.mark.parametrize("backend", ["mine"])
def test_a_name_that_is_declared(backend):
    np.testing.assert_allclose(np.ones(2), np.ones(2))
