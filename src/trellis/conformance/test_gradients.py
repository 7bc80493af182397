"""The gradient rows of the contract, each on all four backends."""

import asyncio
import math
import threading

import numpy as np
import pytest

import trellis
from trellis import Container, errors
from trellis.testing import assert_close, check_gradients

from . import vectors
from .compilers import compile_with
from .strangers import other_of

X = np.array([[0.3, -1.2, 2.0], [0.7, 1.1, -0.4]])


def every_dtype(row, xp, x64):
    """All vectors of a row in both precisions; JAX holds float64 only with its 64-bit types on."""
    for vector in vectors.of(row):
        if vector["fn"] == "steps":
            continue
        vectors.check(vector, xp, "float32")
        # Integer inputs become the default float: float32 unless it is changed.
        with x64(), trellis.using_default_dtype("float64"):
            vectors.check(vector, xp, "float64")


def assert_compiled(backend, fn, *args):
    """Compiled equals eager; on NumPy `trellis.compile` runs the function itself."""
    eager, compiled = fn(*args), compile_with(backend, fn)(*args)
    assert_close(compiled, trellis.tree.map(trellis.to_numpy, eager), dtype=False, backend=backend)


def assert_mixed(backend, array, fn):
    other = trellis.namespace(other_of(backend)).asarray([1.0, 2.0])
    with pytest.raises(errors.MixedBackendsError, match=other_of(backend)):
        fn(array([1.0, 2.0]), other)


def assert_dtypes(result, dtype, backend):
    for leaf in trellis.tree.leaves(result):
        assert trellis.dtype(leaf) == dtype
        assert trellis.backend_of(leaf) == backend


# Optimizer steps
# -------------------------------------------------------------------------------------


def adam_formula(g, m, v, t, beta1=0.9, beta2=0.999, epsilon=1e-7):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    a = math.sqrt(1 - beta2**t) / (1 - beta1**t + epsilon)
    return a * m / (np.sqrt(np.maximum(v, 0)) + epsilon), m, v


G, M, V = X, X[::-1] * 0.5, X**2 + 0.1


def test_adam_step(backend, xp, array, x64):
    every_dtype("adam_step", xp, x64)
    for dtype in ("float32", "float64"):
        with x64():
            g, m, v = (array(a, dtype) for a in (G, M, V))
            expected = adam_formula(G, M, V, 4)
            for step in (4, 4.0, xp.asarray(4), xp.asarray([4.0], dtype=dtype)):
                result = trellis.adam_step(g, m, v, step)
                assert_close(result, tuple(e.astype(dtype) for e in expected), backend=backend)
                assert_dtypes(result, dtype, backend)
            assert_compiled(
                backend, lambda *a: trellis.adam_step(*a), g, m, v, xp.asarray(4.0, dtype=dtype)
            )
    # step 1 in float32: 1 - 0.999 must not lose digits, whether the step is a number or an array.
    for step in (1, xp.asarray(1)):
        first = trellis.adam_step(
            array(G, "float32"), array(M, "float32"), array(V, "float32"), step
        )
        assert_close(first[0], adam_formula(G, M, V, 1)[0].astype("float32"))
    zero = trellis.adam_step(array(G, "float32"), array(M, "float32"), array(V, "float32"), 0)[0]
    assert_close(zero, np.zeros(G.shape, "float32"), backend=backend)
    negative = trellis.adam_step(array([0.0]), array([1.0]), array([-1.0]), 2)[0]
    assert_close(
        negative,
        adam_formula(np.zeros(1), np.ones(1), -np.ones(1), 2)[0],
        backend=backend,
        dtype=False,
    )
    integers = trellis.adam_step(
        xp.asarray([1, 2]), array([0.0, 0.0], "float32"), array([0.0], "float32"), 1
    )
    assert_dtypes(integers, "float32", backend)
    with pytest.raises(errors.ShapeError, match="step"):
        trellis.adam_step(
            array(G, "float32"), array(M, "float32"), array(V, "float32"), xp.asarray([1, 2])
        )
    assert_mixed(backend, array, lambda x, y: trellis.adam_step(x, y, x, 1))
    with x64():
        check_gradients(
            lambda g, m, v: trellis.adam_step(g, m, v, 3), [array(a, "float64") for a in (G, M, V)]
        )
        nest = {"a": array(G, "float64"), "b": [array(M, "float64")]}
        nested = trellis.adam_step(nest, array(M, "float64"), {"a": 0.5, "b": 1.0}, 2)
        assert [type(part) for part in nested] == [dict] * 3
        single = trellis.adam_step(nest["b"][0], array(M, "float64"), 1.0, 2)
        for part, alone in zip(nested, single, strict=True):
            assert_close(part["b"][0], trellis.to_numpy(alone), backend=backend)
    with pytest.raises(errors.ShapeError):
        trellis.adam_step({"a": array(G, "float32")}, {"b": array(M, "float32")}, 0.0, 1)


