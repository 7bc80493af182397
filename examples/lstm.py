"""An LSTM forecasts a curve: the next value of two waves added up.

python examples/lstm.py [numpy | jax | torch | tensorflow]
"""

import sys

import numpy as np

import trellis
from trellis import nn


class Forecaster(trellis.Module):
    def __init__(self, hidden=24, **options):
        self._lstm = nn.LSTM(1, hidden, return_state=False)
        self._head = nn.Linear(hidden, 1)
        super().__init__(**options)

    def _forward(self, x):
        return self._head(self._lstm(x))


def waves(n, length=25):
    random = np.random.default_rng(0)
    t = random.uniform(0, 50, (n, 1)) + np.arange(length)
    return (np.sin(0.4 * t) + 0.5 * np.sin(0.9 * t))[..., None].astype("float32")


def main(backend="numpy", steps=100):
    trellis.seed(0)
    model = Forecaster(backend=backend)
    optimizer = trellis.optim.Adam(lr=0.02).after(trellis.optim.clip_by_global_norm(1.0))
    series = trellis.asarray(waves(32), backend=backend)
    x, y = series[:, :-1], series[:, 1:]

    @trellis.compile
    def loss_and_gradients(v, x, y):
        return trellis.value_and_grad(lambda v: trellis.mean((model(x, v=v) - y) ** 2))(v)

    for step in range(1, steps + 1):
        loss, gradients = loss_and_gradients(model.v, x, y)
        model.v = optimizer.step(model.v, gradients)
        if step % 20 == 0 or step == steps:
            print(f"{backend}: step {step}, loss {float(loss):.5f}")
    return float(loss)


if __name__ == "__main__":
    main(*sys.argv[1:2])
