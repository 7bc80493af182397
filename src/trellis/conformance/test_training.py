"""The same seed gives the loss curve that is stored in `curves.json`, on every backend.

Each run goes through convolution, batch norm, dropout, attention and an LSTM. NumPy's curves were
stored: `python -m trellis.conformance.test_training` writes them.
"""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn
from trellis.testing import assert_close
from trellis.train import fit

STORED = Path(__file__).parent / "curves.json"
STEPS = 15
DTYPES = ("float32", "float64")
# Relative to the loss at that step: rounding grows with each step of Adam.
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
    """The losses of a run that goes on from the checkpoint, if there is one, and its variables."""
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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_loss_curve(backend, xp, x64, optimizer, dtype):
    if dtype == "float64" and not xp.ABILITIES.has_float64:
        pytest.skip("float64 is none of its types")
    stored = json.loads(STORED.read_text(encoding="utf-8"))[optimizer][dtype]
    expected = np.array(stored["losses"])
    assert len(expected) == STEPS and expected[-4:].mean() < expected[:4].mean()
    with x64() if dtype == "float64" else contextlib.nullcontext():
        found, v = curve(backend, optimizer, dtype)
        rtol = TOLERANCES[dtype]
        np.testing.assert_allclose(found, expected, rtol=rtol)
        # Not all of them: the bias of the keys has no gradient but rounding, which Adam blows up.
        for name, values in stored["head"].items():
            want = np.array(values, dtype)
            assert_close(v.head[name], want, backend=backend, rtol=rtol, atol=rtol * 0.1)


def store():
    """NumPy's curves, in the digits that each type has."""
    found = {}
    for optimizer in OPTIMIZERS:
        for dtype in DTYPES:
            losses, v = curve("numpy", optimizer, dtype)
            digits = 9 if dtype == "float32" else 17
            head = {name: rounded(leaf.tolist(), digits) for name, leaf in v.head.items()}
            entry = {"losses": rounded(losses.tolist(), digits), "head": head}
            found.setdefault(optimizer, {})[dtype] = entry
    STORED.write_text(json.dumps(found) + "\n", encoding="utf-8")


def rounded(x, digits):
    if isinstance(x, list):
        return [rounded(item, digits) for item in x]
    return float(f"{x:.{digits}g}")


if __name__ == "__main__":
    store()
