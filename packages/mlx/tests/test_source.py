"""Ejected source of MLX: programs that import nothing but MLX compute what the model did."""

import subprocess
import sys

import mlx.core as mx
import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn
from trellis.conformance.rows import ROWS, expectation, map_arrays, run
from trellis.errors import NotSupportedError

# Operations that no program can contain: MLX has no function for them, or none whose shape depends
# on values.
UNSPELLED = {
    "linalg.eig",
    "linalg.eigvals",
    *{"erfc", "nextafter", "grouped_matmul", "index_max", "index_min", "index_multiply"},
    *{"nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"},
    *{"fft.hfft", "fft.ihfft", "linalg.det", "linalg.matrix_norm", "linalg.matrix_rank"},
    *{"linalg.pinv", "linalg.qr", "linalg.slogdet", "linalg.svd", "linalg.svdvals"},
    *{"linear of bool", "linear of uint16", "matmul of bool", "matmul of int64"},
    *{"einsum of bool", "tensordot of bool", "vecdot of bool"},
    *{"max_pool with positions", "random.make_key", "random.keep"},
}
NOT_TRACED = ("cond", "while_loop", "functional.non_max_suppression", "can_cast", "switch",
              "fori_loop", "bincount")  # fmt: skip


def forward_of(source):
    space = {}
    exec(compile(source, "<ejected>", "exec"), space)
    return space["forward"]


def leaves(nest):
    found = trellis.tree.leaves(nest) if trellis.tree.is_nest(nest) else [nest]
    return [np.array(x) if isinstance(x, mx.array) else np.asarray(x) for x in found]


class Transformer(nn.Module):
    def _build(self):
        self.embed = nn.Embedding(11, 8)
        self.blocks = [nn.TransformerEncoderLayer(8, 2, 16) for _ in range(2)]
        self.head = nn.Linear(8, 3)

    def _forward(self, ids):
        y = self.embed(ids)
        for block in self.blocks:
            y = block(y)
        return self.head(trellis.mean(y, axis=1))


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))


def cnn():
    return nn.Sequential(
        nn.Conv2D(3, 8, (3, 3), 1, "SAME"), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(2),
        nn.Conv2D(8, 8, (3, 3), 2, "VALID", groups=4), nn.Flatten(), nn.Linear(8, 2),
    )  # fmt: skip


NUMBERS = np.random.default_rng(0)
FEATURES = NUMBERS.normal(size=(3, 4)).astype("float32")
IMAGES = NUMBERS.normal(size=(2, 6, 6, 3)).astype("float32")
IDS = np.array([[1, 2, 3], [4, 5, 10]], "int32")
MODELS = {"mlp": (mlp, FEATURES), "cnn": (cnn, IMAGES), "transformer": (Transformer, IDS)}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_runs_with_mlx_alone(name, tmp_path):
    """In a process that cannot import Trellis, with the file of weights that the model wrote."""
    make, data = MODELS[name]
    trellis.seed(3)
    with trellis.using_backend("mlx"):
        model = make().eval()
    x = mx.array(data)
    (tmp_path / "ejected.py").write_text(trellis.trace(model, x).to_source("mlx"))
    model.save_weights(tmp_path / "weights.safetensors")
    np.save(tmp_path / "x.npy", data)
    program = (
        "import sys\n"
        "sys.modules['trellis'] = sys.modules['trellis_mlx'] = sys.modules['numpy'] = None\n"
        "import mlx.core as mx, ejected\n"
        "y = ejected.forward(mx.load('weights.safetensors'), mx.load('x.npy'))\n"
        "mx.save('y.npy', y)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    # The same kernels of MLX, in a few places in another order.
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), np.array(model(x)), rtol=1e-6)


def test_a_loss_has_the_gradients_of_the_model():
    trellis.seed(3)
    with trellis.using_backend("mlx"):
        model = mlp()
    x, labels = mx.array(FEATURES), mx.array([0, 1, 1])

    def loss(v):
        return F.cross_entropy(model(x, v=v), labels)

    graph = trellis.trace(lambda x, y: F.cross_entropy(model(x), y), x, labels)
    forward = forward_of(graph.to_source("mlx"))
    state = {chain: model.v[chain] for chain in model.v.key_chains()}
    found = mx.grad(lambda v: forward(v, x, labels))(state)
    wanted = trellis.grad(loss)(model.v)
    assert set(found) == set(wanted.key_chains())
    for chain in found:
        # float32, the gradients of a few layers.
        np.testing.assert_allclose(found[chain], wanted[chain], rtol=1e-5, atol=1e-7)


def check_row(name):
    """The operations of the row that have no spelling; if there are none, the program was run and
    compared with the row's expectation. None if it gives no array."""
    row = ROWS[name]
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
    kinds = {"float64": dtype, "complex128": "complex64"}
    args = map_arrays(lambda x: mx.array(x.astype(kinds.get(x.dtype.name, x.dtype))), row.args)
    with trellis.using_backend("mlx"):
        graph = trellis.trace(lambda *args: run(row, args), *args)
        try:
            source = graph.to_source("mlx")
        except NotSupportedError as error:
            listed = str(error).partition("for: ")[2].partition(". Write")[0]
            return {part.partition(" (")[0] for part in listed.split(", ")}
    found = forward_of(source)(*[x for x in trellis.tree.leaves(list(args)) if hasattr(x, "dtype")])
    if not any(isinstance(x, mx.array) for x in trellis.tree.leaves([found])):
        return None
    wanted = leaves(expectation(row, dtype, "mlx"))
    for x, y in zip(leaves(found), wanted, strict=True):
        assert x.shape == y.shape
        if y.dtype.kind in "fcb":
            assert x.dtype == y.dtype, name
        # float32, and functions of other formulas than NumPy's.
        np.testing.assert_allclose(x, y, rtol=row.rtol32 or 1e-4, atol=1e-5, err_msg=source)
    return set()


def test_rows_are_written():
    missing, written = set(), 0
    for name, row in ROWS.items():
        if row.op not in NOT_TRACED:
            found = check_row(name)
            missing |= found or set()
            written += found == set()
    assert missing == UNSPELLED
    assert written > 500


def test_float64_is_not_written():
    """MLX's own kernels are exact to float32 only; programs would lose digits in silence."""
    x = mx.array([0.3], dtype=mx.float64)
    with pytest.raises(NotSupportedError, match="cannot write float64"):
        trellis.trace(trellis.exp, x).to_source("mlx")
    with pytest.raises(NotSupportedError, match="no equivalent for: erfc"):
        trellis.trace(trellis.erfc, mx.array([0.3])).to_source("mlx")
