"""One training loop, unchanged, on four frameworks: same seed, same losses.

python examples/four_backends.py            every framework that is installed
python examples/four_backends.py torch      only this one
"""

import sys

import numpy as np

import trellis
from trellis import nn


def train(backend, steps=200):
    x = np.linspace(-2, 2, 64, dtype="float32").reshape(-1, 1)
    x, y = trellis.to_backend((x, np.sin(3 * x)), backend)

    with trellis.using_backend(backend):  # new variables and keys: there is no array yet to decide
        trellis.seed(0)
        model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Dropout(0.05), nn.Linear(32, 1))
        key = trellis.random.key(1)
    optimizer = trellis.optim.Adam(lr=0.01)

    @trellis.compile  # jax.jit, torch.compile, tf.function; on NumPy it just runs
    def step(v, state, key):
        def loss(v):
            with trellis.random.stream(key):  # where dropout draws from
                return trellis.mean((model(x, v=v) - y) ** 2)

        value, grads = trellis.value_and_grad(loss)(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    v, state = model.v, optimizer.init(model.v)
    for i in range(steps):
        v, state, value = step(v, state, trellis.random.fold_in(key, i))
    return float(value)


def main(backend=None, steps=200):
    losses = {}
    for name in [backend] if backend else ["numpy", "jax", "torch", "tensorflow"]:
        try:
            losses[name] = train(name, steps)
        except trellis.errors.BackendNotInstalledError as error:
            print(error)
            continue
        print(f"{name:10}  loss after {steps} steps: {losses[name]:.6f}")
    return losses[backend] if backend else losses


if __name__ == "__main__":
    main(*sys.argv[1:2])
