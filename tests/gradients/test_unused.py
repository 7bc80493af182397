"""A function that uses nothing of what it is differentiated by raises; an honest zero is a zero."""

import functools

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


def test_the_error_names_the_function_and_counts_what_it_does_not_show(array):
    v = trellis.Container({f"w{i}": array([1.0]) for i in range(9)})

    def forgetful(v):
        return trellis.sum(array([2.0]))

    for differentiate in (
        trellis.grad(forgetful),
        lambda v: trellis.execute_with_gradients(forgetful, v),
    ):
        with pytest.raises(errors.ArgumentError, match=r"forgetful\(\)[\s\S]* and \d more"):
            differentiate(v)


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


def test_compiled(backend, array, monkeypatch):
    """A forgotten v=v raises; what uses the variables and has no gradient gives zeros."""
    compile_fast(backend, monkeypatch)
    model, x = perceptron(backend), array(np.ones((2, 3)), "float32")

    def forgetful(v):
        return trellis.mean(model(x) ** 2)

    def flat(v):
        return trellis.sum(trellis.stop_gradient(model(x, v=v)))

    for wrong in (trellis.grad(forgetful), lambda v: trellis.execute_with_gradients(forgetful, v)):
        step = trellis.compile(wrong)
        for _ in range(2):
            with pytest.raises(errors.ArgumentError, match=r"layers/v0/b[\s\S]*v=v"):
                step(model.v)
    zeros = trellis.tree.map(lambda p: np.zeros(p.shape, "float32"), trellis.to_numpy(model.v))
    for right in (trellis.grad(flat), trellis.grad(forgetful, allow_unused=True)):
        step = trellis.compile(right)
        for _ in range(2):
            assert_close(step(model.v), zeros, backend=backend)
    # The mistake leaves nothing behind.
    step = trellis.compile(trellis.grad(lambda v: trellis.sum(model(x, v=v))))
    assert_close(step(model.v)["layers/v2/b"], np.array([2.0], "float32"), backend=backend)


def compile_fast(backend, monkeypatch):
    """On torch, Dynamo without the C++ compiler behind it: the same tracing, in seconds."""
    if backend == "torch":
        import torch

        fast = functools.partial(torch.compile, backend="eager")
        monkeypatch.setattr(torch, "compile", fast)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("is_whole", [False, True])
def test_torch_compile_itself(is_whole):
    """Dynamo's error has our words, and the next function compiles."""
    import torch

    model, x = perceptron("torch"), torch.ones(2, 3)

    def compiled(fn):
        return torch.compile(trellis.value_and_grad(fn), fullgraph=is_whole, backend="eager")

    with pytest.raises(RuntimeError, match="Did you forget v=v"):
        compiled(lambda v: trellis.mean(model(x) ** 2))(model.v)
    value, gradients = compiled(lambda v: trellis.sum(model(x, v=v)))(model.v)
    assert_close(gradients["layers/v2/b"], np.array([2.0], "float32"), backend="torch")