def check_update(name, backend, xp, array, x64, formula):
    """What the rows of plain updates share; `formula(w, g, lr)` in NumPy."""
    update = getattr(trellis, name)
    every_dtype(name, xp, x64)
    for dtype in ("float32", "float64"):
        with x64():
            w, g = array(G, dtype), array(M, dtype)
            before = trellis.to_numpy(w).copy()
            result = update(w, g, 0.1)
            assert_close(result, formula(G, M, 0.1).astype(dtype), backend=backend)
            np.testing.assert_array_equal(trellis.to_numpy(w), before)
            assert_compiled(backend, lambda w, g: update(w, g, 0.1), w, g)
            rates = array(np.array([0.1, 0.2, 0.3]), dtype)
            assert_close(
                update(w, g, rates), formula(G, M, np.array([0.1, 0.2, 0.3])).astype(dtype)
            )
    with x64():
        args = [array(a, "float64") for a in (G, M, np.array([0.1, 0.2, 0.3]))]
        check_gradients(lambda *a: update(*a, stop_gradients=False), args)
        stopped = trellis.grad(lambda w, g: xp.sum(update(w, g, 0.1)), argnums=(0, 1))(*args[:2])
        assert_close(stopped, (np.zeros(G.shape), np.zeros(G.shape)), backend=backend)
    nest = Container(a=array(G, "float32"), b={"c": array(2 * M, "float32")})
    nested = update(nest, array(M, "float32"), {"a": 0.1, "b": 0.2})
    assert isinstance(nested, Container)
    assert_close(
        nested.a, trellis.to_numpy(update(nest.a, array(M, "float32"), 0.1)), backend=backend
    )
    assert_close(
        nested["b/c"], trellis.to_numpy(update(nest.b.c, array(M, "float32"), 0.2)), backend=backend
    )
    with pytest.raises(errors.ShapeError, match="keys"):
        update({"a": array(G, "float32")}, {"b": array(G, "float32")}, 0.1)
    assert_mixed(backend, array, lambda x, y: update(x, y, 0.1))


def test_optimizer_update(backend, xp, array, x64):
    check_update("optimizer_update", backend, xp, array, x64, lambda w, g, lr: w - g * lr)


def test_gradient_descent_update(backend, xp, array, x64):
    check_update("gradient_descent_update", backend, xp, array, x64, lambda w, g, lr: w - g * lr)
    w, g = array(G, "float32"), array(M, "float32")
    same = trellis.optimizer_update(w, g, 0.3)
    np.testing.assert_array_equal(
        trellis.to_numpy(trellis.gradient_descent_update(w, g, 0.3)), trellis.to_numpy(same)
    )
    # x**2 / 2 from x0: after n steps of rate r, x0 * (1 - r)**n.
    x = array(G, "float32")
    for _ in range(10):
        x = trellis.gradient_descent_update(x, trellis.grad(lambda x: xp.sum(x * x) / 2)(x), 0.1)
    assert_close(x, (G * 0.9**10).astype("float32"), backend=backend)


def lars_formula(w, g, lr, decay=0.0):
    ratio = np.linalg.norm(w) * lr / (np.linalg.norm(g) + 1e-12)
    if decay > 0:
        ratio = ratio / (np.linalg.norm(w) * decay)
    return w - ratio * g


def test_lars_update(backend, xp, array, x64):
    check_update("lars_update", backend, xp, array, x64, lars_formula)
    decayed = trellis.lars_update(array(G, "float32"), array(M, "float32"), 0.1, decay_lambda=0.5)
    assert_close(decayed, lars_formula(G, M, 0.1, 0.5).astype("float32"), backend=backend)
    nest = {"a": array([3.0, 4.0], "float32"), "b": array([30.0, 40.0], "float32")}
    nested = trellis.lars_update(nest, array([1.0, 0.0], "float32"), 0.1)
    assert_close(nested, {"a": np.array([2.5, 4.0]), "b": np.array([25.0, 40.0])}, dtype=False)
    zero, some = array([0.0, 0.0]), array([1.0, 2.0])
    assert_close(trellis.lars_update(zero, some, 0.1), np.zeros(2), dtype=False, backend=backend)
    assert_close(
        trellis.lars_update(some, zero, 0.1), np.array([1.0, 2.0]), dtype=False, backend=backend
    )
    with np.errstate(invalid="ignore"):  # 0 / 0 on purpose, of which NumPy warns
        lost = trellis.lars_update(zero, some, 0.1, decay_lambda=0.5)
    assert np.all(np.isnan(trellis.to_numpy(lost)))
    # In float16 the norm of 300 elements of 40 overflows, and 1e-12 is 0: both are computed in
    # float32.
    half = np.full(3000, 20.0, "float16")
    result = trellis.lars_update(array(half), array(half), 0.1)
    assert_close(result, (half * np.float16(0.9)), backend=backend)
    assert trellis.dtype(result) == "float16"


def adam_args(array, dtype):
    return [array(a, dtype) for a in (G, M)], [array(a, dtype) for a in (M * 0.1, V * 0.01)]


