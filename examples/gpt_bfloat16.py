"""A GPT in bfloat16: activations and gradients in 16 bits, variables in 32.

The same program trains in float32 beside it; the curves lie on each other. NumPy has no fast
arithmetic in 16 bits: there it is float32 alone.

python examples/gpt_bfloat16.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn

TEXT = """Whose woods these are I think I know.
His house is in the village though;
He will not see me stopping here
To watch his woods fill up with snow.
"""  # Robert Frost, 1923
LETTERS, LENGTH = sorted(set(TEXT)), 16


class GPT(trellis.Module):
    """Scores for the next letter at every position of a text."""

    def __init__(self, width=32, **options):
        self._letters = nn.Embedding(len(LETTERS), width)
        self._blocks = nn.TransformerEncoder(
            2,
            width,
            num_heads=4,
            feedforward_channels=64,
            dropout=0.0,
            activation="gelu",
            norm_first=True,
        )
        self._head = nn.Linear(width, len(LETTERS))
        super().__init__(**options)

    def _forward(self, text):
        x = self._letters(text)
        places = trellis.arange(LENGTH, dtype="int32", device=trellis.device(x))
        x = x + F.sinusoidal_encoding(places, x.shape[-1], dtype=x.dtype)
        return self._head(self._blocks(x, is_causal=True))


def train(backend, steps, precision):
    trellis.seed(0)
    model = GPT(backend=backend)
    letters = np.array([LETTERS.index(letter) for letter in TEXT], "int32")
    windows = np.stack([letters[i : i + LENGTH + 1] for i in range(len(letters) - LENGTH)])
    batches = len(windows) // 16
    with trellis.using_backend(backend):
        history = trellis.train.fit(
            model,
            F.cross_entropy,
            (windows[:, :-1], windows[:, 1:]),
            optimizer=trellis.optim.AdamW(lr=3e-3),
            batch_size=16,
            drop_last=True,
            epochs=-(-steps // batches),
            mixed_precision=precision,
            progress=sys.stderr.isatty(),
            seed=0,
        )
    return history.losses


def main(backend="numpy", picture=None, steps=150):
    curves = {"float32": train(backend, steps, None)}
    try:
        curves = {"bfloat16": train(backend, steps, "bfloat16"), **curves}
    except trellis.errors.NotSupportedError as error:  # NumPy
        print(error)
    found = ", ".join([f"{name} {losses[-1]:.4f}" for name, losses in curves.items()])
    print(f"{backend}: loss in {found}")
    if picture is not None:
        trellis.train.draw_curves(picture, curves, title="A GPT in two precisions")
    return next(iter(curves.values()))[-1]


if __name__ == "__main__":
    main(*sys.argv[1:3])
