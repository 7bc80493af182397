"""`checkpoint` and `nn.Checkpoint`: everything is as without them, but for the memory."""

import gc
import weakref

import numpy as np
import pytest

import trellis
from trellis import Container, errors, nn, train

X = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4], [-1.2, 0.5, 0.8], [0.1, 1.4, -0.9]])
W = np.array([0.5, 1.5, -0.4])
# float64; compilers may order sums in another way.
CLOSE = {"rtol": 1e-11, "atol": 1e-13}


def plainly(fn):
    return fn


def assert_equal(found, expected):
    found, expected = trellis.tree.leaves(found), trellis.tree.leaves(expected)
    assert len(found) == len(expected) > 0
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b)
        np.testing.assert_allclose(trellis.to_numpy(a), trellis.to_numpy(b), **CLOSE)


# Functions ----------------------------------------------------------------------------------------


def closure(x, w, keep):
    return keep(lambda x: x * w * w)(x)


def in_a_row(x, w, keep):
    layer = keep(lambda x: trellis.tanh(x * w) + trellis.sum(w * w))
    return layer(layer(layer(x)))


def nested(x, w, keep):
    inner = keep(lambda y: trellis.sin(y * w))
    outer = keep(lambda x: inner(inner(x) * w) + keep(lambda y: y * y * w)(x))
    return outer(outer(x))


def derived(x, w, keep):
    """Used outside too, computed outside, and passed as well as closed over."""
    doubled = trellis.exp(w * 0.5)
    both = keep(lambda x, y: x * doubled + y * w + x * x)
    return both(x, w) * doubled + both(x * w, doubled) + keep(lambda y: y * x)(x)


def returned(x, w, keep):
    """The closure itself, and what is computed from nothing else."""
    return x * keep(lambda x: w)(x) + keep(lambda: w * w)() + keep(lambda w: w)(w)


def structured(x, w, keep):
    def fn(pair, scale, *, power, name):
        return {"y": pair[0] ** power * scale, "count": 2, "name": name, "both": (pair[1], None)}

    found = keep(fn)([x, w], 3.0, power=3, name="a")
    assert (found["count"], found["name"], found["both"][1]) == (2, "a", None)
    return found["y"] * found["both"][0] + keep(lambda i, x: x[i])(1, x)


def unused(x, w, keep):
    """Of several results and arguments some, and integers among them."""
    fn = keep(lambda x, y: (trellis.sin(x) * w, trellis.argmax(x, axis=0), y * y))
    first, place, _ = fn(x, w)
    return first * trellis.astype(trellis.sum(place), "float64")


def drawn(x, w, keep):
    def fn(x):
        noise = trellis.functional.dropout(trellis.ones_like(x), 0.3)
        return trellis.functional.dropout(x * w, 0.5) * trellis.tanh(w) * noise

    fn = keep(fn)
    return fn(fn(x)) + trellis.functional.dropout(w, 0.5) + keep(lambda x: fn(x * w))(x)


def derivative_inside(x, w, keep):
    return keep(lambda x: trellis.grad(lambda y: trellis.sum(y**3 * w))(x))(x)


ROWS = [
    closure, in_a_row, nested, derived, returned, structured, unused, drawn, derivative_inside
]  # fmt: skip


def loss_and_gradients(fn, keep, order):
    def value(x, w):
        return trellis.sum(trellis.sin(fn(x, w, keep)))

    def once(x, w):
        return trellis.value_and_grad(value, argnums=(0, 1))(x, w)

    def size(x, w):
        by_x, by_w = once(x, w)[1]
        return trellis.sum(by_x * by_x) + trellis.sum(trellis.sin(by_w))

    return once if order == 1 else trellis.grad(size, argnums=(0, 1))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("fn", ROWS, ids=lambda fn: fn.__name__)
def test_functions(backend, array, x64, fn, order):
    with x64():
        x, w = array(X, "float64"), array(W, "float64")
        results = []
        for keep in (trellis.checkpoint, plainly):
            trellis.seed(3)
            results.append(loss_and_gradients(fn, keep, order)(x, w))
        assert_equal(*results)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("fn", ROWS, ids=lambda fn: fn.__name__)
def test_compiled_functions(backend, array, x64, compiled, fn, order):
    with x64():
        x, w = array(X, "float64"), array(W, "float64")
        key = trellis.random.key(3, backend=backend)

        def run(keep):
            gradients = loss_and_gradients(fn, keep, order)

            def draws(x, w, key):
                with trellis.random.stream(key):
                    return gradients(x, w)

            return draws

        assert_equal(compiled(run(trellis.checkpoint))(x, w, key), run(plainly)(x, w, key))


