"""Six models from each of four frameworks to each of five formats: the matrix of the board."""

from pathlib import Path

import numpy as np
import pytest

import trellis
from export_models import FORMATS, MODELS, make, run
from trellis import export
from trellis.testing import assert_close

# What each format needs beside the weights: the graph, names, signatures and our record.
OVERHEAD = {
    "onnx": 40_000,
    "torch_export": 260_000,  # a zip with the graph as JSON
    "stablehlo": 60_000,
    "saved_model": 400_000,  # the graph several times: for the function and for its signature
    "tflite": 60_000,
}
# The multi-layer perceptron always; all others in the long run.
ROWS = [
    pytest.param(
        name, format, id=f"{name}_{format}", marks=[pytest.mark.long] if name != "mlp" else []
    )
    for name in MODELS
    for format in FORMATS
]


def check(name, format, backend, tmp_path):
    model, args, dynamic = make(name, backend)
    path = tmp_path / FORMATS[format]
    made = getattr(export, f"to_{format}")(model, args=args, path=path, dynamic=dynamic)
    # Two more than the example, and values that nobody has compared yet.
    inputs = {port.name: x for port, x in zip(made.inputs, grown(made.inputs, args))}
    found = run(format, path, inputs)
    found = found if isinstance(found, list) else [found[port.name] for port in made.outputs]
    # The expectation comes from NumPy, wherever the model was made.
    reference, _, _ = make(name, "numpy")
    given = trellis.tree.unflatten(trellis.tree.structure(args), list(inputs.values()))
    expected = trellis.tree.leaves(reference.eval()(*given))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        # float32, sums in another order: five digits of numbers around one.
        assert_close(x, y.astype(x.dtype), rtol=1e-4, atol=1e-5)
    weights = sum([np.asarray(trellis.to_backend(x, "numpy")).nbytes
                   for x in trellis.tree.leaves([model.v, model.buffers])])  # fmt: skip
    assert made.size <= 1.1 * weights + OVERHEAD[format], "are the weights in it twice?"
    here = str(Path(trellis.__file__).parent).encode()
    for part in path.rglob("*") if path.is_dir() else [path]:
        if part.is_file():
            assert here not in part.read_bytes(), "directories of this machine are in it"


def grown(ports, args):
    rng = np.random.default_rng(7)
    for port, x in zip(ports, trellis.tree.leaves(args), strict=True):
        x = np.asarray(x)
        shape = tuple([s + 2 if isinstance(n, str) else s for s, n in zip(x.shape, port.shape)])
        if x.dtype.kind == "f":
            yield rng.normal(size=shape).astype(x.dtype)
        elif x.dtype.kind == "b":
            yield rng.random(shape) < 0.3
        else:
            yield rng.integers(x.min(), x.max() + 1, shape).astype(x.dtype)


@pytest.mark.needs("jax", "torch", "tensorflow")
@pytest.mark.parametrize("name, format", ROWS)
def test_export(name, format, backend, tmp_path):
    check(name, format, backend, tmp_path)
