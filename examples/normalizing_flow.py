"""A normalizing flow bends the normal distribution into two moons.

A coupling keeps one coordinate, and moves and stretches the other by what it says. A chain of them
is one distribution with a density, whose parameters are trained as they are: it is a pytree.

python examples/normalizing_flow.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys

import numpy as np

import trellis
from trellis.distributions import Independent, Normal, Transformed, bijections


class Coupling(bijections.Bijection):
    """(a, b) becomes (b * exp(scale(a)) + shift(a), a), with both from one small network."""

    _ranks = (1, 1)
    _parts = ("inner", "bias", "outer")

    def __init__(self, inner, bias, outer):
        self.inner, self.bias, self.outer = inner, bias, outer

    def _network(self, xp, kept, inner, bias, outer):
        found = xp.matmul(xp.tanh(xp.matmul(kept, inner) + bias), outer)
        return xp.tanh(found[..., :1]), found[..., 1:]

    def _forward(self, xp, x, *parameters):
        scale, shift = self._network(xp, x[..., :1], *parameters)
        return xp.concat([x[..., 1:] * xp.exp(scale) + shift, x[..., :1]], axis=-1)

    def _inverse(self, xp, y, *parameters):
        scale, shift = self._network(xp, y[..., 1:], *parameters)
        return xp.concat([y[..., 1:], (y[..., :1] - shift) * xp.exp(-scale)], axis=-1)

    def _log_det(self, xp, x, *parameters):
        return self._network(xp, x[..., :1], *parameters)[0][..., 0]


def moons(random, n):
    """Two half circles, each around an end of the other, with noise."""
    turn = random.uniform(0, np.pi, n)
    side = np.where(random.random(n) < 0.5, 1.0, -1.0)
    circle = np.stack([np.cos(turn) - 0.5, np.sin(turn) - 0.25], axis=1)
    return (circle * side[:, None] + random.normal(0, 0.06, (n, 2))).astype("float32")


def main(backend="numpy", picture=None, steps=600):
    random = np.random.default_rng(0)
    native = lambda x: trellis.to_backend(np.asarray(x, "float32"), backend)  # noqa: E731
    layers = [
        Coupling(
            native(random.normal(0, 1, (1, 32))),
            native(random.normal(0, 1, 32)),
            native(random.normal(0, 0.05, (32, 2))),
        )
        for _ in range(8)
    ]
    flow = Transformed(Independent(Normal(native([0.0, 0.0]), 1.0), 1), layers)
    optimizer = trellis.optim.Adam(lr=5e-3)

    @trellis.compile
    def step(flow, state, x):
        value, grads = trellis.value_and_grad(lambda flow: -trellis.mean(flow.log_prob(x)))(flow)
        flow, state = optimizer.update(flow, grads, state)
        return flow, state, value

    state = optimizer.init(flow)
    for i in range(1, steps + 1):
        flow, state, value = step(flow, state, native(moons(random, 256)))
        if i % 200 == 0 or i == steps:
            print(f"{backend}: step {i}, loss {float(value):.4f}")

    if picture is not None:
        drawn = trellis.to_numpy(flow.sample(trellis.random.key(0, backend=backend), 1500))
        trellis.train.draw_curves(
            picture,
            {},
            points={"drawn": dict(drawn.tolist()), "seen": dict(moons(random, 300).tolist())},
            title="Two moons from a normal distribution",
            x_label="first coordinate",
            y_label="second coordinate",
        )
    return float(value)


if __name__ == "__main__":
    main(*sys.argv[1:3])
