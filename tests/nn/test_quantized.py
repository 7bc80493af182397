"""Weights as small integers: the restored bits, sizes of files, layers, training beside them."""

import numpy as np
import pytest

import trellis
from conftest import compile_with
from oracles import torch
from trellis import errors, models, nn, optim
from trellis.conformance.compilers import forget_programs
from trellis.nn.module.around import weight_of
from trellis.testing import assert_close
from trellis.train import fit

CONFIG = {"vocab_size": 512, "hidden_size": 128, "num_attention_heads": 2,
          "intermediate_size": 512, "num_hidden_layers": 1,
          "max_position_embeddings": 16}  # fmt: skip


def by_formula(w, bits, group):
    """Number by number, in Python: rounded to the nearest of the integers times the scale."""
    found = np.zeros(w.shape, np.float32)
    for i, row in enumerate(w.astype(np.float32)):
        for begin in range(0, len(row), group):
            part = row[begin : begin + group]
            largest = part[np.argmax(np.abs(part))]
            scale = largest / np.float32(-8) if bits == 4 else abs(largest) / np.float32(127)
            scale = np.float32(np.float16(scale))
            low, high = (-8, 7) if bits == 4 else (-127, 127)
            for j, x in enumerate(part):
                code = min(max(round(float(x / scale)), low), high) if scale else 0
                found[i, begin + j] = np.float32(code) * scale
    return found


@pytest.fixture(autouse=True)
def _default_backend(request):
    named = "backend" in request.fixturenames
    with trellis.using_backend(request.getfixturevalue("backend") if named else "numpy"):
        yield


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("bits", "group"), [(4, 8), (4, None), (8, None), (8, 6)])
def test_restored_weights(bits, group, kind, backend):
    """The same bits as by the formula, on every framework; 21 is no multiple of a group."""
    w = np.random.default_rng(0).normal(size=(5, 21)).astype("float32") * 0.05
    w[2] = 0  # a row without a scale
    layer = nn.Linear(21, 5, backend=backend)
    b = layer.v.b
    layer.v = {"w": trellis.asarray(w, backend=backend), "b": b}
    nn.quantize(layer, bits, group, dtype=kind)
    found = weight_of(layer)
    assert str(trellis.dtype(found)) == kind
    size = group or (64 if bits == 4 else 21)
    expected = trellis.asarray(by_formula(w, bits, size), backend="numpy")
    expected = trellis.to_numpy(trellis.astype(expected, kind)).astype("float32")
    assert (trellis.to_numpy(found).astype("float32") == expected).all()
    # Half of a step is the most that rounding can be wrong; -8 has no positive counterpart.
    largest = np.abs(w).max() / (8 if bits == 4 else 127)
    assert np.abs(expected - w).max() <= largest * 1.02


def test_layers(backend):
    """A dense layer, a table and its rows, with the restored weight; in one program too."""
    trellis.seed(0)
    model = nn.Sequential(nn.Embedding(9, 12), nn.Linear(12, 5, with_bias=False))
    indices = trellis.asarray(np.array([[2, 7, 2]], "int32"), backend=backend)
    nn.quantize(model, 4, 4)
    assert model.v.key_chains() == []
    words, w = (trellis.to_numpy(weight_of(layer)) for layer in model)
    expected = words[[[2, 7, 2]]] @ w.T
    # Sums of 12 products in float32.
    assert_close(model(indices), expected, rtol=1e-5, atol=1e-5, backend=backend)
    forget_programs(backend)
    call = compile_with(backend, lambda buffers, x: model(x, buffers=buffers), autograph=False)
    found = call(model.buffers, indices)
    assert_close(found, expected, rtol=1e-5, atol=1e-5, backend=backend)


def test_files_are_small(backend, tmp_path):
    """At most 0.30 of float16 with 4 bits; what is loaded computes the same bits."""
    trellis.seed(0)
    model = models.Bert(models.BertConfig(**CONFIG), backend=backend).astype("float16").eval()
    model.save_weights(tmp_path / "half")
    nn.quantize(model, 4, dtype="float32")
    model.v = trellis.tree.map(lambda x: trellis.astype(x, "float32"), model.v)
    tokens = trellis.asarray(np.array([[2, 7, 3]], "int32"), backend=backend)
    expected = trellis.to_numpy(model(tokens).pooled)
    model.v = trellis.tree.map(lambda x: trellis.astype(x, "float16"), model.v)
    model.save_weights(tmp_path / "small")
    sizes = {name: (tmp_path / name).stat().st_size for name in ("half", "small")}
    assert sizes["small"] <= 0.30 * sizes["half"]
    trellis.seed(1)
    other = models.Bert(models.BertConfig(**CONFIG), backend=backend).astype("float16").eval()
    nn.quantize(other, 4, dtype="float32")
    other.load_weights(tmp_path / "small")
    other.v = trellis.tree.map(lambda x: trellis.astype(x, "float32"), other.v)
    assert (trellis.to_numpy(other(tokens).pooled) == expected).all()
    with pytest.raises(errors.NotSupportedError, match="save_weights"):
        model.save_pretrained(tmp_path / "folder")


def test_adapters_beside_integers(backend):
    """The integers stay, the loss falls, and adapters do not merge into them."""
    trellis.seed(0)
    model = nn.quantize(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2)))
    before = trellis.to_numpy(model.buffers["layers/v0/codes"]).copy()
    nn.lora(model, 2, variant="dora")
    x = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")
    history = fit(model, lambda out, y: trellis.mean((out - y) ** 2), (x, x[:, :2]), epochs=8,
                  optimizer=optim.Adam(1e-2), progress=False, compile=False)  # fmt: skip
    assert history.losses[-1] < history.losses[0]
    assert (trellis.to_numpy(model.buffers["layers/v0/codes"]) == before).all()
    with pytest.raises(errors.ArgumentError, match="Merge first"):
        nn.adapters.merge(model)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("bits", [4, 8])
def test_onnx_stays_small(bits, tmp_path):
    """onnxruntime computes what the model computes, and the file holds the integers."""
    onnx = pytest.importorskip("onnx")
    trellis.seed(0)
    with trellis.using_backend("torch"):
        model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64))
    count = 256 * 256 + 64 * 256
    nn.quantize(model, bits)
    path = tmp_path / "model.onnx"
    x = torch.randn(3, 256)
    trellis.export.to_onnx(model, (x,), path)  # compared with onnxruntime before it returns
    assert path.stat().st_size < count * 2 * (0.30 if bits == 4 else 0.55) + 16_000
    kinds = {t.data_type for t in onnx.load(path).graph.initializer if len(t.dims) == 2}
    assert kinds & {onnx.TensorProto.UINT8 if bits == 4 else onnx.TensorProto.INT8}


def test_arguments_that_do_not_fit():
    layer = nn.Linear(4, 3, backend="numpy")
    for options, said in (
        ({"bits": 3}, "4 and 8 bits"),
        ({"group": 7}, "even number"),
        ({"dtype": "int8"}, "not int8"),
        ({"where": "head"}, "matches nothing"),
    ):
        with pytest.raises(errors.ArgumentError, match=said):
            nn.quantize(layer, **options)
    assert layer.v.key_chains() == ["b", "w"]
