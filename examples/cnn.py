"""A convolutional network with batch normalisation and dropout reads the direction of stripes.

python examples/cnn.py [numpy | jax | torch | tensorflow]
"""

import sys

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn


def stripes(n, size=10):
    """Noisy pictures of stripes in one of four directions, and the number of the direction."""
    random = np.random.default_rng(0)
    label = random.integers(0, 4, n)
    angle = (np.pi / 4 * label).reshape(-1, 1, 1)
    row, column = np.mgrid[:size, :size]
    phase = random.uniform(0, 6, (n, 1, 1))
    images = np.sin(1.5 * (row * np.sin(angle) + column * np.cos(angle)) + phase)
    images += random.normal(0, 0.7, images.shape)
    return images[..., None].astype("float32"), label


class Network(trellis.Module):
    def __init__(self, **options):
        self._conv0 = nn.Conv2D(1, 8, 3, 1, "SAME")
        self._norm0 = nn.BatchNorm2D(8)  # running statistics live in module.buffers
        self._conv1 = nn.Conv2D(8, 16, 3, 2, "SAME")
        self._norm1 = nn.BatchNorm2D(16)
        self._dropout = nn.Dropout(0.2)
        self._linear = nn.Linear(16, 4)
        super().__init__(**options)

    def _forward(self, x):
        x = F.relu(self._norm0(self._conv0(x)))
        x = F.relu(self._norm1(self._conv1(x)))
        x = trellis.mean(x, axis=(1, 2))
        return self._linear(self._dropout(x))


def main(backend="numpy", steps=120):
    trellis.seed(0)
    model = Network(backend=backend)
    print(model)

    data, batch_size = stripes(320), 32
    history = trellis.train.fit(
        model,
        F.cross_entropy,
        data,
        optimizer=trellis.optim.Adam(lr=0.01),
        batch_size=batch_size,
        epochs=-(-steps * batch_size // len(data[0])),
        metrics="accuracy",
        progress=sys.stderr.isatty(),
        seed=0,
    )
    print(
        f"{backend}: accuracy {history.metrics['accuracy'][-1]:.1%}, loss {history.final_loss:.4f}"
    )
    return history.final_loss


if __name__ == "__main__":
    main(*sys.argv[1:2])
