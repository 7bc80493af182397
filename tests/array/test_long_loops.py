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
