"""HIPS autograd works beside a loaded Trellis, and neither takes the other's arrays for its own."""

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.test_util import check_grads

import trellis
from trellis.errors import ArgumentTypeError

X = np.array([0.5, 1.5, 2.5])


def test_autograd_is_as_it_was():
    trellis.grad(lambda x: trellis.sum(x * x))(X)  # the backend and its rules are loaded
    kinds = []

    def loss(x):
        kinds.append(type(x))
        return anp.sum(anp.sin(x) * x[0] * anp.linalg.norm(x))

    check_grads(loss, modes=["rev"], order=2)(X)
    assert set(kinds) == {ArrayBox, np.ndarray}  # the plain ones for finite differences


def test_autograds_functions_on_our_arrays():
    """They hand unknown arrays to NumPy's functions, which have rules here."""
    found = trellis.grad(lambda x: anp.sum(anp.sin(x) * x))(X)
    np.testing.assert_allclose(found, np.cos(X) * X + np.sin(X))


CALLS = {
    "one array": lambda x: trellis.tanh(x),
    "two arrays": lambda x: trellis.add(X, x),
    "list": lambda x: trellis.stack([X, x]),
    "asarray": lambda x: trellis.asarray(x),
    "stop_gradient": lambda x: trellis.stop_gradient(x),
    "functional": lambda x: trellis.functional.softmax(x),
    "nest": lambda x: trellis.tanh(trellis.Container(x=x)),
    "gradient": lambda x: trellis.grad(lambda y: trellis.sum(y * y))(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_autograds_arrays_are_refused(name):
    with pytest.raises(ArgumentTypeError, match="autograd"):
        autograd.grad(lambda x: anp.sum(CALLS[name](x)))(X)


def test_both_tapes_in_one_product_are_refused():
    def loss(x):
        return anp.sum(trellis.grad(lambda y: trellis.sum(y * x))(X))

    with pytest.raises(TypeError, match=r"trellis\.grad cannot differentiate"):
        autograd.grad(loss)(X)


def test_one_inside_the_other_on_its_own_arrays():
    cubes = autograd.grad(lambda y: anp.sum(y**3))
    found = trellis.grad(lambda x: trellis.sum(cubes(X) * x))(X)
    np.testing.assert_allclose(found, 3 * X**2)
