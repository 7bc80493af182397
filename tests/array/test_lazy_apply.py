"""`lazy_apply`: functions that no compiler can trace, eagerly and in compiled programs."""

import numpy as np
import pytest
import scipy.special

import trellis
from conftest import compile_with
from trellis import errors
from trellis.array_api import unwrap, wrap
from trellis.testing import assert_close

X = np.array([[3.0, 1.0], [0.5, 2.0]], "float32")


def sums_along(x, axis):
    """NumPy's alone: it fails for arrays of other frameworks, and for all that has no values."""
    assert type(x) is np.ndarray
    return np.cumsum(x, axis=axis)


def log_gamma(x):
    return scipy.special.gammaln(x)


def ordered(x):
    return np.sort(x)


def digamma(x):
    return scipy.special.psi(x)


def both(backend, fn, *args):
    """The results eagerly and compiled."""
    return fn(*args), compile_with(backend, fn, autograph=False)(*args)


def test_functions_of_numpy(backend, array):
    def fn(x):
        return trellis.lazy_apply(sums_along, x * 2, axis=1, as_numpy=True) + 1

    for found in both(backend, fn, array(X)):
        assert trellis.backend_of(found) == backend
        assert_close(found, np.cumsum(X * 2, axis=1) + 1, rtol=0, atol=0)  # exact in float32


def extremes(x, scale, missing, names):
    assert missing is None
    return [x.max(0) * scale, np.argmin(x), names]


def test_several_results_numbers_and_none(backend, array):
    def fn(x):
        return trellis.lazy_apply(
            extremes, x, 2.0, None, names=7, as_numpy=True,
            shape=[(2,), (), ()], dtype=["float32", "int64" if is_wide else "int32", "int32"],
        )  # fmt: skip

    is_wide = backend != "jax"  # JAX has 64 bits on demand only
    if not is_wide:
        with pytest.raises(errors.DtypeError, match="returned int64, where int32 was announced"):
            fn(array(X))
        return
    for peaks, place, number in both(backend, fn, array(X)):
        assert_close(peaks, np.array([6.0, 4.0], "float32"), rtol=0, atol=0)
        assert int(place) == 2 and int(number) == 7 and place.dtype != number.dtype


def test_functions_of_native_arrays(backend, array):
    """Without `as_numpy` the function gets arrays of the framework, with values."""

    def upside_down(x):
        assert trellis.backend_of(x) == backend and float(x[0, 0]) == 3.0
        return trellis.flip(x, axis=0)

    for found in both(backend, lambda x: trellis.lazy_apply(upside_down, x), array(X)):
        assert_close(found, X[::-1], rtol=0, atol=0)
    # Eagerly it is any other function, so its derivative is there.
    slope = trellis.grad(lambda x: trellis.sum(trellis.lazy_apply(trellis.square, x)))(array(X))
    assert_close(slope, 2 * X, rtol=0, atol=0)


def test_no_derivative_is_lost(backend, array):
    def loss(x):
        return trellis.sum(trellis.lazy_apply(log_gamma, x, as_numpy=True))

    for program in (trellis.grad(loss), trellis.compile(trellis.grad(loss))):
        with pytest.raises((errors.TracingError, errors.NotSupportedError), match="gradient"):
            program(array(X))


def test_a_derivative_of_ones_own(backend, array):
    fn = trellis.bind_custom_gradient_function(
        lambda x: trellis.lazy_apply(log_gamma, x, as_numpy=True),
        lambda xy, upstream: upstream * trellis.lazy_apply(digamma, xy[0], as_numpy=True),
    )
    program = trellis.grad(lambda x: trellis.sum(fn(x)))
    for found in both(backend, program, array(X)):
        assert_close(found, scipy.special.psi(X), rtol=1e-6)  # one rounding to float32


def test_vmap_and_wrapped_arrays(array):
    rows = trellis.vmap(lambda row: trellis.lazy_apply(np.cumsum, row, as_numpy=True))
    assert_close(rows(array(X)), np.cumsum(X, axis=1), rtol=0, atol=0)
    found = trellis.lazy_apply(sums_along, wrap(array(X)), axis=0, as_numpy=True)
    assert_close(unwrap(found), np.cumsum(X, axis=0), rtol=0, atol=0)


def test_what_was_not_announced_raises(array, backend):
    x = array(X)
    with pytest.raises(errors.ShapeError, match=r"shape \(\), where \(2, 2\) was announced"):
        trellis.lazy_apply(np.sum, x, as_numpy=True)
    with pytest.raises(errors.DtypeError, match="returned float64, where float32"):
        trellis.lazy_apply(lambda x: x.astype("f8"), x, as_numpy=True)
    with pytest.raises(errors.ShapeError, match="returned 1 results; shape= announced 2"):
        trellis.lazy_apply(lambda x: [x], x, shape=[(2, 2), (2, 2)], as_numpy=True)
    with pytest.raises(errors.ArgumentError, match="a data type for each shape; got 1 for 2"):
        trellis.lazy_apply(np.sum, x, shape=[(), ()], dtype=["float32"])
    with pytest.raises(errors.ArgumentTypeError, match="no array"):
        trellis.lazy_apply(np.sum, 2.0)
    with pytest.raises(errors.ArgumentTypeError, match=r"got \[1\]"):
        trellis.lazy_apply(np.sum, x, [1])
    # What has no type of its own gets the announced one; None is a size that is not known.
    assert float(trellis.lazy_apply(lambda x: 2, x, shape=(), as_numpy=True)) == 2.0
    found = trellis.lazy_apply(np.unique, x, shape=(None,), as_numpy=True)
    assert_close(found, np.unique(X), rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_compilers_that_must_know_the_shape(backend, array):
    program = trellis.compile(
        lambda x: trellis.lazy_apply(ordered, x, shape=(None,), as_numpy=True)
    )
    with pytest.raises(errors.ShapeError, match="shape= has None"):
        program(array(X[0]))


def test_errors_of_the_function_pass(array):
    def broken(x):
        raise LookupError("from inside")

    with pytest.raises(LookupError, match="from inside"):
        trellis.lazy_apply(broken, array(X), as_numpy=True)


def squares(x):
    return np.square(np.asarray(x))


def test_functions_that_answer_in_numpy(backend, array):
    """They take tensors of some frameworks, and their gradient would be lost in silence."""
    found = trellis.lazy_apply(squares, array(X))
    assert trellis.backend_of(found) == backend
    assert_close(found, X**2, rtol=0, atol=0)  # exact in float32
    # On JAX and torch NumPy's own conversion is refused, in their words.
    refused = (errors.TrellisError, TypeError, RuntimeError)
    with pytest.raises(refused, match=r"gradient|traced array|requires grad"):
        trellis.grad(lambda x: trellis.sum(trellis.lazy_apply(squares, x)))(array(X))
