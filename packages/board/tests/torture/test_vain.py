"""Checks that cannot fail, and some that only look as if they could not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal

both = pytest.mark.parametrize("backend", ["numpy", "torch"])


def compute():
    return np.ones(2)


@both
def test_a_constant(backend):
    compute()
    assert True


@both
def test_a_constant_and_a_message_that_was_meant_to_be_compared(backend):
    assert 17, compute().sum() == 3


@both
def test_an_array_beside_itself(backend):
    gradient = compute()
    assert_allclose(
        gradient,
        gradient,
        rtol=1e-6,
    )


@both
def test_all_of_nothing(backend):
    assert all(x > 1 for x in compute() if x > 5)


@both
def test_all_of_no_list(backend):
    assert all([x > 1 for x in ()])


@both
def test_all_in_a_branch_that_is_not_taken(backend):
    if compute().sum() > 5:
        assert all(x > 1 for x in compute())


# From here on: real checks.


@pytest.mark.parametrize("backend", ["numpy"])
def test_all_of_something(backend):
    assert all(x == 1 for x in compute())


@pytest.mark.parametrize("backend", ["numpy"])
def test_all_of_a_list_with_a_name(backend):
    assert all([(last := x) == 1 for x in compute()]), last


@both
def test_no_number_differs_from_itself(backend):
    value = compute().sum()
    assert value == value


@pytest.mark.parametrize("backend", ["numpy"])
def test_not_a_number_is_not_equal(backend):
    array = compute()
    assert_allclose(array, array, equal_nan=False)


@pytest.mark.parametrize("backend", ["numpy"])
def test_the_same_twice(backend):
    assert_allclose(compute(), compute())


@pytest.mark.parametrize("backend", ["numpy"])
def test_the_same_object_by_two_names(backend):
    out = compute()
    returned = np.add(out, 1, out=out)
    assert_equal(returned, out)


class Version:
    def __eq__(self, other):
        return isinstance(other, Version)


@both
def test_a_class_that_says_what_is_equal(backend):
    version = Version()
    assert_equal(version, version)


@both
def test_reached_or_not(backend):
    try:
        raise KeyError(backend)
    except KeyError:
        assert True
    else:
        assert False  # noqa: PT015


@both
def test_told_by_an_exception_of_another_kind(backend):
    if compute().sum() == 2:
        assert True
    else:
        raise ValueError(backend)
