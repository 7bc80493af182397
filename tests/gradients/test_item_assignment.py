"""`x[index] = value` inside gradients on NumPy: values as of ndarrays, and gradients of both."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy

import trellis
from traced_checks import check_gradient, total
from trellis.errors import TracingError

X = np.array([[0.31, 1.27, 0.74], [1.63, 0.52, 1.11]])
C = X + 1j * X[::-1]


def returning(fn):
    """`fn` writes into its first argument, a new array; what that is afterwards."""

    def run(x):
        y = x * 2.0
        other = fn(y, x)
        return [y] if other is None else [y, other]

    return run


def write(index, value):
    return lambda y, x: y.__setitem__(index, value(x))


def twice(y, x):
    y[0] = x[1] * 3.0
    y[:, 1] = y[:, 0] * y[:, 2]
    y[0] = y[0] * y[1]


def augmented(y, x):
    y[0] += x[1]
    y[:, 1] *= x[:, 0]
    y[y > 2.0] -= 1.0
    y[[0, 1], [2, 2]] /= x[0, :2]
    y[1, 1] **= 2


def whole(y, x):
    y[...] += x[0]
    y[...] *= y
    y[...] = y + 1.0


def same_name(y, x):
    z = y
    z[0, 0] = x[1, 1]
    z[...] += 1.0
    return y * z


def rows(y, x):
    for row in y:
        row[0] = row[1] * row[2]


def moved(y, x):
    y.T[0] = x[:, 1]
    y.reshape(3, 2)[1] = x[0, :2]
    y.flat[5] = x[0, 0] ** 2
    y.T.flat[1] = x[1, 2] ** 3
    y[::-1][0] *= x[0]
    np.flip(y, axis=1)[0, 0] = x[1, 0]
    y[:, None].swapaxes(0, 2)[0] += 1.0
    np.squeeze(y[None])[1, 1] *= 2.0


def view_written_after_its_array(y, x):
    view = y[0]
    y[0, 1] = x[1, 1]
    view[0] = x[1, 0]
    view[...] += 1.0


def of_a_copy(y, x):
    z = y.copy()
    z[0] = x[1]
    np.copy(y)[1] = 0.0
    y.astype(y.dtype)[0] = 0.0
    return z


def numbers(y, x):
    first = y[0, 0]
    second = first
    second += x[0, 1]
    return y[0] * first * second


WRITES = {
    "element": write((0, 1), lambda x: x[1, 1] ** 2),
    "constant": write((0, 1), lambda x: 5.0),
    "row": write(0, lambda x: x[1] ** 2),
    "negative row": write(-1, lambda x: x[0] ** 2),
    "column": write((slice(None), 1), lambda x: x[:, 0] ** 2),
    "broadcast": write((slice(None), slice(1, None)), lambda x: x[0, :2]),
    "one number": write(..., lambda x: x[0, 0] ** 2),
    "axes of size 1": write(0, lambda x: (x * x)[None, :1]),
    "steps": write((slice(None), slice(None, None, -2)), lambda x: x[:, :2]),
    "new axis": write((None, 0), lambda x: x[1:] * 3.0),
    "mask": write(X > 1.0, lambda x: (x * x)[X > 1.0]),
    "mask, number": write(X > 1.0, lambda x: x[0, 0] ** 2),
    "mask of rows": write(np.array([True, False]), lambda x: x[1] ** 2),
    "places": write(([0, 1], [2, 0]), lambda x: x[0, :2] ** 2),
    "one place twice": write(([0, 0], [2, 2]), lambda x: x[0, :2] ** 2),
    "list": write(0, lambda x: [x[1, 0], 2.0, x[1, 2]]),
    "nothing": write(slice(0, 0), lambda x: x[:0]),
    "twice": twice,
    "augmented": augmented,
    "whole": whole,
    "same name": same_name,
    "rows": rows,
    "moved": moved,
    "view written after its array": view_written_after_its_array,
    "copy": of_a_copy,
    "numbers": numbers,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_values_and_gradients(name):
    """`check_gradient` compares with plain NumPy and with finite differences."""
    check_gradient(returning(WRITES[name]), X)


@pytest.mark.parametrize("name", WRITES)
def test_second_derivatives(name):
    fn = returning(WRITES[name])
    check_gradient(trellis.grad(lambda x: total([y**3 for y in fn(x)])), X, tolerance=1e-4)


@pytest.mark.parametrize("name", WRITES)
def test_float32_stays(name):
    x, fn = X.astype("float32"), returning(WRITES[name])
    types = []

    def loss(x):
        types.extend([y.dtype for y in fn(x)])
        return total(fn(x))

    assert trellis.grad(loss)(x).dtype == "float32"
    assert set(types) == {np.dtype("float32")}


def test_of_complex_numbers():
    def fn(x):
        y = x * (1 + 2j)
        y.real[0] = x[1] ** 2
        y.imag[1] += x[1]
        y[1, 1] = x[0, 0] * 1j
        return y

    check_gradient(fn, X)


def test_the_argument_itself():
    """The caller's array keeps its values; the gradient is by what came in."""
    x = X.copy()

    def loss(x):
        x[0] = x[1] * x[1]
        return np.sum(x)

    gradient = trellis.grad(loss)(x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(gradient, np.stack([np.zeros(3), 1 + 2 * X[1]]))


def test_view_taken_before_keeps_its_elements():
    """The one difference from NumPy, which the docstring tells."""

    def fn(x):
        y = x * 2.0
        view = y[0]
        y[0] = 0.0
        return np.sum(view), np.sum(y[0])

    assert trellis.grad(lambda x: fn(x)[0])(X)[0].tolist() == [2.0, 2.0, 2.0]
    assert not trellis.grad(lambda x: fn(x)[1])(X).any()


def test_inner_values_in_arrays_of_the_inner_function():
    def inner(y, x):
        z = x * 1.0  # of the outer gradient
        z[0] = y * y
        return np.sum(z * z)

    def outer(x):
        return trellis.grad(inner)(x[1], x) * x[0]

    # d/dy (y**4 + x1**2 ...) at y = x1 is 4 * x1**3, times x0.
    found = trellis.grad(outer)(np.array([2.0, 3.0]))
    np.testing.assert_allclose(found, [4 * 27.0, 12 * 9.0 * 2.0])


def test_inner_values_must_not_stay_outside():
    def outer(x):
        kept = x * 1.0

        def inner(y):
            kept[0] = y * y
            return np.sum(kept)

        trellis.grad(inner)(x[1])
        return np.sum(kept)

    with pytest.raises(TracingError, match="inner gradient function that has ended"):
        trellis.grad(outer)(np.array([2.0, 3.0]))


def test_mistakes_are_those_of_numpy():
    with pytest.raises(IndexError):
        trellis.grad(lambda x: x.__setitem__(5, 1.0))(X)
    with pytest.raises(ValueError, match="broadcast"):
        trellis.grad(lambda x: x.__setitem__(0, np.ones(2)))(X)
    with pytest.raises(TypeError):
        trellis.grad(lambda x: x[0, 0].__setitem__(0, 1.0))(X)


# Code of others that writes so --------------------------------------------------------------------


@pytest.mark.parametrize("update", ["set", "add", "multiply", "min"])
@pytest.mark.parametrize("copy", [None, True, False])
def test_array_api_extra(update, copy):
    from sklearn.externals.array_api_extra import at

    def fn(x):
        y = x * 2.0
        return [getattr(at(y, X > 1.0), update)(x[0, 1] ** 2, copy=copy), y]

    check_gradient(fn, X)


SCIPY = """
import numpy as np
import scipy.special, scipy.stats
import trellis
from traced_checks import check_gradient

x = np.array([[0.3, 1.2, -0.5], [2.0, 0.1, 0.7]])
check_gradient(lambda x: scipy.special.logsumexp(x, axis=1), x)
check_gradient(lambda x: scipy.stats.zscore(x, axis=1), x)
"""


@pytest.mark.skipif(
    tuple([int(n) for n in scipy.__version__.split(".")[:2]]) < (1, 15),
    reason="older versions of SciPy turn their arguments into plain arrays",
)
def test_scipy():
    """Its functions ask for the namespace of an array where this variable was set before."""
    here = os.path.dirname(os.path.dirname(__file__))
    path = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", SCIPY], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
