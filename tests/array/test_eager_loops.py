"""Loops outside a compiler, on JAX: each call brings a new closure, and one program serves them."""

import numpy as np
import pytest

import trellis
from trellis import functional as F

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture
def compilations():
    """A list that grows by one at each program that XLA compiles."""
    seen = []

    def listen(event, duration, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield seen
    jax.monitoring.unregister_event_duration_listener(listen)


def numbers(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype("float32"))


X, H = numbers(2, 5, 3), numbers(2, 4)
KERNEL, RECURRENT = numbers(3, 12), numbers(4, 12, seed=1)
LOG_PROBS = jax.nn.log_softmax(numbers(2, 6, 5))
LABELS = jnp.array([[1, 2], [2, 3]])


def gru_gradient(scale):
    def loss(kernel):
        return trellis.sum(F.gru_update(scale * X, H, kernel, RECURRENT)[0])

    return trellis.grad(loss)(KERNEL)


CALLS = {
    "scan": lambda s: trellis.scan(lambda c, x: (c + s * x, c), jnp.zeros(3), jnp.ones((4, 3)))[0],
    "while_loop": lambda s: trellis.while_loop(lambda n: n < 10 * s, lambda n: n + s, 0 * s),
    "cond": lambda s: trellis.cond(s > 0, lambda x: x + 1, lambda x: x - 1, s),
    "gru": lambda s: F.gru_update(s * X, H, KERNEL, RECURRENT)[1],
    "gradient of gru": gru_gradient,
    "ctc": lambda s: F.ctc_loss(s * LOG_PROBS, LABELS, jnp.array([6, 6]), jnp.array([2, 2])),
}


@pytest.mark.needs("jax")
@pytest.mark.parametrize("name", CALLS)
def test_new_closures_compile_once(name, compilations):
    call, first, second = CALLS[name], jnp.asarray(1.0), jnp.asarray(1.5)
    jax.block_until_ready(call(first))
    compilations.clear()
    for _ in range(3):
        found = call(second)
    assert compilations == []
    # Other values, by the same program: compared with one compiled for this very closure.
    expected = jax.jit(call)(second)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)  # fused in another order


@pytest.mark.needs("jax")
def test_bodies_that_differ_are_not_confused():
    """Among others in what a number's bits, an inner function or its derivative say."""

    def steps(body, count=2):
        return float(steps_of(body, jnp.asarray(1.0), count))

    def with_rule(slope):
        fn = jax.custom_jvp(lambda x: x * x)
        fn.defjvp(lambda primals, tangents: (primals[0] ** 2, slope * tangents[0]))
        return fn

    assert steps(lambda c: c + 1) == 3.0
    assert steps(lambda c: c + 2) == 5.0
    assert steps(lambda c: c - 1) == -1.0
    assert not np.signbit(steps(lambda c: c * 0.0, 1))
    assert np.signbit(steps(lambda c: c * -0.0, 1))
    assert steps(jax.jit(lambda c: c * 3)) == 9.0
    assert steps(jax.jit(lambda c: c * 4)) == 16.0
    for slope in (5.0, 7.0):
        assert float(jax.grad(lambda x, s=slope: steps_of(with_rule(s), x))(1.0)) == slope**2


def steps_of(body, x, count=2):
    return trellis.scan(lambda c, _: (body(c), c), x, jnp.ones(count))[0]


@pytest.mark.needs("jax")
def test_old_programs_are_let_go(monkeypatch, compilations):
    """The one that was used least recently goes first."""
    from trellis._backends.jax import _programs

    monkeypatch.setattr(_programs, "MOST", 2)
    x = jnp.zeros(())

    def run(n):
        compilations.clear()
        steps_of(lambda c: c + n, x)
        return len(compilations)

    for n in (11, 12, 11, 13):
        run(n)
    assert len(_programs._programs) == 2
    assert run(11) == run(13) == 0
    assert run(12) > 0
