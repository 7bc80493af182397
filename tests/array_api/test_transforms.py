"""Gradients, `vmap` and compilers pass through wrapped arrays; values that would lose them do not
leave."""

import numpy as np
import pytest

import trellis
from trellis.array_api import WrappedArray, unwrap, wrap
from trellis.errors import TracingError

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")


def written(x):
    """Writes by index, by mask and in place; its gradient is 8 x in row 1, and 0 elsewhere."""
    x[0] = x[1]
    x[x > 1e6] = 0.0
    x += x
    x = x[::-1]
    return trellis.sum(x[0] * x[0])


GRADIENT = np.array([[0.0, 0.0, 0.0], 8 * X[1]])


def values(x):
    return trellis.interchange.to_numpy(unwrap(x))


def test_gradient_through_writing(array):
    value, found = trellis.value_and_grad(written)(wrap(array(X)))
    assert isinstance(value, WrappedArray)
    assert isinstance(found, WrappedArray)
    assert float(value) == 4 * float((X[1] * X[1]).sum())  # integers: exact
    assert np.array_equal(values(found), GRADIENT)


def test_native_arguments_wrapped_inside(array):
    found = trellis.grad(lambda x: written(wrap(x)))(array(X))
    assert not isinstance(found, WrappedArray)
    assert np.array_equal(values(found), GRADIENT)


def test_pytrees_and_second_derivatives(array):
    tree = {"a": wrap(array(X)), "b": 2.0}
    found = trellis.grad(lambda t: trellis.sum(t["a"] ** 3) * t["b"])(tree)
    assert np.array_equal(values(found["a"]), 6 * X**2)
    rows = trellis.hessian(lambda x: trellis.sum(x * x * x))(wrap(array(X[0])))
    assert np.array_equal(values(rows), np.diag(6 * X[0]))


def test_forward_mode_and_vmap(array):
    x = wrap(array(X))
    out, pushed = trellis.jvp(lambda x: x[:, ::-1] * x, (x,), (x,))
    assert np.array_equal(values(out), X[:, ::-1] * X)
    assert np.array_equal(values(pushed), 2 * X[:, ::-1] * X)
    mapped = trellis.vmap(lambda row: row[::-1] + 1)(x)
    assert isinstance(mapped, WrappedArray)
    assert np.array_equal(values(mapped), X[:, ::-1] + 1)


def test_compiled(array):
    def step(x, y):
        x[0] = y[1] * 2
        x += y[::-1, :]
        return {"x": x, "sum": trellis.sum(x)}

    expected = np.array([X[1] * 3, X[0] + X[1]])
    found = trellis.compile(step)(wrap(array(X)), wrap(array(X)))
    assert isinstance(found["x"], WrappedArray)
    assert np.array_equal(values(found["x"]), expected)
    assert float(found["sum"]) == expected.sum()


def test_gradient_inside_a_compiled_function(array):
    found = trellis.compile(trellis.grad(written))(wrap(array(X)))
    assert np.array_equal(values(found), GRADIENT)


def test_wrapped_inside_a_native_compiler(compiled, array):
    """jax.jit, torch.compile and tf.function see native arrays only, and warn of nothing."""

    def step(x, places):
        x, places = wrap(x), wrap(places)
        x[0] = x[1]
        x += x[::-1, :]
        return unwrap(trellis.sum(x[places] * x.T[0, 0]))

    # The rows are both [8, 10, 12] then, and one of them is taken twice.
    places = np.array([1, 1], "int32")
    found = compiled(step)(array(X), array(places))
    assert float(found) == 8 * 2 * (8 + 10 + 12)


LEAVING = {
    "a NumPy array": lambda x: x * np.asarray(x),
    "a NumPy function": lambda x: x * np.sqrt(x),
    "float": lambda x: x * float(x[0, 0]),
    "int": lambda x: x * int(x[0, 0]),
    "complex": lambda x: x * abs(complex(x[0, 0])),
    "DLPack": lambda x: x * wrap(np.from_dlpack(x)),
    "another framework": lambda x: x * trellis.to_backend(x, "numpy"),
}


@pytest.mark.parametrize("way", LEAVING)
def test_values_that_would_lose_a_gradient_do_not_leave(way, backend, array):
    if (way, backend) == ("another framework", "numpy"):
        way = "float"  # it is NumPy: nothing leaves
    with pytest.raises(TracingError):
        trellis.grad(lambda x: trellis.sum(LEAVING[way](x)))(wrap(array(X)))


MADE = {
    "asarray": (lambda xp, x: xp.asarray([[x[0, 0], 1.0], [x[0, 1], x[0, 0]]]), [2, 1, 0]),
    "full": (lambda xp, x: xp.full((4,), x[0, 1]), [0, 4, 0]),
    "full_like": (lambda xp, x: xp.full_like(x[0], x[0, 2]), [0, 0, 3]),
    "arange": (lambda xp, x: xp.arange(x[0, 0], x[0, 2]), None),
    "linspace": (lambda xp, x: xp.linspace(x[0, 0], x[0, 2], 3), None),
}


@pytest.mark.parametrize("name", MADE)
def test_new_arrays_keep_a_gradient_or_raise(name, array):
    make, expected = MADE[name]

    def made(x):
        return trellis.sum(make(x.__array_namespace__(), x))

    if expected is None:
        with pytest.raises(TracingError):
            trellis.grad(made)(wrap(array(X)))
        assert float(made(wrap(array(X)))) == {"arange": 1 + 2, "linspace": 1 + 2 + 3}[name]
    else:
        found = trellis.grad(made)(wrap(array(X)))
        assert np.array_equal(values(found), [expected, [0, 0, 0]])


def test_integers_and_decisions_have_no_gradient_to_lose(array):
    def chosen(x):
        place = int(trellis.argmax(x[0]))
        assert x[0, place] > 0
        return x[0, place] ** 2 if bool(x[0, 0] > 0) else x[1, 0]

    found = trellis.grad(chosen)(wrap(array(X)))
    assert np.array_equal(values(found), [[0, 0, 6], [0, 0, 0]])


def test_what_is_cut_on_purpose_may_leave(array):
    def scaled(x):
        size = float(trellis.max(trellis.stop_gradient(x)))
        return trellis.sum(x / size)

    found = trellis.grad(scaled)(wrap(array(X)))
    assert np.allclose(values(found), 1 / 6, rtol=1e-7)  # one rounding of 1/6


def test_custom_gradients_may_leave(array):
    """The function computes in NumPy; its derivative is what was given for it."""

    def on_host(x):
        xp = x.__array_namespace__()
        return xp.asarray(np.asarray(x) ** 2)

    square = trellis.bind_custom_gradient_function(on_host, lambda xy, g: 2 * xy[0] * g)
    found = trellis.grad(lambda x: trellis.sum(square(x)))(wrap(array(X)))
    assert np.array_equal(values(found), 2 * X)
