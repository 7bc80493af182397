"""Gradients in use: whole optimisations, compiled training steps, memory, threads."""

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import trellis
from conftest import compile_with
from trellis import Container, errors
from trellis.array_api import wrap
from trellis.testing import assert_close

DATA = np.linspace(-1, 1, 24).reshape(8, 3)
TARGET = np.sin(DATA.sum(1, keepdims=True))


def parameters(array, dtype):
    """A small multilayer perceptron with fixed, irregular weights."""

    def weights(*shape):
        count = int(np.prod(shape))
        return array((((5 * np.arange(count)) % 13 - 6) / 13).reshape(shape), dtype)

    return Container(
        first={"w": weights(3, 5), "b": weights(5)}, second={"w": weights(5, 1), "b": weights(1)}
    )


def mlp_loss(xp, p, x, y):
    hidden = xp.tanh(xp.matmul(x, p.first.w) + p.first.b)
    out = xp.matmul(hidden, p.second.w) + p.second.b
    return xp.mean((out - y) ** 2)


def mlp_by_hand(steps, rate):
    """The same optimisation with derivatives written out, in NumPy float64."""
    plain = trellis.tree.map(np.array, parameters(lambda a, _: a, "float64"))
    w1, b1, w2, b2 = plain.first.w, plain.first.b, plain.second.w, plain.second.b
    losses = []
    for _ in range(steps):
        hidden = np.tanh(DATA @ w1 + b1)
        error = hidden @ w2 + b2 - TARGET
        losses.append(np.mean(error**2))
        g_out = 2 * error / error.size
        g_hidden = (g_out @ w2.T) * (1 - hidden**2)
        w2, b2 = w2 - rate * hidden.T @ g_out, b2 - rate * g_out.sum(0)
        w1, b1 = w1 - rate * DATA.T @ g_hidden, b1 - rate * g_hidden.sum(0)
    return np.array(losses)


def test_mlp_trajectory(backend, xp, array, x64):
    """Twenty steps of gradient descent follow the derivatives written out by hand."""
    with x64():
        p, x, y = parameters(array, "float64"), array(DATA, "float64"), array(TARGET, "float64")
        losses = []
        for _ in range(20):
            loss, grads = trellis.value_and_grad(lambda p: mlp_loss(xp, p, x, y))(p)
            p = trellis.gradient_descent_update(p, grads, 0.5)
            losses.append(float(trellis.to_numpy(loss)))
            assert trellis.backend_of(loss) == backend
    # Twenty steps let the last bits of different libraries drift apart a little.
    np.testing.assert_allclose(losses, mlp_by_hand(20, 0.5), rtol=1e-9)


def test_rosenbrock_trajectory(backend, xp, array, x64):
    """Twenty steps of Adam in the Rosenbrock valley, against the formula by hand."""
    start = np.array([-1.2, 1.0])
    with x64():
        x = array(start, "float64")
        m = v = xp.zeros_like(x)
        for t in range(1, 21):
            g = trellis.grad(lambda p: 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2)(x)
            x, m, v = trellis.adam_update(x, g, 0.05, m, v, t)
        got = trellis.to_numpy(x)
        assert trellis.backend_of(x) == backend
    p, m, v = start, np.zeros(2), np.zeros(2)
    for t in range(1, 21):
        a, b = p
        g = np.array([-400 * a * (b - a**2) - 2 * (1 - a), 200 * (b - a**2)])
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        scale = np.sqrt(1 - 0.999**t) / (1 - 0.9**t + 1e-7)
        p = p - 0.05 * scale * m / (np.sqrt(v) + 1e-7)
    np.testing.assert_allclose(got, p, rtol=1e-9)


def test_compiled_training_step(backend, xp, array):
    """Gradient and optimizer update in one compiled function, over Containers."""
    p, x, y = parameters(array, "float32"), array(DATA, "float32"), array(TARGET, "float32")
    zeros = trellis.tree.map(xp.zeros_like, p)

    def step(p, m, v, t, x, y):
        loss, grads = trellis.value_and_grad(lambda p: mlp_loss(xp, p, x, y))(p)
        return loss, *trellis.adam_update(p, grads, 0.01, m, v, t)

    compiled = trellis.compile(step) if backend != "torch" else compile_with(backend, step)
    eager = step(p, zeros, zeros, xp.asarray(1.0), x, y)
    result = compiled(p, zeros, zeros, xp.asarray(1.0), x, y)
    assert isinstance(result[1], Container)
    assert_close(result, trellis.tree.map(trellis.to_numpy, eager), backend=backend)


