"""Same seed, same program, same loss curve: four frameworks beside one another.

The kit compares whole models with stored curves; here are masks and a residual network.
"""

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn
from trellis.conformance.test_training import test_loss_curve as test_loss_curve
from trellis.testing import assert_close
from trellis.train import fit


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


# Residual networks --------------------------------------------------------------------------------


class Residual(trellis.Module):
    """Two blocks of a small ResNet, the second with a stride."""

    def __init__(self, activation, **options):
        self._activation = activation
        self._stem = nn.Conv2D(3, 8, 3, 1, "SAME", with_bias=False)
        self._norms = [nn.BatchNorm2D(8), nn.BatchNorm2D(8), nn.BatchNorm2D(16)]
        self._first = nn.Conv2D(8, 8, 3, 1, "SAME", with_bias=False)
        self._second = nn.Conv2D(8, 16, 3, 2, "SAME", with_bias=False)
        self._skip = nn.Conv2D(8, 16, 1, 2, "SAME", with_bias=False)
        self._head = nn.Linear(16, 10)
        super().__init__(**options)

    def _forward(self, x):
        x = self._activation(self._norms[0](self._stem(x)))
        x = self._activation(x + self._norms[1](self._first(x)))
        x = self._activation(self._skip(x) + self._norms[2](self._second(x)))
        return self._head(trellis.mean(x, axis=(1, 2)))


def residual_losses(backend, dtype):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(32, 12, 12, 3)).astype(dtype), random.integers(0, 10, 32)
    trellis.seed(0)
    start = Residual(trellis.tanh, backend="numpy").v
    model = Residual(trellis.tanh, backend=backend, dtype=dtype)
    model.v = trellis.tree.map(lambda p: trellis.asarray(p.astype(dtype), backend=backend), start)
    history = fit(
        model,
        F.cross_entropy,
        (x, y),
        optimizer=trellis.optim.SGD(0.1),
        batch_size=8,
        epochs=2,
        compile=backend in ("jax", "tensorflow"),
        progress=False,
        seed=1,
        validation_data=(x, y),
    )
    return np.array(history.losses + history.metrics["validation_loss"])


def test_a_smooth_residual_network_is_as_exact_as_float32(backend):
    """Eight steps against float64. Of ReLU this cannot be asked: where a value within rounding of
    0 falls on the other side, a gradient jumps (docs/training.md)."""
    expected = residual_losses("numpy", "float64")
    # 2e-7 to 4e-7 on the four frameworks, over six seeds.
    np.testing.assert_allclose(residual_losses(backend, "float32"), expected, rtol=0, atol=2e-6)
