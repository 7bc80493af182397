"""A small transformer learns a poem letter by letter, and then writes.

python examples/character_transformer.py [numpy | jax | torch | tensorflow]
"""

import sys

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn

TEXT = """Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?
"""  # William Blake, 1794
LETTERS = sorted(set(TEXT))
LENGTH = 16


class Writer(trellis.Module):
    """Scores for the next letter at every place of a text."""

    def __init__(self, width=32, **options):
        self._letters = nn.Embedding(len(LETTERS), width)
        self._places = nn.Embedding(LENGTH, width)
        self._layers = [
            nn.TransformerEncoderLayer(
                width, num_heads=4, feedforward_channels=64, norm_first=True, dropout=0.0
            )
            for _ in range(2)
        ]
        self._norm = nn.LayerNorm(width)
        self._head = nn.Linear(width, len(LETTERS))
        super().__init__(**options)

    def _forward(self, text, places):
        x = self._letters(text) + self._places(places)
        for layer in self._layers:
            x = layer(x, is_causal=True)
        return self._head(self._norm(x))


def write(model, begin, count, backend):
    text = [LETTERS.index(letter) for letter in begin]
    places = trellis.asarray(np.arange(LENGTH, dtype="int32"), backend=backend)
    for _ in range(count):
        window = text[-LENGTH:]
        padded = np.array([window + [0] * (LENGTH - len(window))], "int32")
        scores = model(trellis.asarray(padded, backend=backend), places)
        text.append(int(trellis.argmax(scores[0, len(window) - 1])))
    return "".join([LETTERS[i] for i in text])


def main(backend="numpy", steps=150):
    trellis.seed(0)
    model = Writer(backend=backend)
    letters = np.array([LETTERS.index(letter) for letter in TEXT], "int32")
    windows = np.stack([letters[i : i + LENGTH + 1] for i in range(len(letters) - LENGTH)])
    places = np.broadcast_to(np.arange(LENGTH, dtype="int32"), (len(windows), LENGTH))
    data, batch_size = (windows[:, :-1], places, windows[:, 1:]), 16

    history = trellis.train.fit(
        model,
        F.cross_entropy,
        data,
        optimizer=trellis.optim.AdamW(lr=3e-3),
        batch_size=batch_size,
        drop_last=True,
        epochs=-(-steps // (len(windows) // batch_size)),
        progress=sys.stderr.isatty(),
        seed=0,
    )
    print(f"{backend}: loss {history.final_loss:.4f}")
    print(write(model.eval(), "Tyger", 60, backend))
    return history.final_loss


if __name__ == "__main__":
    main(*sys.argv[1:2])
