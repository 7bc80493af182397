import numpy as np
import pytest
import softneighbours

import trellis
from trellis.testing import assert_close, check_gradients

X, Y, AT = [[0.0], [1.0], [3.0]], [1.0, 2.0, -1.0], [[0.5], [2.0]]


def expected(x, y, at, bandwidth):
    """The formula, in NumPy and float64."""
    x, y, at = np.array(x), np.array(y), np.array(at)
    heights = np.exp(-np.sum((at[:, None] - x[None]) ** 2, axis=-1) / (2 * bandwidth**2))
    return heights @ y / heights.sum(axis=-1)


@pytest.mark.parametrize("bandwidth", [0.5, 1.0, 2.0])
def test_values(make_array, backend, bandwidth):
    x, y, at = make_array(X), make_array(Y), make_array(AT)
    got = softneighbours.regress(x, y, at, bandwidth=bandwidth)
    assert_close(got, expected(X, Y, AT, bandwidth), dtype="float32", backend=backend)


def test_compiled_is_the_same(make_array, backend):
    args = make_array(X), make_array(Y), make_array(AT)
    compiled = trellis.compile(softneighbours.regress)
    assert_close(compiled(*args), expected(X, Y, AT, 1.0), dtype="float32", backend=backend)


@pytest.mark.usefixtures("x64")  # finite differences need float64
def test_gradients(make_array, backend):
    check_gradients(softneighbours.regress, (make_array(X), make_array(Y), make_array(AT)))


def test_weights_sum_to_one(make_array, backend):
    found = softneighbours.weights(make_array(X), make_array(AT), bandwidth=0.1)
    assert_close(trellis.sum(found, axis=-1), [1.0, 1.0], backend=backend)


@pytest.mark.usefixtures("x64")
def test_a_grid_has_the_default_type_of_the_library(make_array, backend):
    y = make_array(Y)
    points = softneighbours.grid(0.0, 1.0, 3, like=y)
    assert_close(points, [[0.0], [0.5], [1.0]], dtype="float64", backend=backend)
    assert_close(make_array([0.5]), [0.5], dtype="float32")  # that of the program is as it was