def check_moments(name, backend, xp, array, x64, formula, **kw):
    update = getattr(trellis, name)
    every_dtype(name, xp, x64)
    for dtype in ("float32", "float64"):
        with x64():
            (w, g), (m, v) = adam_args(array, dtype)
            expected = formula(G, M, 0.1, M * 0.1, V * 0.01, 3)
            result = update(w, g, 0.1, m, v, 3, **kw)
            assert_close(result, tuple(e.astype(dtype) for e in expected), backend=backend)
            assert_compiled(backend, lambda *a: update(*a[:2], 0.1, *a[2:], 3, **kw), w, g, m, v)
    with x64():
        (w, g), (m, v) = adam_args(array, "float64")
        check_gradients(
            lambda w, g, m, v: update(w, g, 0.1, m, v, 3, stop_gradients=False, **kw), [w, g, m, v]
        )
        stopped = trellis.grad(lambda w: xp.sum(update(w, g, 0.1, m, v, 3, **kw)[0]))(w)
        assert_close(stopped, np.zeros(G.shape), backend=backend)
        moving = trellis.grad(lambda g: xp.sum(update(w, g, 0.1, m, v, 3, **kw)[1]))(g)
        assert_close(moving, np.full(G.shape, 0.1), backend=backend)
    (w, g), (m, v) = adam_args(array, "float32")
    nested = update({"a": w, "b": (g,)}, g, 0.1, m, v, 3, **kw)
    assert [type(part) for part in nested] == [dict] * 3
    assert type(nested[1]["b"]) is tuple
    assert_close(
        nested[0]["a"], trellis.to_numpy(update(w, g, 0.1, m, v, 3, **kw)[0]), backend=backend
    )
    with pytest.raises(errors.ShapeError):
        update({"a": w}, {"b": g}, 0.1, m, v, 3)
    assert_mixed(backend, array, lambda x, y: update(x, y, 0.1, x, x, 1))


def test_adam_update(backend, xp, array, x64):
    def formula(w, g, lr, m, v, t):
        effective, m, v = adam_formula(g, m, v, t)
        return w - effective * lr, m, v

    check_moments("adam_update", backend, xp, array, x64, formula)
    (w, g), (m, v) = adam_args(array, "float32")
    effective, m_new, v_new = trellis.adam_step(g, m, v, 2)
    separately = trellis.optimizer_update(w, effective, 0.1), m_new, v_new
    assert_close(
        trellis.adam_update(w, g, 0.1, m, v, 2), trellis.tree.map(trellis.to_numpy, separately)
    )
    # Ten steps on x**2 / 2, whose gradient is x itself.
    x, m, v = (
        array(G, "float32"),
        array(np.zeros(G.shape), "float32"),
        array(np.zeros(G.shape), "float32"),
    )
    y, p, q = G, np.zeros(G.shape), np.zeros(G.shape)
    for t in range(1, 11):
        x, m, v = trellis.adam_update(x, x, 0.1, m, v, t)
        y, p, q = formula(y, y, 0.1, p, q, t)
    # Ten steps in float32 add up ten roundings.
    assert_close((x, m, v), (y, p, q), dtype=False, rtol=1e-4, backend=backend)


def test_lamb_update(backend, xp, array, x64):
    def formula(w, g, lr, m, v, t, cap=10.0, decay=0.0):
        effective, m, v = adam_formula(g, m, v, t)
        ratio = min(np.linalg.norm(w) / (np.linalg.norm(effective + decay * w) + 1e-12), cap)
        return w - ratio * lr * effective, m, v

    check_moments("lamb_update", backend, xp, array, x64, formula)
    (w, g), (m, v) = adam_args(array, "float32")
    for cap in (0.5, 10):
        for decay in (0, 0.7):
            result = trellis.lamb_update(
                w, g, 0.1, m, v, 3, max_trust_ratio=cap, decay_lambda=decay
            )
            expected = formula(G, M, 0.1, M * 0.1, V * 0.01, 3, cap, decay)
            assert_close(result[0], expected[0].astype("float32"), backend=backend)
    capped = trellis.lamb_update(w, g, 0.1, m, v, 3, max_trust_ratio=0.01)[0]
    free = trellis.lamb_update(w, g, 0.1, m, v, 3)[0]
    assert np.max(np.abs(trellis.to_numpy(capped) - trellis.to_numpy(free))) > 1e-3
    nest = {"a": array([3.0, 4.0], "float32"), "b": array([0.3, 0.4], "float32")}
    one = array([1.0, 1.0], "float32")
    moved = trellis.lamb_update(nest, one, 0.1, 0.0 * one, 0.0 * one, 1)[0]
    change = {
        k: np.linalg.norm(trellis.to_numpy(nest[k]) - trellis.to_numpy(moved[k])) for k in nest
    }
    np.testing.assert_allclose(change["a"] / change["b"], 10.0, rtol=1e-4)  # float32 differences
    zero = array([0.0, 0.0])
    assert_close(trellis.lamb_update(zero, one, 0.1, zero, zero, 1)[0], np.zeros(2), dtype=False)
    assert_close(
        trellis.lamb_update(one, zero, 0.1, zero, zero, 1)[0],
        np.ones(2),
        dtype=False,
        backend=backend,
    )


# Stopping
# --------------------------------------------------------------------------------------------


