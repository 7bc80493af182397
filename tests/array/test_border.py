"""`array_namespace` and its relatives, and gradients beside what a function must not see."""

import numpy as np
import pytest

import trellis
from trellis import testing


def test_the_namespace_of_arrays_numbers_and_none(backend, array, xp):
    x = array(np.ones(2, "float32"))
    assert trellis.array_namespace(x, None, 2.0, x, True) is xp
    assert trellis.array_namespace(x, api_version="2024.12") is xp
    assert trellis.namespace(backend, api_version="2025.12") is xp
    assert trellis.namespace(x, api_version="2021.12") is xp
    for ask in (trellis.namespace, trellis.array_namespace):
        with pytest.raises(trellis.errors.ArgumentError, match=r"version 2025\.12"):
            ask(x, api_version="2026.12")
    assert trellis.is_array(x)
    asked = {
        name: getattr(trellis, f"is_{name}_array")(x)
        for name in ("numpy", "jax", "torch", "tensorflow")
    }
    assert asked == {name: name == backend for name in asked}


@pytest.mark.parametrize(
    "value", [2.0, True, None, [1.0], (1,), {"a": 1}, "a", object(), np.ndarray]
)
def test_what_is_no_array(value):
    assert not trellis.is_array(value)
    assert not trellis.is_numpy_array(value)


def test_namespaces_that_are_not_there():
    with pytest.raises(trellis.errors.ArgumentTypeError, match="at least one array"):
        trellis.array_namespace(None, 1.0)
    with pytest.raises(trellis.errors.ArgumentError, match=r"got '2031.12'"):
        trellis.array_namespace(np.ones(1), api_version="2031.12")


def test_arrays_of_two_frameworks(backend, array):
    if backend == "numpy":
        pytest.skip("one of the two must be of another framework")
    with pytest.raises(trellis.errors.MixedBackendsError):
        trellis.array_namespace(array(np.ones(1, "float32")), np.ones(1))


@pytest.mark.parametrize("x", [[0.0, 2.0, -4.0], [0.0, 0.0]])
def test_apply_where_differentiates_only_what_was_chosen(x, backend, array):
    """`where(x == 0, 0, 1 / x)` has nan for the gradient at 0; so has a replacement by 1 of a
    function that is nan there."""

    def total(x):
        chosen = trellis.apply_where(x != 0, x, lambda x: 1 / x, fill_value=0.0)
        return trellis.sum(chosen)

    x = np.array(x, "float32")
    with np.errstate(divide="ignore"):
        expected = np.where(x == 0, 0, -1 / x**2)
        found = trellis.grad(total)(array(x))
    # One division and one product in float32.
    testing.assert_close(found, expected.astype("float32"), backend=backend, rtol=1e-6)


def test_elements_at_an_index(backend, array):
    x = array(np.arange(6.0, dtype="float32").reshape(2, 3))
    found = trellis.at(x, (1, slice(None))).get()
    testing.assert_close(found, np.array([3.0, 4.0, 5.0], "float32"), backend=backend)


@pytest.mark.parametrize(
    "index",
    [
        [2, 0, -1],
        (slice(None), [2, 0, 0]),
        ([2, 0], [1, 1]),
        (slice(None, None, -1), 1),
        np.array([True, False, True]),
    ],
    ids=str,
)
def test_elements_at_any_index(index, array):
    """TensorFlow has no index arrays, torch no negative steps: `get` has, with gradients."""

    def native(item):
        if isinstance(item, (slice, int)):
            return item
        found = np.asarray(item)
        return array(found if found.dtype == bool else found.astype("int32"))

    values = np.arange(12.0, dtype="float32").reshape(3, 4)
    key = tuple([native(x) for x in index]) if isinstance(index, tuple) else native(index)
    testing.assert_close(trellis.at(array(values), key).get(), values[index], rtol=0, atol=0)
    slope = trellis.grad(lambda x: trellis.sum(trellis.square(trellis.at(x, key).get())))
    expected = np.zeros_like(values)
    np.add.at(expected, index, 2 * values[index])
    testing.assert_close(slope(array(values)), expected, rtol=0, atol=0)  # whole numbers


@pytest.mark.parametrize(
    "index",
    [[2, 0], [True, False, True], np.int64(1), (1, np.int32(2)), np.array([[2], [0]])],
    ids=str,
)
def test_indices_that_are_no_arrays_of_the_framework(index, array):
    """TensorFlow takes a list for a tuple: `x[[2, 0]]` is one number there."""
    values = np.arange(12.0, dtype="float32").reshape(3, 4)
    found = trellis.at(array(values), index).get()
    testing.assert_close(found, values[index], rtol=0, atol=0)  # nothing is computed
