"""A custom gradient: a layer whose weights are only +1 or -1 learns all the same.

sign(w) has no useful derivative. The straight-through rule passes the gradient on as if it were the
identity, where |w| <= 1.

python examples/custom_gradient.py [numpy | jax | torch | tensorflow]
"""

import sys

import numpy as np

import trellis


def plus_or_minus_one(w):
    return trellis.where(w >= 0, trellis.ones_like(w), -trellis.ones_like(w))


def straight_through(inputs_and_outputs, upstream):
    w, _ = inputs_and_outputs
    return trellis.where(trellis.abs(w) <= 1, upstream, trellis.zeros_like(upstream))


binarized = trellis.bind_custom_gradient_function(plus_or_minus_one, straight_through)


class BinaryLinear(trellis.Module):
    def __init__(self, inputs, outputs, **options):
        self._shape = (outputs, inputs)
        super().__init__(**options)

    def _create_variables(self, *, device, dtype):
        w = trellis.random_uniform(
            low=-0.5, high=0.5, shape=self._shape, dtype=dtype, device=device
        )
        return {"w": w, "scale": trellis.ones((), dtype=dtype, device=device)}

    def _forward(self, x):
        return trellis.linear(x, binarized(self.v.w)) * self.v.scale


def main(backend="numpy", steps=100):
    trellis.seed(0)
    model = BinaryLinear(12, 3, backend=backend)
    optimizer = trellis.optim.Adam(lr=0.02)
    random = np.random.default_rng(0)
    hidden = np.sign(random.normal(size=(3, 12)))  # what is to be found
    x = random.normal(size=(64, 12)).astype("float32")
    x, y = trellis.to_backend((x, (0.7 * x @ hidden.T).astype("float32")), backend)

    for step in range(1, steps + 1):
        loss, grads = trellis.execute_with_gradients(
            lambda v: trellis.mean((model(x, v=v) - y) ** 2), model.v
        )
        model.v = optimizer.step(model.v, grads)
        if step % 25 == 0 or step == steps:
            print(f"{backend}: step {step}, loss {float(loss):.5f}")
    right = np.mean(trellis.to_numpy(plus_or_minus_one(model.v.w)) == hidden)
    print(f"{backend}: {right:.0%} of the signs found, scale {float(model.v.scale):.3f}")
    return float(loss)


if __name__ == "__main__":
    main(*sys.argv[1:2])
