"""A variational autoencoder: digits from two numbers each, and all digits between them.

The encoder answers with a normal distribution of codes, the decoder with one of pixels; the loss
asks that the second finds the digit again, and that the first stays near the standard normal one.

python examples/variational_autoencoder.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import trellis
from trellis import nn
from trellis.distributions import Bernoulli, Independent, Normal, kl_divergence


class Autoencoder(trellis.Module):
    """Distributions of codes given digits, and of digits given codes."""

    def __init__(self, codes=2, width=128, **options):
        self._codes = codes
        self._encoder = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, 2 * codes))
        self._decoder = nn.Sequential(
            nn.Linear(codes, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 64),
        )
        super().__init__(**options)

    def encode(self, x):
        h = self._encoder(x)
        loc, scale = h[:, : self._codes], trellis.exp(h[:, self._codes :])
        return Independent(Normal(loc, scale), 1)

    def decode(self, z):
        return Independent(Bernoulli(logits=self._decoder(z)), 1)

    def _forward(self, x, key):
        """The loss of each digit: its code, and what the code does not tell of it."""
        codes = self.encode(x)
        standard = Independent(Normal(trellis.zeros_like(codes.mean), 1.0), 1)
        seen = self.decode(codes.rsample(key)).log_prob(x)
        return kl_divergence(codes, standard) - seen


def write_picture(path, digits, columns):
    """Digits side by side as squares of grey, in SVG."""
    squares = []
    for n, digit in enumerate(digits.reshape(-1, 8, 8)):
        for (row, column), value in np.ndenumerate(digit):
            x, y = 9 * (n % columns) + column, 9 * (n // columns) + row
            grey = int(255 * (1 - value))
            place = f'x="{x}" y="{y}" width="1.02" height="1.02"'
            squares.append(f'<rect {place} fill="rgb({grey},{grey},{grey})"/>')
    size = f'viewBox="0 0 {9 * columns} {9 * -(-len(digits) // columns)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} width="576">'
    Path(path).write_text("\n".join([head, *squares, "</svg>"]))


def main(backend="numpy", picture=None, steps=1500):
    trellis.seed(0)
    model = Autoencoder(backend=backend)
    optimizer = trellis.optim.Adam(lr=3e-3)
    digits = (load_digits().data > 7).astype("float32")  # black or white
    key = trellis.random.key(1, backend=backend)

    @trellis.compile
    def step(v, state, x, key):
        def loss(v):
            return trellis.mean(model(x, key, v=v))

        value, grads = trellis.value_and_grad(loss)(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    v, state = model.v, optimizer.init(model.v)
    order = np.random.default_rng(0)
    for i in range(1, steps + 1):
        x = trellis.to_backend(digits[order.integers(0, len(digits), 128)], backend)
        v, state, value = step(v, state, x, trellis.random.fold_in(key, i))
        if i % 500 == 0 or i == steps:
            print(f"{backend}: step {i}, loss {float(value):.4f}")
    model.v = v

    if picture is not None:
        ticks = Normal(0.0, 1.0).icdf(np.linspace(0.02, 0.98, 12))  # as often as codes are there
        codes = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2).astype("float32")
        drawn = model.decode(trellis.to_backend(codes, backend)).mean
        write_picture(picture, trellis.to_numpy(drawn), len(ticks))
    return float(value)


if __name__ == "__main__":
    main(*sys.argv[1:3])
