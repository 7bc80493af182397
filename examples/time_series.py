"""A recurrent network forecasts a series; NumPy trains it first, another framework goes on.

The checkpoint holds variables, optimizer, order of the data and draws, so the losses are those of a
run on one framework alone.

python examples/time_series.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys
import tempfile

import numpy as np

import trellis
from trellis import nn

PAST, FUTURE = 24, 12


def series(n=600):
    """Two seasons, a slow trend and noise."""
    random = np.random.default_rng(0)
    t = np.arange(n)
    values = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 7) + t / n
    return (values + random.normal(0, 0.05, n)).astype("float32")


class Forecast(trellis.Module):
    """Reads the past, and answers with the whole future at once."""

    def __init__(self, **options):
        self._memory = nn.GRU(1, 24, return_sequence=False, return_state=False)
        self._head = nn.Linear(24, FUTURE)
        super().__init__(**options)

    def _forward(self, x):
        return x[:, -1:, 0] + self._head(self._memory(x))


def mean_squared(output, y):
    return trellis.mean((output - y) ** 2)


def train(backend, data, epochs, checkpoint):
    """Up to `epochs` in all: on from the checkpoint, whichever framework wrote it."""
    trellis.seed(0)
    model = Forecast(backend=backend)
    history = trellis.train.fit(
        model,
        mean_squared,
        data,
        optimizer=trellis.optim.Adam(lr=5e-3),
        batch_size=64,
        epochs=epochs,
        checkpoint=checkpoint,
        resume=True,
        progress=sys.stderr.isatty(),
        seed=0,
    )
    return model, history


def main(backend="numpy", picture=None, steps=400):
    values = series()
    windows = np.lib.stride_tricks.sliding_window_view(values, PAST + FUTURE)
    data = windows[:-48, :PAST, None], windows[:-48, PAST:]
    epochs = max(2, steps // (len(data[0]) // 64 + 1))
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = f"{folder}/forecast.safetensors"
        train("numpy", data, epochs // 2, checkpoint)
        model, history = train(backend, data, epochs, checkpoint)
    print(f"{backend}: loss {history.final_loss:.4f} after {len(history.losses)} steps")

    past = values[-PAST - FUTURE : -FUTURE].reshape(1, PAST, 1)
    forecast = trellis.to_numpy(model(trellis.to_backend(past, backend)))[0]
    if picture is not None:
        curves = {"seen later": values[-FUTURE:].tolist(), "forecast": forecast.tolist()}
        trellis.train.draw_curves(picture, curves, title="Forecast", y_label="value")
    return history.final_loss


if __name__ == "__main__":
    main(*sys.argv[1:3])