def test_the_number_of_the_issue(backend, array):
    def loss(w):
        return trellis.sum(trellis.checkpoint(lambda x: x * w * w)(array([3.0], "float32")))

    found = trellis.grad(loss)(array([2.0], "float32"))
    np.testing.assert_allclose(trellis.to_numpy(found), [12.0], rtol=1e-7)


def test_draws_go_on_after_it(backend, array):
    """As many are made as without, and each call makes others."""
    x, found = array(np.ones((4, 3)), "float32"), []
    for keep in (trellis.checkpoint, plainly):
        draw = keep(lambda x: trellis.functional.dropout(x, 0.5))
        trellis.seed(1)
        trellis.grad(lambda x, draw=draw: trellis.sum(draw(x) * draw(x)))(x)
        found.append([trellis.to_numpy(draw(x)) for _ in range(2)])
    np.testing.assert_array_equal(*found)
    assert (found[0][0] != found[0][1]).any()


def test_frozen_draws_are_refused(backend, array, compiled):
    """As without it: the draw would be the same at each call of the compiled function."""
    fn = trellis.checkpoint(lambda x: trellis.functional.dropout(x, 0.5))
    with pytest.raises(Exception, match="without a seed"):
        compiled(lambda x: trellis.sum(fn(x)))(array(X, "float32"))


def test_settings_of_the_first_run(backend, array):
    """The way back comes when settings are others."""
    x, seen = array(X, "float32"), []

    def fn(x):
        seen.append((str(trellis.default_dtype()), trellis.with_grads()))
        return trellis.sin(x)

    with trellis.no_grads(), trellis.using_default_dtype("float64"):
        _, pull = trellis.vjp(trellis.checkpoint(fn), x)
    pull(x)
    assert set(seen) == {("float64", False)}
    assert len(seen) == (1 if backend == "jax" else 2)


# Modules ------------------------------------------------------------------------------------------


class Block(trellis.Module):
    """Draws, running statistics, and a buffer that the next result depends on."""

    def __init__(self, keep, **options):
        self._keep = keep
        self.inner = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1D(3)
        self.drop = nn.Dropout(0.5)
        super().__init__(**options)

    def _create_variables(self, *, device, dtype):
        self.register_buffer("memory", trellis.ones((3,), dtype=dtype, device=device))
        return {"scale": trellis.ones((3,), dtype=dtype, device=device)}

    def _forward(self, x):
        return self._keep(self._compute)(x) + self._keep(self.inner)(x)

    def _compute(self, x):
        y = self.drop(self.norm(trellis.tanh(self.inner(x)))) * self.v.scale * self.buffers.memory
        if self.training:
            self.register_buffer("memory", self.buffers.memory * 0.5 + trellis.mean(x * x, axis=0))
        return y


class Stack(trellis.Module):
    def __init__(self, keep, **options):
        self._keep = keep
        self.blocks = [Block(keep) for _ in range(3)]
        super().__init__(**options)

    def _forward(self, x):
        for block in self.blocks:
            x = self._keep(block)(x)
        return self.blocks[0](x)  # once more, with buffers that the first call has changed


def stack(keep, backend, dtype="float64"):
    trellis.seed(5)
    return Stack(keep, backend=backend, dtype=dtype)


def square(y):
    return trellis.mean(trellis.sin(y) ** 2)


@pytest.mark.parametrize("order", [1, 2])
def test_modules_with_given_variables(backend, array, x64, order):
    with x64():
        x, results = array(X, "float64"), []
        for keep in (trellis.checkpoint, plainly):
            model = stack(keep, backend)

            def once(v, model=model):
                return trellis.value_and_grad(lambda v: square(model(x, v=v)))(v)

            def size(v, once=once):
                return trellis.sum(once(v)[1].blocks.v1.inner.w ** 2)

            found = once(model.v) if order == 1 else trellis.grad(size)(model.v)
            results.append((found, model.buffers))
        assert_equal(*results)


def test_modules_with_their_own_variables(backend, array, x64):
    with x64():
        x, results = array(X, "float64"), []
        for keep in (trellis.checkpoint, plainly):
            model = stack(keep, backend)
            gradient = trellis.grad(lambda x, model=model: square(model(x)))(x)
            results.append((gradient, model.buffers, model.eval()(x)))
        assert_equal(*results)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_pure_calls_of_modules(backend, array, x64, compiled, is_compiled):
    with x64():
        x, results = array(X, "float64"), []
        key = trellis.random.key(8, backend=backend)
        for keep in (trellis.checkpoint, plainly):
            model = stack(keep, backend)

            def step(v, buffers, x, key, model=model):
                def loss(v):
                    with trellis.random.stream(key):
                        y, new = model.apply(v, buffers, x)
                    return square(y), new

                return trellis.value_and_grad(loss, has_aux=True)(v)

            call = compiled(step) if is_compiled else step
            results.append(call(model.v, model.buffers, x, key))
        assert_equal(*results)


