"""Same seed, same program, same loss curve: four frameworks beside one another.

Each run goes through convolution, batch norm, dropout, attention and an LSTM. NumPy's curve is the
measure.
"""

import contextlib
import functools

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn
from trellis.testing import assert_close
from trellis.train import fit

STEPS = 15
# Relative to the loss at that step.
TOLERANCES = {"float32": 1e-3, "float64": 1e-8}

OPTIMIZERS = {
    "adam": lambda: trellis.optim.Adam(lr=3e-3),
    "momentum": lambda: trellis.optim.SGD(0.003, momentum=0.9),
    "adamw": lambda: trellis.optim.AdamW(lr=3e-3, weight_decay=0.1),
}


class Everything(trellis.Module):
    """Pictures (n, 6, 6, 2) through all kinds of layers to scores for 3 classes."""

    def __init__(self, **options):
        # Without a bias: before a batch norm its gradient is zero but for rounding, which Adam
        # would blow up.
        self._conv = nn.Conv2D(2, 8, 3, 1, "SAME", with_bias=False)
        self._norm = nn.BatchNorm2D(8)
        self._dropout = nn.Dropout(0.2)
        self._attention = nn.MultiHeadAttention(8, num_heads=2, dropout=0.1)
        self._after = nn.LayerNorm(8)
        self._lstm = nn.LSTM(8, 6, return_sequence=False, return_state=False)
        self._head = nn.Linear(6, 3)
        super().__init__(**options)

    def _forward(self, x):
        x = self._dropout(trellis.tanh(self._norm(self._conv(x))))
        rows = trellis.mean(x, axis=2)
        rows = self._after(rows + self._attention(rows))
        return self._head(self._lstm(rows))


def curve(backend, optimizer, dtype, steps=STEPS, checkpoint=None):
    """The losses of a run that goes on from the checkpoint, if there is one.
    benchmarks/loss_curves.py calls it too."""
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 6, 6, 2)).astype(dtype)
    y = np.digitize(x.mean(axis=(1, 2, 3)), [-0.05, 0.05]).astype("int32")
    trellis.seed(0)
    model = Everything(backend=backend, dtype=dtype)
    # 5 steps an epoch.
    history = fit(
        model,
        F.cross_entropy,
        (x, y),
        optimizer=OPTIMIZERS[optimizer](),
        batch_size=8,
        epochs=steps // 5,
        # One operation after another, JAX would compile each of them.
        compile=backend == "jax",
        progress=False,
        seed=1,
        checkpoint=checkpoint,
        resume=checkpoint is not None,
    )
    return np.array(history.losses), model.v


@functools.cache
def measure(optimizer, dtype):
    return curve("numpy", optimizer, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_loss_curves_coincide(backend, x64, optimizer, dtype):
    expected, trained = measure(optimizer, dtype)
    assert len(expected) == STEPS
    assert np.isfinite(expected).all()
    assert expected[-4:].mean() < expected[:4].mean(), "nothing was learned"
    with x64() if dtype == "float64" else contextlib.nullcontext():
        found, v = curve(backend, optimizer, dtype)
        # On NumPy itself a run repeats to the last bit.
        rtol = 0 if backend == "numpy" else TOLERANCES[dtype]
        np.testing.assert_allclose(found, expected, rtol=rtol)
        # Not all of them: the bias of the keys has no gradient but rounding, which Adam blows up.
        assert_close(v.head, trained.head, backend=backend, rtol=rtol, atol=rtol * 0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_masks_are_identical(backend, x64, dtype):
    """What a layer drops at every step of a run, whatever the framework."""

    def masks(name):
        seen = []

        class Recorder(trellis.Module):
            def __init__(self, **options):
                self._linear = nn.Linear(4, 4)
                self._first, self._second = nn.Dropout(0.5), nn.Dropout2D(0.3)
                super().__init__(**options)

            def _forward(self, x):
                x = self._linear(x)
                for layer in (self._first, self._second):
                    ones = trellis.ones_like(trellis.stop_gradient(x))
                    mask = layer(ones)
                    seen.append(mask)
                    x = x * mask
                return x

        trellis.seed(0)
        model = Recorder(backend=name, dtype=dtype)
        data = np.ones((8, 2, 3, 4), dtype)
        loss = lambda output: trellis.mean(output**2)  # noqa: E731
        options = {"batch_size": 4, "epochs": 2, "compile": False, "progress": False, "seed": 5}
        fit(model, loss, data, optimizer=trellis.optim.SGD(0.1), **options)
        return seen

    expected = masks("numpy")
    assert len(expected) == 8
    assert 0 < np.mean([mask == 0 for mask in expected[::2]]) < 1
    assert not np.array_equal(expected[0], expected[2])
    with x64():
        found = masks(backend)
        for mask, other in zip(found, expected, strict=True):
            assert_close(mask == 0, other == 0, backend=backend)
            assert_close(mask, other, backend=backend, rtol=1e-6)