def test_stop_gradient(backend, xp, array, x64):
    every_dtype("stop_gradient", xp, x64)
    for dtype in ("float32", "float64"):
        with x64():
            x = array(X, dtype)
            assert_close(trellis.stop_gradient(x), X.astype(dtype), backend=backend)
            half_stopped = trellis.grad(lambda x: xp.sum(trellis.stop_gradient(x) * x))
            assert_close(half_stopped(x), X.astype(dtype), backend=backend)
            assert_compiled(backend, half_stopped, x)
            fully = trellis.grad(lambda x: xp.sum(trellis.stop_gradient(x) ** 2))(x)
            assert_close(fully, np.zeros(X.shape, dtype), backend=backend)
            second = trellis.grad(
                lambda x: xp.sum(trellis.grad(lambda y: xp.sum(trellis.stop_gradient(y) * y))(x))
            )
            assert_close(second(x), np.zeros(X.shape, dtype), backend=backend)
    for name in ("int32", "bool"):
        kept = trellis.stop_gradient(xp.asarray([1, 0], dtype=name))
        assert trellis.dtype(kept) == name
        assert trellis.backend_of(kept) == backend
    nest = Container(a=array([1.0]), b=(array([2.0]), 3))
    stopped = trellis.stop_gradient(nest)
    assert isinstance(stopped, Container)
    assert stopped["b"][1] == 3
    assert_close(stopped.a, [1.0], backend=backend, dtype=False)


# Transforms
# ------------------------------------------------------------------------------------------


def test_value_and_grad(backend, xp, array, x64):
    every_dtype("value_and_grad", xp, x64)

    def loss(x, y):
        return xp.mean(xp.sin(x) * y)

    for dtype in ("float32", "float64"):
        with x64():
            x, y = array(X, dtype), array(X + 1, dtype)
            value, (gx, gy) = trellis.value_and_grad(loss, argnums=(0, 1))(x, y)
            assert_close(value, np.mean(np.sin(X) * (X + 1)).astype(dtype), backend=backend)
            assert_close(gx, (np.cos(X) * (X + 1) / 6).astype(dtype), backend=backend)
            assert_close(gy, (np.sin(X) / 6).astype(dtype), backend=backend)
            assert_compiled(backend, trellis.value_and_grad(loss, argnums=1), x, y)
    x, y = array(X, "float32"), array(X + 1, "float32")
    value, reverse = trellis.value_and_grad(loss, argnums=[1, 0])(x, y)
    assert isinstance(reverse, tuple)
    assert_close(reverse[1], (np.cos(X) * (X + 1) / 6).astype("float32"), backend=backend)
    last = trellis.value_and_grad(loss, argnums=-1)(x, y)[1]
    assert_close(last, (np.sin(X) / 6).astype("float32"), backend=backend)
    first = trellis.value_and_grad(loss, argnums=-2)(x, y)[1]
    assert_close(first, (np.cos(X) * (X + 1) / 6).astype("float32"), backend=backend)
    by_keyword = trellis.value_and_grad(lambda x, *, scale: scale * xp.sum(x))(x, scale=3.0)[1]
    assert_close(by_keyword, np.full(X.shape, 3.0, "float32"), backend=backend)
    aux_fn = trellis.value_and_grad(
        lambda x: (xp.sum(x * x), {"twice": 2 * x, "name": "n"}), has_aux=True
    )
    (value, aux), gradient = aux_fn(x)
    assert aux["name"] == "n"
    assert_close(aux["twice"], (2 * X).astype("float32"), backend=backend)
    assert_close(gradient, (2 * X).astype("float32"), backend=backend)
    nest = {"w": [x, y], "unused": x}
    nested = trellis.value_and_grad(lambda p: xp.sum(p["w"][0] * p["w"][1]))(nest)[1]
    assert_close(nested["w"][0], (X + 1).astype("float32"), backend=backend)
    assert_close(nested["unused"], np.zeros(X.shape, "float32"), backend=backend)
    for argnums in (2, (0, 5), -3, True, (0, False), 1.0, "0", None):
        with pytest.raises(errors.ArgumentTypeError, match="argnums"):
            trellis.value_and_grad(loss, argnums=argnums)(x, y)
    with pytest.raises(errors.ShapeError, match="scalar"):
        trellis.value_and_grad(lambda x: x * 2)(x)
    for wrong in (True, 1j, xp.asarray([True]), xp.asarray([1j])):
        with pytest.raises(errors.DtypeError):
            trellis.value_and_grad(lambda x: xp.sum(xp.asarray(1.0)))(wrong)
    integers = trellis.value_and_grad(lambda x: xp.sum(x * x))(xp.asarray([1, 2]))[1]
    assert_close(integers, np.array([2.0, 4.0], "float32"), backend=backend)
    with pytest.raises(errors.MixedBackendsError):
        trellis.value_and_grad(lambda x: trellis.namespace(other_of(backend)).asarray(1.0))(x)
    with x64():
        check_gradients(
            lambda x: trellis.value_and_grad(loss)(x, x), [array(X, "float64")], order=1
        )
    calls = []
    trellis.value_and_grad(lambda x: calls.append(1) or xp.sum(x))(x)
    assert calls == [1]
    assert_no_trace(backend, x)


