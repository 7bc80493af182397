"""A function that uses nothing of what it is differentiated by raises; an honest zero is a zero."""

import numpy as np
import pytest

import trellis
from trellis import errors, nn
from trellis.testing import assert_close

HONEST_ZEROS = {
    "a step": lambda xp, x: xp.sum(xp.floor(x)),
    "a comparison": lambda xp, x: xp.sum(xp.astype(x > 0.5, "float32")),
    "a constant": lambda xp, x: xp.sum(trellis.stop_gradient(x)),
    "an index": lambda xp, x: xp.sum(xp.asarray([1.0, 2.0])[xp.argmax(x)]),
    "times zero": lambda xp, x: xp.sum(0.0 * x),
    "second derivative of a line": lambda xp, x: xp.sum(trellis.grad(lambda z: xp.sum(3 * z))(x)),
}


@pytest.mark.parametrize("name", HONEST_ZEROS)
def test_an_honest_zero(name, backend, xp, array):
    x = array([0.25, 0.75], "float32")
    gradient = trellis.grad(lambda x: HONEST_ZEROS[name](xp, x))(x)
    assert_close(gradient, np.zeros(2, "float32"), backend=backend)


def perceptron(backend):
    trellis.seed(0)
    return nn.Sequential(
        nn.Linear(3, 4, backend=backend), nn.Tanh(), nn.Linear(4, 1, backend=backend)
    )


def test_a_loss_that_forgets_the_variables(backend, array):
    model, x = perceptron(backend), array(np.ones((2, 3)), "float32")

    def forgetful(v):
        return trellis.mean(model(x) ** 2)

    for differentiate in (
        trellis.grad(forgetful),
        trellis.value_and_grad(forgetful),
        trellis.value_and_grad(lambda v: (forgetful(v), {"x": x}), has_aux=True),
        lambda v: trellis.execute_with_gradients(forgetful, v),
    ):
        with pytest.raises(errors.ArgumentError, match=r"layers/v0/b[^\n]*layers/v2/w[\s\S]*v=v"):
            differentiate(model.v)


def test_unused_on_purpose(backend, xp, array):
    x = array([1.0, 2.0], "float32")
    zeros = np.zeros(2, "float32")

    def constant(x):
        return xp.sum(xp.ones(3))

    assert_close(trellis.grad(constant, allow_unused=True)(x), zeros, backend=backend)
    assert_close(
        trellis.execute_with_gradients(constant, x, allow_unused=True)[1], zeros, backend=backend
    )
    # Of inputs that are no variables of a model, too.
    assert_close(trellis.grad(constant)(x), zeros, backend=backend)
    assert_close(trellis.execute_with_gradients(constant, x)[1], zeros, backend=backend)


def test_one_used_leaf_is_enough(backend, xp, array):
    x = array([1.0, 2.0], "float32")
    gradients = trellis.grad(lambda v: xp.sum(v["used"] ** 2))({"used": x, "other": x + 1})
    assert_close(gradients["used"], np.array([2.0, 4.0], "float32"), backend=backend)
    assert_close(gradients["other"], np.zeros(2, "float32"), backend=backend)
    first, second = trellis.grad(lambda a, b: xp.sum(b), argnums=(0, 1))(x, x)
    assert_close(first, np.zeros(2, "float32"), backend=backend)
    assert_close(second, np.ones(2, "float32"), backend=backend)


def test_looking_again_draws_nothing(backend, xp, array):
    """Whether a function uses its argument is found by calling it again, on a stream of its own."""
    x = array([1.0, 2.0], "float32")

    def draw():
        with trellis.using_backend(backend):
            return trellis.random_uniform(shape=2)

    def step(x):
        return xp.sum(draw() * xp.floor(x))

    trellis.seed(3)
    trellis.grad(step)(x)
    after = trellis.to_numpy(draw())
    trellis.seed(3)
    step(x)
    assert_close(draw(), after, backend=backend)


@pytest.mark.parametrize("backend", ["numpy", "jax", "tensorflow"])
def test_compiled(backend, array):
    """torch.compile does not know what a result depends on; `fit` looks before it compiles."""
    model, x = perceptron(backend), array(np.ones((2, 3)), "float32")
    step = trellis.compile(trellis.grad(lambda v: trellis.mean(model(x) ** 2)))
    with pytest.raises(errors.ArgumentError, match="v=v"):
        step(model.v)