def test_compile_counts(backend, xp, array):
    """One trace for equal shapes, one more for another shape, another dtype, another static
    value."""
    traces = []

    def fn(x, power):
        traces.append(1)
        return x**power

    compiled = trellis.compile(fn, static_argnums=1) if backend != "torch" else None
    if backend == "torch":
        import torch
        from torch._dynamo.testing import CompileCounter

        counter = CompileCounter()
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda x, power: x**power, fullgraph=True, backend=counter, dynamic=False
        )
    one, two = array([1.0, 2.0], "float32"), array([1.0, 2.0, 3.0], "float32")
    for args in ((one, 2), (one, 2), (two, 2), (one, 3), (one, 3)):
        expected = trellis.to_numpy(args[0]) ** args[1]
        assert_close(compiled(*args), expected, backend=backend)
    counted = counter.frame_count if backend == "torch" else len(traces)
    assert counted == {"numpy": 5}.get(backend, 3)


def test_compiled_for_each_framework():
    """A compiled function compiles anew for another framework's arrays; on NumPy it just runs."""
    double = trellis.compile(lambda x: x * 2)
    for name in ("numpy", "jax", "tensorflow"):
        result = double(trellis.namespace(name).asarray([1.0, 2.0]))
        assert trellis.backend_of(result) == name
        np.testing.assert_array_equal(trellis.to_numpy(result), [2.0, 4.0])
    assert "numpy, jax, tensorflow" in repr(double)


def test_no_memory_growth(backend, xp, array):
    """Gradient steps leave nothing behind: no cycle, no tape."""
    p = array(DATA, "float32")
    step = trellis.value_and_grad(lambda p: xp.sum(xp.tanh(p) ** 2))

    def run(count):
        x = p
        for _ in range(count):
            _, g = step(x)
            x = trellis.gradient_descent_update(x, g, 0.01)
        return x

    run(50)
    grown = []
    gc.collect()
    gc.freeze()  # what other tests left behind would be looked through each time
    tracemalloc.start()
    try:
        run(50)
        while len(grown) < 10 and not (grown and grown[-1] < 3_000):
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            result = run(60)
            gc.collect()
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
        gc.unfreeze()
    assert np.all(np.isfinite(trellis.to_numpy(result)))
    # A leak of one node of 100 bytes a step would show every time; a cache that fills up shows less
    # and less.
    assert grown[-1] < 3_000, f"{grown} bytes were left behind"


def test_threads(backend, xp, array):
    """Nested gradients in several threads at once do not confuse each other."""
    results = {}

    def work(n):
        x = array(np.full(3, float(n)), "float32")
        for _ in range(20):
            second = trellis.grad(lambda x: xp.sum(trellis.grad(lambda y: xp.sum(y**3))(x)))(x)
        results[n] = second

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(1, 5):
        assert_close(results[n], np.full(3, 6.0 * n, "float32"), backend=backend, rtol=1e-6)


def test_checkpoint_runs_again(backend, xp, array):
    """The same gradient; the function runs once more in the backward pass."""
    calls = []

    def inner(x):
        calls.append(1)
        return xp.sin(x) * x

    x = array(DATA, "float32")
    plain = trellis.grad(lambda x: xp.sum(inner(x)))(x)
    calls.clear()
    saved = trellis.grad(lambda x: xp.sum(trellis.checkpoint(inner)(x)))(x)
    if backend == "jax":  # traced once; what runs again stands in the program it made
        import jax

        program = jax.make_jaxpr(trellis.grad(lambda x: xp.sum(trellis.checkpoint(inner)(x))))(x)
        assert "remat" in str(program) or "checkpoint" in str(program)
    else:
        assert len(calls) >= 2
    assert_close(saved, trellis.to_numpy(plain), backend=backend)


