"""A multi-layer perceptron tells two spirals apart, trained with `fit`.

python examples/mlp.py [numpy | jax | torch | tensorflow]
"""

import sys

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn


def spirals(n, seed):
    """Points of two spirals, and which of the two each belongs to."""
    random = np.random.default_rng(seed)
    t = 3 * np.sqrt(random.uniform(0.02, 1, n))
    label = np.arange(n) % 2
    angle = 2 * t + np.pi * label
    points = np.stack([t * np.cos(angle), t * np.sin(angle)], axis=1) + random.normal(
        0, 0.05, (n, 2)
    )
    return points.astype("float32"), label


def main(backend="numpy", steps=600):
    trellis.seed(0)
    with trellis.using_backend(backend):
        model = nn.Sequential(
            nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
        )
    print(model)

    points, labels = spirals(
        400, seed=0
    )  # NumPy arrays: fit() converts them to the framework of the model
    batch_size = 40
    history = trellis.train.fit(
        model,
        F.cross_entropy,
        (points, labels),
        optimizer=trellis.optim.AdamW(lr=0.01),
        batch_size=batch_size,
        epochs=-(-steps * batch_size // len(points)),
        metrics="accuracy",
        progress=sys.stderr.isatty(),
        seed=0,
    )

    result = trellis.train.evaluate(
        model, F.cross_entropy, spirals(200, seed=1), metrics="accuracy"
    )
    print(f"{backend}: accuracy {result['accuracy']:.1%}, loss {history.final_loss:.4f}")
    return history.final_loss


if __name__ == "__main__":
    main(*sys.argv[1:2])