def assert_no_trace(backend, x):
    """Differentiation leaves no mark on its inputs."""
    if backend == "torch":
        assert not x.requires_grad
        assert x.grad is None


def test_grad(backend, xp, array, x64):
    every_dtype("grad", xp, x64)

    def third_order(x):
        first = trellis.grad(lambda x: xp.sum(x**5))
        second = trellis.grad(lambda x: xp.sum(first(x)))
        return trellis.grad(lambda x: xp.sum(second(x)))(x)

    for dtype in ("float32", "float64"):
        with x64():
            x = array(X, dtype)
            assert_close(
                trellis.grad(lambda x: xp.sum(x**5))(x), (5 * X**4).astype(dtype), backend=backend
            )
            assert_close(third_order(x), (60 * X**2).astype(dtype), backend=backend)
            assert_compiled(backend, third_order, x)
    x = array(X, "float32")
    one, two = trellis.grad(lambda x: xp.sum(x * x)), trellis.grad(lambda x: xp.sum(x**3))
    assert_close(two(x), (3 * X**2).astype("float32"), backend=backend)
    assert_close(one(x), (2 * X).astype("float32"), backend=backend)
    number = trellis.grad(lambda x: x * x * 3.0)(2.0)
    assert_close(number, np.array(12.0, "float32"), dtype=False)
    with x64():
        check_gradients(
            trellis.grad(lambda x: xp.sum(xp.exp(x) * x)), [array(X, "float64")], order=1
        )
    for shape in ((2,), (0,)):
        with pytest.raises(errors.ShapeError, match="scalar"):
            trellis.grad(lambda x, n=shape: xp.zeros(n) * xp.sum(x))(x)
    with pytest.raises(errors.ArgumentError, match="dtype"):
        trellis.grad(lambda x: xp.sum(xp.asarray([1, 2])))(x)
    infinite = trellis.grad(lambda x: xp.sum(xp.sqrt(x)))(array([0.0, 4.0], "float32"))
    assert_close(infinite, np.array([np.inf, 0.25], "float32"), backend=backend)


def test_jac(backend, xp, array, x64):
    every_dtype("jac", xp, x64)
    with x64():
        x = array(X, "float64")

        def fn(c):
            return {"p": c["a"] * xp.sum(c["b"]), "q": [xp.sum(c["a"] ** 2)]}

        nest = {"a": x, "b": array(X[0], "float64")}
        for mode in ("reverse", "forward"):
            result = trellis.jac(fn, mode=mode)(nest)
            total = X[0].sum()
            assert_close(result["p"]["a"], np.eye(6).reshape(2, 3, 2, 3) * total, backend=backend)
            assert_close(result["p"]["b"], np.repeat(X[..., None], 3, axis=-1), backend=backend)
            assert_close(result["q"][0]["a"], 2 * X, backend=backend)
            assert_close(result["q"][0]["b"], np.zeros(3), backend=backend)
        one = trellis.jac(lambda x: xp.reshape(xp.sum(x * x), (1,)))(x)
        assert_close(one, 2 * X[None], backend=backend)
        of_grad = trellis.jac(trellis.grad(lambda x: xp.sum(x**3)))(x)
        assert_close(
            of_grad, trellis.to_numpy(trellis.hessian(lambda x: xp.sum(x**3))(x)), backend=backend
        )
        assert_compiled(backend, trellis.jac(lambda x: x * xp.sum(x)), x)
        step, columns = 1e-6, []
        smooth = lambda x: np.sin(x) * np.sum(x)  # noqa: E731
        for index in np.ndindex(X.shape):
            away = np.zeros(X.shape)
            away[index] = step
            columns.append((smooth(X + away) - smooth(X - away)) / (2 * step))
        differences = np.stack(columns, axis=-1).reshape(2, 3, 2, 3)
        assert_close(
            trellis.jac(lambda x: xp.sin(x) * xp.sum(x))(x), differences, rtol=1e-5, atol=1e-7
        )
    with pytest.raises(errors.ArgumentError, match="mode"):
        trellis.jac(lambda x: x, mode="sideways")
    single = trellis.jac(lambda x: x * 2)(array([1.0, 2.0], "float32"))
    assert_dtypes(single, "float32", backend)


