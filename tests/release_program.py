"""What a user does first, run by `make release` with nothing but the wheels installed."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np

import trellis
import trellis_board
from trellis import nn, optim

SITE = Path(sys.prefix).resolve()


def test_wheels():
    """The installed packages are those of the wheels, at the versions that they say."""
    for module, name in ((trellis, "trellis-ml"), (trellis_board, "trellis-board")):
        assert SITE in Path(module.__file__).resolve().parents, module.__file__
        assert importlib.metadata.version(name) == module.__version__
    assert (Path(trellis.__file__).parent / "py.typed").exists()


def test_training():
    trellis.seed(0)
    x = np.linspace(-1, 1, 32, dtype="float32").reshape(-1, 1)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optim.Adam(lr=0.05)

    def loss(v):
        return trellis.mean((model(x, v=v) - x**2) ** 2)

    v, state = model.v, optimizer.init(model.v)
    first = float(loss(v))
    for _ in range(50):
        _, grads = trellis.value_and_grad(loss)(v)
        v, state = optimizer.update(v, grads, state)
    assert float(loss(v)) < first / 2


def test_commands():
    for command in ("trellis", "trellis-board"):
        done = subprocess.run(
            [SITE / "bin" / command, "--help"], capture_output=True, text=True, check=True
        )
        assert "usage" in done.stdout.lower(), done.stdout
    plugin = importlib.metadata.entry_points(group="pytest11")
    assert "trellis-board" in plugin.names


if __name__ == "__main__":
    test_wheels()
    test_training()
    test_commands()
    print(f"trellis-ml {trellis.__version__} and trellis-board {trellis_board.__version__}: fine")