def test_user_graphs_of_torch_continue():
    """A torch tensor that already requires gradients stays part of its user's own graph."""
    import torch

    w = torch.tensor([2.0, 3.0], requires_grad=True)
    inner = trellis.grad(lambda x: torch.sum(x**3))(w)
    torch.sum(inner).backward()
    assert_close(w.grad, np.array([12.0, 18.0], "float32"), backend="torch")


def test_errors_name_the_way_out(backend, xp, array):
    x = array([1.0, 2.0], "float32")
    with pytest.raises(errors.ShapeError, match=r"trellis\.sum"):
        trellis.grad(lambda x: x * 2)(x)
    with pytest.raises(errors.ShapeError, match="has_aux"):
        trellis.grad(lambda x: (xp.sum(x), x))(x)
    with pytest.raises(errors.ArgumentTypeError, match="argnums"):
        trellis.grad(lambda x: xp.sum(x), argnums=1)(x)
    with pytest.raises(errors.ArgumentTypeError, match="expected arrays"):
        trellis.grad(lambda x: xp.sum(xp.ones(1)))("text")


def test_arithmetic_on_numpy_keeps_only_what_it_needs():
    """Of sums and differences nothing is kept for the way back, of products only the factors."""
    made = []

    def seen(x):
        made.append(weakref.ref(x._value))
        return x

    def fn(x):
        y = seen(seen(seen(x + 1.0) - x) * 3.0)
        return trellis.sum(seen(y / 2.0) - np.ones(3))

    _, pull = trellis.vjp(fn, np.arange(3.0))
    assert [ref() for ref in made] == [None] * 4
    # (x + 1 - x) * 3 / 2 does not depend on x.
    np.testing.assert_array_equal(pull(np.float64(1.0))[0], np.zeros(3))


@pytest.mark.parametrize("order", [1, 2])
def test_checkpoints_with_closures_on_numpy(order):
    """In a row, nested, over data and over nothing: arrays that are closed over count too."""
    x, w = np.array([0.3, -0.7, 1.1]), np.array([0.5, 1.5, -0.4])

    def loss(x, w, keep):
        layer = keep(lambda x: np.tanh(x * w) + w[0] * np.sum(w))
        both = keep(lambda x, y: (layer(x) * y, keep(lambda y: y * w)(y)))
        first, second = both(layer(layer(x)), w * 2.0)
        others = layer(np.ones(3)) + keep(lambda: w * w)() + keep(lambda x: w)(x)
        return np.sum(first * second + others)

    def once(x, w, keep):
        return trellis.grad(loss, argnums=(0, 1))(x, w, keep)

    def again(x, w, keep):
        return trellis.grad(
            lambda x, w: np.sum(np.sin(once(x, w, keep)[0]) * once(x, w, keep)[1]), argnums=(0, 1)
        )(x, w)

    run = once if order == 1 else again
    saved, plain = run(x, w, trellis.checkpoint), run(x, w, lambda fn: fn)
    for found, expected in zip(saved, plain, strict=True):
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_checkpoint_of_a_function_that_changes_on_numpy():
    def loss(x):
        arrays = [x * 2.0]
        y = trellis.checkpoint(lambda x: x * arrays[-1])(x)
        arrays.append(x * 3.0)
        return np.sum(y)

    with pytest.raises(errors.TracingError, match="used other arrays"):
        trellis.grad(loss)(np.ones(3))


def test_own_derivatives_and_closures_on_numpy():
    """A function with a derivative of its own has none by what it closes over."""

    def loss(w):
        own = trellis.bind_custom_gradient_function(lambda x: x * w, lambda xy, g: g * w)
        return np.sum(own(w * 2.0))

    with pytest.raises(errors.TracingError, match="an argument of the function"):
        trellis.grad(loss)(np.ones(3))


