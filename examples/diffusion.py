"""A diffusion model learns handwritten digits, and draws new ones from noise.

A digit is mixed with noise; the network is told how much, and guesses the noise. To draw, it begins
with noise alone and takes away what it guesses, in a few steps (DDIM).

python examples/diffusion.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import trellis
from trellis import nn


def mixed(x, noise, t):
    """Digit and noise at time t, from 0 (digit) to 1 (noise); the variance stays."""
    angle = t * (np.pi / 2 * 0.99)
    return trellis.cos(angle) * x + trellis.sin(angle) * noise


class Denoiser(trellis.Module):
    """Guesses the noise in a mixture of 64 pixels, from the mixture and the time."""

    def __init__(self, width=192, **options):
        self._first = nn.Linear(64 + 16, width)
        self._second = nn.Linear(width, width)
        self._norm = nn.LayerNorm(width)
        self._last = nn.Linear(width, 64)
        super().__init__(**options)

    def guess(self, z, t):
        waves = [trellis.sin(t * 2.0**i + phase) for i in range(8) for phase in (0.0, np.pi / 2)]
        h = trellis.functional.silu(self._first(trellis.concat([z, *waves], axis=-1)))
        h = h + trellis.functional.silu(self._second(self._norm(h)))
        return self._last(h)

    def _forward(self, x):
        """The squared error of the guess, for each digit at a time of its own."""
        t = trellis.random_uniform(low=trellis.zeros_like(x[:, :1]), high=1.0)
        noise = trellis.random_normal(mean=trellis.zeros_like(x), std=1.0)
        return trellis.mean((self.guess(mixed(x, noise, t), t) - noise) ** 2, axis=-1)


def draw(model, noise, steps=20):
    """Digits from noise: at each step what is left of the noise, a little earlier in time."""
    z = noise
    for i in range(steps, 0, -1):
        now, before = [
            trellis.full_like(z[:, :1], at / steps) * (np.pi / 2 * 0.99) for at in (i, i - 1)
        ]
        guess = model.guess(z, now / (np.pi / 2 * 0.99))
        x = trellis.clip((z - trellis.sin(now) * guess) / trellis.cos(now), -1.0, 1.0)
        z = trellis.cos(before) * x + trellis.sin(before) * guess
    return z


def write_picture(path, digits, columns=8):
    """Digits side by side as squares of grey, in SVG."""
    squares = []
    for n, digit in enumerate(digits.reshape(-1, 8, 8)):
        for (row, column), value in np.ndenumerate(digit):
            x, y = 9 * (n % columns) + column, 9 * (n // columns) + row
            grey = int(np.clip(127.5 * (1 - value), 0, 255))
            place = f'x="{x}" y="{y}" width="1.02" height="1.02"'
            squares.append(f'<rect {place} fill="rgb({grey},{grey},{grey})"/>')
    size = f'viewBox="0 0 {9 * columns} {9 * -(-len(digits) // columns)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} width="576">'
    Path(path).write_text("\n".join([head, *squares, "</svg>"]))


def main(backend="numpy", picture=None, steps=1000):
    trellis.seed(0)
    model = Denoiser(backend=backend)
    digits = (load_digits().data / 8 - 1).astype("float32")  # from -1 to 1
    per_epoch = len(digits) // 128
    history = trellis.train.fit(
        model,
        trellis.mean,
        digits,
        optimizer=trellis.optim.Adam(lr=2e-3),
        batch_size=128,
        drop_last=True,
        epochs=-(-steps // per_epoch),
        progress=sys.stderr.isatty(),
        seed=0,
    )
    loss = float(np.mean(history.losses[-per_epoch:]))  # a step alone is noisy
    print(f"{backend}: error of the guessed noise {loss:.4f}")
    if picture is not None:
        noise = trellis.random.normal(trellis.random.key(1, backend=backend), (32, 64))
        write_picture(picture, trellis.to_numpy(draw(model.eval(), noise)))
    return loss


if __name__ == "__main__":
    main(*sys.argv[1:3])
