"""A neural differential equation learns a spiral from a few points along it.

A network gives the speed at each place, a solver of adaptive steps the way; the gradient goes
through the steps of the solver (Chen and others, 2018).

python examples/neural_ode.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys

import numpy as np

import trellis
from trellis import nn, ode

START, TIMES = [1.5, 0.0], np.linspace(0, 3, 25)


def spiral(t, y):
    """What the data follows: turns that are faster outside, and friction."""
    turn = 1.0 + trellis.sum(y**2)
    return trellis.stack([-0.3 * y[0] + turn * y[1], -turn * y[0] - 0.3 * y[1]])


def main(backend="numpy", picture=None, steps=450):
    trellis.seed(0)
    with trellis.using_backend(backend):
        model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = trellis.optim.Adam(lr=0.02)
    seen = ode.odeint(spiral, np.array(START), TIMES)
    start, times, data = [
        trellis.to_backend(np.asarray(part, "float32"), backend) for part in (START, TIMES, seen)
    ]

    def way(v, times):
        def speed(t, y, v):
            return model(y[None], v=v)[0]

        # Everything that the derivative needs is an argument: the variables, too.
        return ode.odeint(speed, start, times, (v,), rtol=1e-3, atol=1e-3, max_steps=128)

    def step(v, state, times, data):
        def loss(v):
            return trellis.mean((way(v, times) - data) ** 2)

        value, grads = trellis.value_and_grad(loss)(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    if backend != "torch":  # torch.compile has no loop inside a derivative
        step = trellis.compile(step)
    v, state = model.v, optimizer.init(model.v)
    for i in range(1, steps + 1):
        # At first the beginning alone: a long way ends anywhere as long as the speed is wrong.
        count = 9 if i <= steps // 3 else len(TIMES)
        v, state, value = step(v, state, times[:count], data[:count])
        if i % 150 == 0 or i == steps:
            print(f"{backend}: step {i}, loss {float(value):.4f}")

    if picture is not None:
        fine = trellis.to_backend(np.linspace(0, 3, 161).astype("float32"), backend)
        found = trellis.to_numpy(way(v, fine)).tolist()
        trellis.train.draw_curves(
            picture,
            {"learned": dict(found)},
            points={"seen": dict(seen.tolist())},
            title="A neural differential equation",
            x_label="first coordinate",
            y_label="second coordinate",
        )
    return float(value)


if __name__ == "__main__":
    main(*sys.argv[1:3])