def test_the_way_back_sees_the_module_as_it_was(backend, array, x64):
    """In between it may get other variables, buffers and another mode."""
    with x64():
        x, results = array(X, "float64"), []
        for keep in (trellis.checkpoint, plainly):
            model = stack(keep, backend)
            trellis.seed(6)
            y, pull = trellis.vjp(lambda x, model=model: square(model(x)), x)
            model.eval()
            model.v = trellis.tree.map(lambda a: a * 0.1, model.v)
            model.buffers = trellis.tree.map(lambda a: a * 0.1, model.buffers)
            before = model.buffers.copy()
            results.append((y, pull(trellis.ones_like(y))))
            assert_equal(model.buffers, before)
        assert_equal(*results)


def test_watched_calls_are_noted_once(backend, array):
    x = array(X, "float32")
    model = stack(trellis.checkpoint, backend, "float32")

    def loss(v):
        return square(model(x, v=v, track_submod_rets=True, track_submod_call_order=True))

    if backend == "jax":  # what it traces has no values to note
        with pytest.raises(errors.TracingError, match="no values yet"):
            trellis.grad(loss)(model.v)
        return
    trellis.grad(loss)(model.v)
    expected = stack(plainly, backend, "float32")
    expected(x, track_submod_rets=True, track_submod_call_order=True)
    counts = {key: len(rets) for key, rets in model.submod_rets.items()}
    assert counts == {key: len(rets) for key, rets in expected.submod_rets.items()}
    assert model.submod_call_order.key_chains() == expected.submod_call_order.key_chains()


def model_of(wrap, backend):
    trellis.seed(2)
    with trellis.using_backend(backend):
        blocks = [
            nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1D(4), nn.GELU(), nn.Dropout(0.2))
            for _ in range(3)
        ]
        return nn.Sequential(*[wrap(block) for block in blocks], nn.Linear(4, 1))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_fit_is_the_same(backend, is_compiled):
    rng = np.random.default_rng(0)
    x, results = rng.normal(size=(32, 4)).astype("float32"), []
    y = np.sin(x.sum(1, keepdims=True))
    for wrap in (nn.Checkpoint, plainly):
        model = model_of(wrap, backend)
        history = train.fit(
            model, lambda out, y: trellis.mean((out - y) ** 2), (x, y), batch_size=8, epochs=3,
            optimizer=trellis.optim.SGD(0.1), seed=0, compile=is_compiled, progress=False,
        )  # fmt: skip
        results.append((history.losses, model.v, model.buffers))
    for found, expected in zip(*results, strict=True):
        found, expected = trellis.tree.leaves(found), trellis.tree.leaves(expected)
        assert len(found) == len(expected) > 0
        for a, b in zip(found, expected, strict=True):
            # float32, 12 steps: sums in another order.
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=2e-6)


def test_a_layer_that_is_built_at_its_first_call(backend, array):
    class Late(trellis.Module):
        def _create_variables(self, *, device, dtype):
            return {"w": trellis.ones((3,), dtype=dtype, device=device)}

        def _forward(self, x):
            return x * self.v.w

    x = array(X, "float32")
    model = nn.Checkpoint(Late(build_mode="on_call"), build_mode="on_call")
    trellis.grad(lambda x: trellis.sum(model(x)))(x)
    assert model.v.key_chains() == ["module/w"]
    found = trellis.grad(lambda v: trellis.sum(model(x, v=v)))(model.v)
    np.testing.assert_allclose(trellis.to_numpy(found.module.w), X.sum(0), rtol=1e-6)


# Memory -------------------------------------------------------------------------------------------


def test_nothing_is_kept(backend, array):
    """Of five intermediate values none is left after the forward pass."""
    made = []

    def fn(x):
        for _ in range(5):
            x = trellis.sin(x) * 2.0
            made.append(weakref.ref(getattr(x, "_value", x)))
        return x

    y, pull = trellis.vjp(trellis.checkpoint(fn), array(X, "float32"))
    gc.collect()
    assert [ref() for ref in made[:4]] == [None] * 4
    expected = trellis.vjp(fn, array(X, "float32"))[1](y)[0]
    np.testing.assert_allclose(
        trellis.to_numpy(pull(y)[0]), trellis.to_numpy(expected), rtol=1e-5, atol=1e-7
    )


def test_containers(backend, array):
    c = Container(x=array(X, "float32"), w=array(W, "float32"))
    fn = trellis.checkpoint(lambda c: Container(y=c.x * c.w, z=c.w * c.w))
    found = trellis.grad(lambda c: trellis.sum(fn(c).y) + trellis.sum(fn(c).z))(c)
    np.testing.assert_allclose(trellis.to_numpy(found.w), X.sum(0) + 2 * W, rtol=1e-5)
