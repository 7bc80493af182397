"""Train a small convolutional network on real handwritten digits.

    python -m trellis.demo                         on NumPy; takes under two minutes
    python -m trellis.demo --backends torch,jax    on two frameworks, one after the other
    python -m trellis.demo --backends all          on all that are known

The loss curves of all runs are drawn into one picture, build/loss_curves.svg, and coincide. The
data are the 1797 images of 8 x 8 pixels that come with scikit-learn.
"""

import argparse
import sys
import time
from typing import Any

import trellis
from trellis import functional as F
from trellis import nn
from trellis._core.dispatch import backend_names


class DigitReader(trellis.Module):
    """Two convolutions with batch normalisation, dropout, and a linear layer on top."""

    def __init__(self, **options: Any):
        # Without biases: the batch norms that follow would subtract them again.
        self._conv0 = nn.Conv2D(1, 16, 3, 1, "SAME", with_bias=False)
        self._norm0 = nn.BatchNorm2D(16)
        self._conv1 = nn.Conv2D(16, 32, 3, 2, "SAME", with_bias=False)
        self._norm1 = nn.BatchNorm2D(32)
        self._dropout = nn.Dropout(0.25)
        self._linear = nn.Linear(4 * 4 * 32, 10)
        super().__init__(**options)

    def _forward(self, x: Any) -> Any:
        x = F.relu(self._norm0(self._conv0(x)))
        x = F.relu(self._norm1(self._conv1(x)))
        return self._linear(self._dropout(trellis.reshape(x, (-1, 4 * 4 * 32))))


def load_digits() -> tuple[Any, Any]:
    """Training and test data: pictures (n, 8, 8, 1) with values in [0, 1], and the digits that they
    show."""
    try:
        from sklearn.datasets import load_digits as load
    except ImportError:
        raise SystemExit(
            "The demo needs the handwritten digits of scikit-learn, which is not installed.\n"
            "Run: pip install scikit-learn"
        ) from None
    digits = load()
    pictures = (digits.images / 16).astype("float32")[..., None]
    labels = digits.target.astype("int32")
    cut = 1440  # 30 batches of 48; the last 357 pictures are kept for the test
    return (pictures[:cut], labels[:cut]), (pictures[cut:], labels[cut:])


def train(backend: str, epochs: int, compile: bool = True) -> tuple[list[float], float]:
    """The losses of all steps, and the accuracy on the test pictures."""
    training, test = load_digits()
    trellis.seed(0)
    model = DigitReader(backend=backend)
    if backend == "numpy":
        print(model.summary((1, 8, 8, 1)))
    begin = time.perf_counter()
    history = trellis.train.fit(
        model,
        F.cross_entropy,
        training,
        optimizer=trellis.optim.Adam(lr=2e-3),
        batch_size=48,
        epochs=epochs,
        metrics="accuracy",
        seed=0,
        compile=compile,
    )
    seconds = time.perf_counter() - begin
    result = trellis.train.evaluate(
        model, F.cross_entropy, test, batch_size=119, metrics="accuracy", compile=compile
    )
    print(
        f"{backend}: {result['accuracy']:.1%} of {len(test[1])} unseen digits read correctly "
        f"(loss {history.final_loss:.4f}, {len(history.losses)} steps in {seconds:.1f} s)"
    )
    return history.losses, result["accuracy"]


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Train on the chosen frameworks; returns the accuracy on each."""
    parser = argparse.ArgumentParser(
        prog="python -m trellis.demo",
        description="Train a small convolutional network on handwritten digits.",
    )
    parser.add_argument(
        "--backends", default="numpy", help=f'"all", or some of {",".join(backend_names())}'
    )
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument(
        "--picture", default="build/loss_curves.svg", help="where to draw (.svg or .png)"
    )
    parser.add_argument("--eager", action="store_true", help="do not compile")
    chosen = parser.parse_args(arguments)
    names = list(backend_names()) if chosen.backends == "all" else chosen.backends.split(",")
    for name in names:
        trellis.namespace(name)  # an unknown or missing framework raises before anything runs
    curves, accuracies = {}, {}
    for name in names:
        curves[name], accuracies[name] = train(name, chosen.epochs, not chosen.eager)
    title = "Handwritten digits: the loss" + (
        f", {len(names)} frameworks" if len(names) > 1 else f" on {names[0]}"
    )
    trellis.train.draw_curves(chosen.picture, curves, title=title)
    if len(names) > 1:
        print(f"Largest distance between two curves: {_distance(list(curves.values())):.2g}")
    print(f"Drawn: {chosen.picture}")
    return accuracies


def _distance(curves: list[list[float]]) -> float:
    """The largest difference at any step, relative to the largest loss."""
    gaps = [max(values) - min(values) for values in zip(*curves, strict=True)]
    return max(gaps) / max([max(curve) for curve in curves])


if __name__ == "__main__":
    sys.exit(None if main() else 1)
