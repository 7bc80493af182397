"""What a user does first, run by `make release` with nothing but the wheels and one framework
installed: `python tests/release_program.py torch`."""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

# TensorFlow announces its build on standard error otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

import trellis
import trellis_board

SITE = Path(sys.prefix).resolve()
README = Path(__file__).parents[1] / "README.md"


def test_wheels():
    """The installed packages are those of the wheels, at the versions that they say."""
    for module, name in ((trellis, "trellis-ml"), (trellis_board, "trellis-board")):
        assert SITE in Path(module.__file__).resolve().parents, module.__file__
        assert importlib.metadata.version(name) == module.__version__
    assert (Path(trellis.__file__).parent / "py.typed").exists()


def test_readme(backend):
    """The README's program trains, to the same loss as on NumPy."""
    # From a file: TensorFlow reads the source of what it compiles.
    file = Path("readme_program.py")
    file.write_text(
        README.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    )
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loss = module.train(backend)
    assert loss < 0.2, loss
    # 200 steps in float32, added in another order.
    np.testing.assert_allclose(loss, module.train("numpy"), rtol=1e-3)
    print(f"README's program on {backend}: a loss of {loss:.6f}")


def test_forward_mode_and_weights(backend):
    with trellis.using_backend(backend):
        x = trellis.asarray([1.0, 2.0])
        value, slope = trellis.jvp(lambda x: trellis.sum(x**2), (x,), (x,))
        assert (float(value), float(slope)) == (5.0, 10.0)
        layer = trellis.nn.Linear(2, 3)
        layer.save_weights("layer.safetensors")
        before = trellis.to_numpy(layer(x))
        other = trellis.nn.Linear(2, 3)
        other.load_weights("layer.safetensors")
        np.testing.assert_array_equal(trellis.to_numpy(other(x)), before)


def test_commands(backend):
    for command in ("trellis", "trellis-board"):
        done = subprocess.run(
            [SITE / "bin" / command, "--help"], capture_output=True, text=True, check=True
        )
        assert "usage" in done.stdout.lower(), done.stdout
    subprocess.run([SITE / "bin" / "trellis", "doctor", "--backend", backend], check=True)
    subprocess.run([SITE / "bin" / "trellis", "verify", "--backend", "numpy"], check=True)
    plugin = importlib.metadata.entry_points(group="pytest11")
    assert "trellis-board" in plugin.names


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "numpy"
    test_wheels()
    test_readme(name)
    test_forward_mode_and_weights(name)
    test_commands(name)
    print(f"trellis-ml {trellis.__version__} and trellis-board {trellis_board.__version__}: fine")