def test_hessian(backend, xp, array, x64):
    every_dtype("hessian", xp, x64)
    with x64():
        nest = {"a": array([0.5, -1.0], "float64"), "b": array([2.0], "float64")}
        result = trellis.hessian(lambda c: xp.sum(c["a"] ** 3) + xp.sum(c["b"] ** 2))(nest)
        assert_close(result["a"]["a"], np.diag([3.0, -6.0]), backend=backend)
        assert_close(result["a"]["b"], np.zeros((2, 1)), backend=backend)
        assert_close(result["b"]["b"], np.array([[2.0]]), backend=backend)
        x = array(X[0], "float64")
        matrix = trellis.hessian(lambda x: xp.prod(x) + xp.sum(xp.exp(x)))(x)
        values = trellis.to_numpy(matrix)
        np.testing.assert_allclose(values, values.T, rtol=1e-12)
        step, grad = 1e-6, trellis.grad(lambda x: xp.prod(x) + xp.sum(xp.exp(x)))
        for i in range(3):
            away = np.eye(3)[i] * step
            ahead, behind = (
                trellis.to_numpy(grad(array(X[0] + s * away, "float64"))) for s in (1, -1)
            )
            np.testing.assert_allclose(
                values[i], (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-7
            )
        assert_compiled(backend, trellis.hessian(lambda x: xp.sum(x**3)), x)
    with pytest.raises(errors.ShapeError, match="scalar"):
        trellis.hessian(lambda x: x)(array([1.0, 2.0]))


def test_vjp(backend, xp, array, x64):
    every_dtype("vjp", xp, x64)
    with x64():
        x, y = array(X, "float64"), array(X[0], "float64")
        fn = lambda x, y: {"out": xp.sin(x) * y}  # noqa: E731
        out, pull = trellis.vjp(fn, x, y)
        for cotangent in (np.ones(X.shape), X):
            gx, gy = pull({"out": array(cotangent, "float64")})
            assert_close(gx, cotangent * np.cos(X) * X[0], backend=backend)
            assert_close(gy, (cotangent * np.sin(X)).sum(0), backend=backend)
        jacobian = trellis.jac(lambda x: xp.sin(x) * y)(x)
        contracted = np.tensordot(X, trellis.to_numpy(jacobian), 2)
        assert_close(pull({"out": array(X, "float64")})[0], contracted, backend=backend)
        total, pull = trellis.vjp(lambda x: xp.sum(x), x)
        assert_close(pull(2.0)[0], np.full(X.shape, 2.0), backend=backend)
        assert_compiled(backend, lambda x: trellis.vjp(xp.exp, x)[1](x), x)
        wrong_shape = array([1.0], "float64")
        for bad in (wrong_shape, array(X, "float32"), {"out": x}):
            with pytest.raises(errors.ShapeError):
                trellis.vjp(xp.exp, x)[1](bad)


def test_jvp(backend, xp, array, x64):
    every_dtype("jvp", xp, x64)
    with x64():
        x, t = array(X, "float64"), array(X[::-1].copy(), "float64")

        def fn(x):
            return xp.sin(x) * xp.sum(x)

        out, pushed = trellis.jvp(fn, (x,), (t,))
        jacobian = trellis.to_numpy(trellis.jac(fn)(x))
        assert_close(pushed, np.tensordot(jacobian, X[::-1], 2), backend=backend)
        step = 1e-6
        reference = lambda x: np.sin(x) * np.sum(x)  # noqa: E731
        differences = (reference(X + step * X[::-1]) - reference(X - step * X[::-1])) / (2 * step)
        assert_close(pushed, differences, rtol=1e-5, atol=1e-7)
        c = array(X + 0.5, "float64")
        left = np.sum((X + 0.5) * trellis.to_numpy(pushed))
        right = np.sum(trellis.to_numpy(trellis.vjp(fn, x)[1](c)[0]) * X[::-1])
        np.testing.assert_allclose(left, right, rtol=1e-10)
        nested = trellis.jvp(lambda c: {"y": c["a"] ** 2}, ({"a": x},), ({"a": t},))[1]
        assert_close(nested["y"], 2 * X * X[::-1], backend=backend)
        assert_compiled(backend, lambda x, t: trellis.jvp(fn, (x,), (t,)), x, t)
        with pytest.raises(errors.ShapeError):
            trellis.jvp(fn, (x,), ())
        with pytest.raises(errors.ShapeError):
            trellis.jvp(fn, (x,), (array([1.0], "float64"),))


def test_vmap(backend, xp, array, x64):
    every_dtype("vmap", xp, x64)
    with x64():
        x, y = array(X, "float64"), array(X[0], "float64")
        mapped = trellis.vmap(lambda a, b: xp.sum(a) * b, in_axes=(0, None))(x, y)
        assert_close(mapped, np.stack([row.sum() * X[0] for row in X]), backend=backend)
        across = trellis.vmap(lambda a: a * 2, in_axes=1, out_axes=-1)(x)
        assert_close(across, 2 * X, backend=backend)
        nested = trellis.vmap(lambda c: {"s": xp.sum(c["a"]) + c["b"]})({"a": x, "b": x[:, 0]})
        assert_close(nested["s"], X.sum(1) + X[:, 0], backend=backend)
        twice = trellis.vmap(
            trellis.vmap(lambda a, b: a * b, in_axes=(0, None)), in_axes=(None, 0)
        )(y, y)
        assert_close(twice, np.outer(X[0], X[0]), backend=backend)
        per_row = trellis.vmap(trellis.grad(lambda a: xp.sum(a**3)))(x)
        assert_close(per_row, 3 * X**2, backend=backend)
        check_gradients(trellis.vmap(lambda a: xp.sin(a) * xp.sum(a)), [x])
        assert_compiled(backend, trellis.vmap(lambda a: a * xp.sum(a)), x)
        from_the_end = trellis.vmap(lambda a: a * 2, in_axes=-2)(x)
        assert_close(from_the_end, 2 * X, backend=backend)
        with pytest.raises(errors.ShapeError, match="axis -3"):
            trellis.vmap(lambda a: a, in_axes=-3)(x)
        with pytest.raises(errors.ShapeError, match="sizes"):
            trellis.vmap(lambda a, b: xp.sum(a) + xp.sum(b))(x, y)
        with pytest.raises(errors.ShapeError, match="None"):
            trellis.vmap(lambda a: a, in_axes=None)(x)


def test_execute_with_gradients(backend, xp, array, x64):
    every_dtype("execute_with_gradients", xp, x64)
    run = trellis.execute_with_gradients
    x, y = array([1.0, 2.0], "float32"), array([3.0, 4.0], "float32")
    calls = []

    def func(c):
        calls.append(1)
        return {"loss": xp.sum(c["a"] * c["b"]), "n": [xp.sum(c["a"]), c["b"] * 2], "name": "aux"}

    nest = Container(a=x, b=y)
    result, grads = run(func, nest)
    assert calls == [1]
    assert result["name"] == "aux"
    assert_close(result["n"][1], np.array([6.0, 8.0], "float32"), backend=backend)
    assert isinstance(grads, Container)
    assert list(grads) == ["loss", "n_0"]
    assert_close(grads["loss/a"], np.array([3.0, 4.0], "float32"), backend=backend)
    assert_close(grads["n_0/b"], np.zeros(2, "float32"), backend=backend)
    chosen = run(func, nest, ret_grad_idxs=[["n", 0]])[1]
    assert_close(
        run(func, nest, ret_grad_idxs=["n/0"])[1], trellis.to_numpy(chosen), backend=backend
    )
    assert list(chosen) == ["n_0"]
    with pytest.raises(errors.ArgumentError, match="ret_grad_idxs"):
        run(func, nest, ret_grad_idxs=[["name"]])
    pruned = run(lambda p: xp.sum(p[0] * p[1]["w"]), [x, {"w": y, "v": x}], xs_grad_idxs=["1/w"])[1]
    assert list(pruned) == ["w"]
    assert_close(pruned["w"], np.array([1.0, 2.0], "float32"), backend=backend)
    both = run(lambda p: xp.sum(p[0] * p[1]["w"]), [x, {"w": y, "v": x}], xs_grad_idxs=[[0], [1]])[
        1
    ]
    assert isinstance(both, list)
    assert set(both[1]) == {"v", "w"}
    with pytest.raises(KeyError):
        run(lambda p: xp.sum(p["a"]), nest, xs_grad_idxs=[["nowhere"]])
    shared = run(lambda c: xp.sum(c["p"] * c["q"]), {"p": x, "q": x})[1]
    assert_close(shared, {"p": np.array([2.0, 4.0]), "q": np.array([2.0, 4.0])}, dtype=False)
    # An enclosing gradient sees through it only with retain_grads.
    for retain, expected in ((True, 6 * np.array([1.0, 2.0])), (False, np.zeros(2))):
        outer = trellis.grad(
            lambda x, keep=retain: xp.sum(run(lambda y: xp.sum(y**3), x, retain_grads=keep)[1])
        )
        assert_close(outer(x), expected.astype("float32"), backend=backend)
        value = trellis.grad(
            lambda x, keep=retain: run(lambda y: xp.sum(y**3), x, retain_grads=keep)[0]
        )
        expected_value = 3 * np.array([1.0, 4.0]) if retain else np.zeros(2)
        assert_close(value(x), expected_value.astype("float32"), backend=backend)
    assert_compiled(
        backend, lambda c: run(lambda c: xp.sum(c["a"] * c["b"]), c), Container(a=x, b=y)
    )
    with x64():
        check_gradients(
            lambda x: run(lambda y: xp.sum(xp.sin(y)), x, retain_grads=True)[1],
            [array(X, "float64")],
            order=1,
        )
    assert_no_trace(backend, x)


# The with_grads stack
# --------------------------------------------------------------------------------


def run_steps_fresh(row):
    """The "steps" vectors, each in a thread of its own, that is with an empty stack."""
    for vector in vectors.of(row):
        results = []
        thread = threading.Thread(target=lambda v=vector: results.extend(vectors.run_steps(v)))
        thread.start()
        thread.join()
        for result, expected in zip(results, vector["out"], strict=True):
            if isinstance(expected, dict):
                assert isinstance(result, ValueError)
                assert isinstance(result, errors.TrellisError)
            else:
                assert result is expected


def weighted(backend):
    """A module with one variable, which it multiplies its input with."""

    class Weighted(trellis.Module):
        def _create_variables(self, *, device, dtype):
            return {"w": trellis.ones((2,), dtype=dtype, backend=backend)}

        def _forward(self, x):
            return x * self.v.w

    return Weighted(backend=backend)


def module_gradient(backend, xp):
    module = weighted(backend)
    x = xp.asarray([3.0, 4.0])
    return trellis.execute_with_gradients(lambda v: xp.sum(module(x, v=v)), module.v)[1].w


def test_with_grads(backend, xp):
    with trellis.using_backend(backend):
        run_steps_fresh("with_grads")
        assert trellis.with_grads() is True
        for wrong in (1, 0, "x", 1.0):
            with pytest.raises(errors.ArgumentError):
                trellis.with_grads(with_grads=wrong)
        with trellis.no_grads():
            assert [trellis.with_grads() for _ in range(3)] == [False] * 3
            assert trellis.with_grads(with_grads=True) is True
            assert_close(module_gradient(backend, xp), np.zeros(2, "float32"), backend=backend)
        assert_close(module_gradient(backend, xp), np.array([3.0, 4.0], "float32"), backend=backend)
        with pytest.raises(RuntimeError, match="inside"), trellis.no_grads():
            raise RuntimeError("inside")
        assert trellis.with_grads() is True

        seen = []

        def worker():
            trellis.set_with_grads(False)
            seen.append(trellis.with_grads())

        thread = threading.Thread(target=worker)
        thread.start()
        thread.join()
        assert seen == [False]
        assert trellis.with_grads() is True

        async def task(value, ready, others):
            trellis.set_with_grads(value)
            ready.set()
            await others.wait()
            return trellis.with_grads()

        async def both():
            a, b = asyncio.Event(), asyncio.Event()
            return await asyncio.gather(task(True, a, b), task(False, b, a))

        assert asyncio.run(both()) == [True, False]


def test_set_with_grads(backend, xp):
    with trellis.using_backend(backend):
        run_steps_fresh("set_with_grads")
        trellis.set_with_grads(True)
        trellis.set_with_grads(False)
        try:
            assert trellis.with_grads() is False
            with pytest.raises(errors.ArgumentError):
                trellis.set_with_grads(1)
            assert trellis.with_grads() is False
            assert_close(module_gradient(backend, xp), np.zeros(2, "float32"), backend=backend)
            trellis.unset_with_grads()
            assert trellis.with_grads() is True
        finally:
            trellis.unset_with_grads()


def test_unset_with_grads(backend, xp):
    with trellis.using_backend(backend):
        run_steps_fresh("unset_with_grads")
        for _ in range(3):
            trellis.unset_with_grads()
            assert trellis.with_grads() is True
        trellis.set_with_grads(False)
        trellis.unset_with_grads()
        assert trellis.with_grads() is True
        assert_close(module_gradient(backend, xp), np.array([3.0, 4.0], "float32"), backend=backend)


# Custom gradients
# ------------------------------------------------------------------------------------


def test_bind_custom_gradient_function(backend, xp, array, x64):
    every_dtype("bind_custom_gradient_function", xp, x64)
    bound = trellis.bind_custom_gradient_function(lambda x: x * x, lambda xy, up: up * xy[0])
    for dtype in ("float32", "float64"):
        with x64():
            x = array(X, dtype)
            assert_close(bound(x), (X * X).astype(dtype), backend=backend)
            gradient = trellis.grad(lambda x: xp.sum(bound(x)))
            assert_close(gradient(x), X.astype(dtype), backend=backend)
            assert_compiled(backend, gradient, x)
            # The rule's own derivative: d(up * x)/dx = 1.
            second = trellis.grad(
                lambda x: xp.sum(trellis.grad(lambda y: xp.sum(bound(y)))(x) * 3)
            )(x)
            assert_close(second, np.full(X.shape, 3.0, dtype), backend=backend)
            assert_close(trellis.value_and_grad(lambda x: xp.sum(bound(x)))(x)[1], X.astype(dtype))
            diagonal = trellis.jac(lambda x: bound(x))(array(X[0], dtype))
            assert_close(diagonal, np.diag(X[0]).astype(dtype), backend=backend)
            mapped = trellis.vmap(gradient)(x)
            assert_close(mapped, X.astype(dtype), backend=backend)
            run = trellis.execute_with_gradients(lambda x: xp.sum(bound(x)), x)[1]
            assert_close(run, X.astype(dtype), backend=backend)
    nests = trellis.bind_custom_gradient_function(
        lambda c: {"y": c["a"] + c["b"]},
        lambda xy, up: {"a": up["y"] * 2, "b": up["y"] * xy[0]["b"]},
    )
    x, y = array([1.0, 2.0], "float32"), array([3.0, 4.0], "float32")
    got = trellis.grad(lambda c: xp.sum(nests(c)["y"]))({"a": x, "b": y})
    assert_close(got, {"a": np.full(2, 2.0), "b": np.array([3.0, 4.0])}, dtype=False)
    # floor has no useful derivative of its own: the straight-through rule supplies one.
    straight = trellis.bind_custom_gradient_function(trellis.floor, lambda xy, up: up)
    assert_close(
        trellis.grad(lambda x: xp.sum(straight(x)))(x), np.ones(2, "float32"), backend=backend
    )
    wrong_structure = trellis.bind_custom_gradient_function(
        lambda x: x * 1, lambda xy, up: {"x": up}
    )
    with pytest.raises(errors.ShapeError, match="structure"):
        trellis.grad(lambda x: xp.sum(wrong_structure(x)))(x)
    wrong_shape = trellis.bind_custom_gradient_function(lambda x: x * 1, lambda xy, up: xp.sum(up))
    with pytest.raises(errors.ShapeError, match="shape"):
        trellis.grad(lambda x: xp.sum(wrong_shape(x)))(x)