@pytest.mark.parametrize("name", ["silu", "gelu"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_activations_without_axes_on_numpy(name, dtype):
    fn, x = getattr(trellis.functional, name), np.asarray(0.5, dtype)
    found, expected = trellis.grad(fn)(x), trellis.grad(lambda x: np.sum(fn(x)))(x[None])
    assert (found.dtype, found.shape) == (x.dtype, ())
    np.testing.assert_allclose(found, expected[0], rtol=1e-6)


def test_functions_with_their_own_derivative_leave_nothing_behind():
    """On NumPy, what each call of them makes is not entered in the table of derivatives, which is
    permanent."""
    from trellis._backends.numpy._tape import RULES

    own = trellis.bind_custom_gradient_function(lambda x: x * x, lambda xy, g: g * 2 * xy[0])
    counts = []
    for _ in range(3):  # the first call loads the backend, with its rules
        for fn in (trellis.checkpoint(lambda x: x * x), own):
            found = trellis.grad(lambda x, fn=fn: trellis.sum(fn(x)))(np.arange(3.0))
            np.testing.assert_array_equal(found, np.array([0.0, 2.0, 4.0]))
        counts.append(len(RULES))
    assert counts[1] == counts[2]


TAKES_A_FUNCTION = {
    "bind_custom_gradient_function": lambda fn: (fn, fn),
    "checkpoint": lambda fn: (fn,),
    "execute_with_gradients": lambda fn: (fn, np.ones(1)),
    "grad": lambda fn: (fn,),
    "hessian": lambda fn: (fn,),
    "jac": lambda fn: (fn,),
    "jvp": lambda fn: (fn, np.ones(1), np.ones(1)),
    "value_and_grad": lambda fn: (fn,),
    "vjp": lambda fn: (fn, np.ones(1)),
    "vmap": lambda fn: (fn,),
}


@pytest.mark.parametrize("name", TAKES_A_FUNCTION)
def test_what_is_no_function_is_named(name):
    with pytest.raises(
        errors.ArgumentTypeError, match=rf"^{name}\(\) expects a function, got 3 \(int\)"
    ):
        getattr(trellis, name)(*TAKES_A_FUNCTION[name](3))


def test_a_numpy_scalar_keeps_its_type_as_a_value():
    value, gradient = trellis.value_and_grad(lambda x: np.float64(2.5))(np.ones(2, "float32"))
    assert (value, value.dtype) == (2.5, "float64")
    assert gradient.dtype == "float32" and gradient.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_jacobian_has_the_type_of_its_input(dtype, backend, array, x64):
    with x64():
        x = array(np.array([1.0, 2.0], dtype))
        for mode in ("forward", "reverse"):
            found = trellis.jac(lambda x: x * x, mode=mode)(x)
            assert trellis.dtype(found) == dtype
            assert trellis.to_numpy(found).tolist() == [[2.0, 0.0], [0.0, 4.0]]


# Structures and wrapped arrays --------------------------------------------------------------------


def test_gradients_of_wrapped_arrays_are_native(backend, xp):
    """An array of the Array API standard may be what a function, or its own gradient, returns."""
    x = xp.from_numpy(np.arange(3, dtype="float32"))
    returned = trellis.grad(lambda x: trellis.sum(wrap(x) * wrap(x)))(x)
    own = trellis.bind_custom_gradient_function(
        lambda x: trellis.sum(x * x), lambda xy, g: wrap(g * 2 * xy[0])
    )
    for found in (returned, trellis.grad(own)(x)):
        assert isinstance(found, type(x))
        assert trellis.to_numpy(found).tolist() == [0.0, 2.0, 4.0]


def test_gradients_by_numbers_have_the_default_dtype():
    for number in (3, 3.0):
        found = trellis.grad(lambda x: x * x)(number)
        assert found.dtype == "float32" and found == 6.0
    with trellis.using_default_dtype("float64"):
        assert trellis.grad(lambda x: x * x)(3).dtype == "float64"


def test_gradients_keep_tuples_and_lists():
    x = np.arange(3.0)
    nest = {"a": (x, x + 1), "b": [x.copy()]}
    _, found = trellis.execute_with_gradients(
        lambda v: trellis.sum(v["a"][0] * v["a"][1]) + trellis.sum(v["b"][0]), nest
    )
    assert type(found["a"]) is tuple and type(found["b"]) is list
    assert [part.tolist() for part in found["a"]] == [[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]
