"""Scans of many steps, compiled by torch: loops of the graph, or no compiler at all."""

import functools
import logging

import numpy as np
import pytest

import trellis
from oracles import torch
from trellis import Container, errors

pytestmark = pytest.mark.needs("torch")
# In place of 256 steps, which take their time.
LONG = 8


@pytest.fixture(autouse=True)
def _eight_steps_are_many(monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr("trellis._backends.torch.control.LONG", LONG)


def kept():
    """How many loops were kept so far."""
    from trellis._backends.torch._long_loops import loops_in_graph

    return loops_in_graph["count"]


W = np.random.default_rng(0).normal(size=(3, 3)).astype("float32") / 2


def inputs(length):
    return np.random.default_rng(1).normal(size=(length, 2, 3)).astype("float32")


def steps(w, xs):
    """A state of several arrays, one of which is given back as it came; a Container as output."""

    def body(carry, x):
        h, n = carry
        new = trellis.tanh(h @ w + x)
        return (new, n + 1), Container(new=new, old=h)

    start = trellis.zeros_like(xs[0])
    return trellis.scan(body, (start, trellis.sum(xs[0, 0, :0])), xs)


def expected(length):
    h, hs = np.zeros((2, 3)), []
    for x in inputs(length).astype("float64"):
        hs.append(h)
        h = np.tanh(h @ W + x)
    return h, np.stack(hs)


def loss(w, xs):
    return trellis.sum(steps(w, xs)[0][0] ** 2)


@pytest.fixture
def lines(caplog):
    """What users were told."""
    with caplog.at_level(logging.WARNING, logger="trellis"):
        yield lambda: [r.getMessage() for r in caplog.records if "has a scan of" in r.getMessage()]


@pytest.fixture
def quick_compiler(monkeypatch):
    """Everything but the C++ compiler."""
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager"))


@pytest.mark.usefixtures("quick_compiler")
def test_a_loop_stays_a_loop():
    before = kept()
    length = LONG
    given = torch.tensor(W), torch.tensor(inputs(length))
    (h, n), ys = trellis.compile(steps)(*given)
    last, olds = expected(length)
    # Values below 1 that forget: a few roundings of float32.
    np.testing.assert_allclose(h, last, atol=1e-6)
    np.testing.assert_allclose(ys.old, olds, atol=1e-6)
    assert float(n) == length
    assert kept() == before + 1
    short = trellis.compile(lambda xs: trellis.scan(lambda c, x: (c + x, c), xs[0], xs)[0])
    short(torch.ones(3, 2))
    assert kept() == before + 1


@pytest.mark.long  # three programs of torch's compiler
def test_derivatives_around_and_bodies_that_draw(lines):
    (h, _), _ = trellis.compile(steps)(torch.tensor(W), torch.tensor(inputs(30)))
    np.testing.assert_allclose(h, expected(30)[0], atol=1e-6)
    w = torch.tensor(W, requires_grad=True)
    xs = torch.tensor(inputs(LONG))
    trellis.compile(loss)(w, xs).backward()
    by_hand = trellis.grad(loss)(torch.tensor(W), xs)
    # Sums over the steps in float32.
    np.testing.assert_allclose(w.grad, by_hand, rtol=1e-4, atol=1e-6)

    def noisy(xs, key):
        with trellis.random.stream(key):
            body = lambda c, x: (c + x * trellis.random_uniform(low=0 * c), c)  # noqa: E731
            return trellis.scan(body, xs[0], xs)[0]

    key = trellis.random.key(0, backend="torch")
    compiled = trellis.compile(noisy)
    for _ in range(2):
        # A stream counts its draws outside of the loop: each step has its own number.
        np.testing.assert_allclose(compiled(xs, key), noisy(xs, key), rtol=1e-5, atol=1e-5)
    assert len(lines()) == 1 and "with draws" in lines()[0]


def test_derivatives_inside_leave_the_compiler(lines):
    length = LONG
    xs, w = inputs(length), torch.tensor(W)
    step = trellis.compile(lambda w, xs: trellis.value_and_grad(loss)(w, xs))
    for _ in range(2):
        value, slope = step(w, torch.tensor(xs))
        by_numpy = trellis.value_and_grad(loss)(W, xs)
        # Sums over the steps in float32.
        np.testing.assert_allclose(value, by_numpy[0], rtol=1e-5)
        np.testing.assert_allclose(slope, by_numpy[1], rtol=1e-4, atol=1e-6)
    assert len(lines()) == 1 and "inside a derivative" in lines()[0]


def test_without_the_compiler_its_rules_stay():
    """A draw without a key would be one number forever in a compiled program, so it raises."""

    def step(w, xs):
        return trellis.grad(loss)(w, xs) + trellis.random_uniform(shape=())

    with pytest.raises(errors.TracingError):
        trellis.compile(step)(torch.tensor(W), torch.tensor(inputs(LONG)))


# Pieces -------------------------------------------------------------------------------------------

LENGTH = 21  # one step alone, two pieces of 8, and four steps that are left


@pytest.fixture
def many(monkeypatch):
    """Twenty steps are many inside a derivative. Gives how many pieces were traced so far."""
    from trellis._backends.torch import _long_loops

    monkeypatch.setattr("trellis._backends.torch.control.LONG", 256)
    monkeypatch.setattr("trellis._backends.torch.control.MANY", LENGTH)
    monkeypatch.setattr(_long_loops, "_pieces", {})
    return lambda: _long_loops._traced["count"]


def of_all(w, xs):
    """A loss of every state, and of the last."""
    (h, _), ys = steps(w, xs)
    return trellis.sum(h**2) + trellis.sum(ys.new * ys.old)


def compare(found, wanted):
    for x, y in zip(trellis.tree.leaves(found), trellis.tree.leaves(wanted), strict=True):
        # Sums over the steps in float32.
        np.testing.assert_allclose(trellis.to_numpy(x), y, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("quick_compiler")
def test_one_piece_is_compiled_for_all_steps_and_calls(many, lines):
    before, xs = many(), inputs(LENGTH)
    step = trellis.compile(trellis.value_and_grad(of_all))
    for w in (W, 2 * W):
        compare(step(torch.tensor(w), torch.tensor(xs)), trellis.value_and_grad(of_all)(w, xs))
    assert many() == before + 1
    assert len(lines()) == 1


@pytest.mark.usefixtures("quick_compiler")
def test_a_second_derivative_needs_no_piece(many):
    """torch has no second derivative of what it compiled."""
    before, xs = many(), inputs(LENGTH)

    def curvature(w, xs):
        return trellis.grad(lambda w: trellis.sum(trellis.grad(of_all)(w, xs) ** 2))(w)

    compiled = trellis.compile(curvature)(torch.tensor(W), torch.tensor(xs))
    found = trellis.to_numpy(compiled)
    direction = np.random.default_rng(3).normal(size=(3, 3))
    wide, long = W.astype("float64"), xs.astype("float64")
    slope = [np.sum(trellis.grad(of_all)(wide + e * direction, long) ** 2) for e in (1e-5, -1e-5)]
    # Central differences in float64, against sums in float32.
    assert np.sum(found * direction) == pytest.approx((slope[0] - slope[1]) / 2e-5, rel=1e-3)
    assert many() == before


@pytest.mark.usefixtures("quick_compiler")
def test_vmap_and_forward_mode_need_no_piece(many):
    xs = inputs(LENGTH)
    rows = np.stack([W, W / 2])
    per_row = trellis.vmap(trellis.grad(of_all), in_axes=(0, None))
    compare(trellis.compile(per_row)(torch.tensor(rows), torch.tensor(xs)), per_row(rows, xs))


@pytest.mark.usefixtures("quick_compiler")
def test_a_body_that_draws_runs_as_it_is(many):
    xs, key = inputs(LENGTH), trellis.random.key(0, backend="torch")

    def noisy(w, xs, key):
        def body(h, x):
            noise = trellis.random_uniform(low=0 * trellis.stop_gradient(x))
            h = trellis.tanh(h @ w + x) * noise
            return h, h

        with trellis.random.stream(key):
            return trellis.sum(trellis.scan(body, trellis.zeros_like(xs[0]), xs)[1])

    given = torch.tensor(W), torch.tensor(xs), key
    for _ in range(2):  # each step has a draw of its own
        compare(trellis.compile(trellis.grad(noisy))(*given),
                trellis.to_numpy(trellis.grad(noisy)(*given)))  # fmt: skip


@pytest.mark.usefixtures("quick_compiler")
def test_torchs_own_compiler_unrolls_as_before(many):
    """Who calls torch.compile has no other way: nothing can leave it."""
    before = many()
    step = torch.compile(trellis.value_and_grad(of_all), fullgraph=True)
    xs = inputs(LENGTH)
    compare(step(torch.tensor(W), torch.tensor(xs)), trellis.value_and_grad(of_all)(W, xs))
    assert many() == before
