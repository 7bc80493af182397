"""A physics-informed network solves a differential equation, from its second derivatives.

u'' = -u with u(0) = 0 and u'(0) = 1 has the solution sin(x). The network never sees a value of it.

python examples/pinn.py [numpy | jax | torch | tensorflow]
"""

import sys

import numpy as np

import trellis
from trellis import nn


def derivative(fn):
    """The derivative of a function that treats the rows of x one by one."""
    return trellis.grad(lambda x: trellis.sum(fn(x)))


def main(backend="numpy", steps=400):
    trellis.seed(0)
    with trellis.using_backend(backend):
        model = nn.Sequential(
            nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1)
        )
    optimizer = trellis.optim.Adam(lr=0.01)
    points = trellis.asarray(np.linspace(0, 3, 40, dtype="float32").reshape(-1, 1), backend=backend)
    origin = trellis.zeros_like(points[:1])

    @trellis.compile
    def step(v, state, points, origin):
        def loss(v):
            def u(x):
                return model(x, v=v)

            slope = derivative(u)
            residual = derivative(slope)(points) + u(points)
            start = u(origin) ** 2 + (slope(origin) - 1) ** 2
            return trellis.mean(residual**2) + trellis.mean(start)

        value, grads = trellis.value_and_grad(loss)(v)  # a third derivative, through the other two
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    v, state = model.v, optimizer.init(model.v)
    for i in range(1, steps + 1):
        v, state, value = step(v, state, points, origin)
        if i % 100 == 0 or i == steps:
            print(f"{backend}: step {i}, loss {float(value):.6f}")
    model.v = v

    error = trellis.max(trellis.abs(model(points) - trellis.sin(points)))
    print(f"{backend}: largest distance from sin(x) on [0, 3]: {float(error):.4f}")
    return float(value)


if __name__ == "__main__":
    main(*sys.argv[1:2])
