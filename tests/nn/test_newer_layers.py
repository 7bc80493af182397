"""Values of experts, state spaces, normalised weights and stacks, against formulas in NumPy."""

import numpy as np
import pytest

import trellis
from conftest import one_program
from trellis import nn
from trellis.errors import ArgumentError

X = np.random.default_rng(0).standard_normal((2, 5, 4)).astype("float32")


def made(backend, make):
    """A layer with its variables on a backend, and these variables as NumPy arrays in float64."""
    trellis.seed(0)
    with trellis.using_backend("numpy"):
        layer = make()
    v = trellis.tree.map(lambda w: trellis.to_numpy(w).astype("float64"), layer.v)
    layer.v = trellis.to_backend(layer.v, backend)
    layer.buffers = trellis.to_backend(layer.buffers, backend)
    return layer, v


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("chosen", [1, 2])
def test_tokens_get_their_experts(backend, array, chosen):
    make = lambda: nn.MixtureOfExperts(4, 6, 3, chosen, activation="relu")  # noqa: E731
    layer, v = made(backend, make)
    p = softmax(X.astype("float64") @ v["router"])
    expected = np.zeros(X.shape)
    for token in np.ndindex(2, 5):
        best = np.argsort(-p[token])[:chosen]
        for i in best:
            inner = np.maximum(X[token] @ v["w1"][i], 0) @ v["w2"][i]
            expected[token] += p[token][i] / p[token][best].sum() * inner
    # Two products of up to six elements in float32.
    np.testing.assert_allclose(trellis.to_numpy(layer(array(X))), expected, atol=3e-6)
    compiled = one_program(backend, lambda v, x: layer(x, v=v))(layer.v, array(X))
    np.testing.assert_allclose(trellis.to_numpy(compiled), expected, atol=3e-6)


def test_balance_is_one_where_all_get_as_many(backend, array):
    even = nn.MixtureOfExperts(3, 6, 3, 1, backend=backend)
    even.v = {**even.v, "router": array(100 * np.eye(3, dtype="float32"))}
    # Probabilities of 0 and 1 in float32.
    assert float(even.balance_loss(array(np.eye(3), "float32"))) == pytest.approx(1, abs=1e-6)
    one = array(np.ones((3, 1)) * np.eye(3)[:1], "float32")
    assert float(even.balance_loss(one)) == pytest.approx(3, abs=1e-6)


def test_mamba_is_its_recurrence(backend, array):
    layer, v = made(backend, lambda: nn.Mamba(4, state_channels=3, window=2, delta_rank=2))
    x = X.astype("float64")
    both = x @ v["in"]["w"].T
    y, gate = both[..., :8], both[..., 8:]
    before = np.concatenate([np.zeros((2, 1, 8)), y[:, :-1]], axis=1)
    y = before * v["conv"]["w"][0, 0] + y * v["conv"]["w"][1, 0] + v["conv"]["b"]
    y = y / (1 + np.exp(-y))
    chosen = y @ v["select"]["w"].T
    delta = np.log1p(np.exp(chosen[..., :2] @ v["delta"]["w"].T + v["delta"]["b"]))
    b, c = chosen[..., 2:5], chosen[..., 5:]
    h, out = np.zeros((2, 8, 3)), []
    for t in range(5):
        step = delta[:, t, :, None]
        h = h * np.exp(-step * [1.0, 2.0, 3.0]) + step * b[:, t, None] * y[:, t, :, None]
        out.append((h * c[:, t, None]).sum(-1) + y[:, t])
    expected = (np.stack(out, 1) * gate / (1 + np.exp(-gate))) @ v["out"]["w"].T
    # Sums of up to eight products in float32, of numbers below 2.
    np.testing.assert_allclose(trellis.to_numpy(layer(array(X))), expected, atol=3e-6)


def test_weight_norm(backend, array):
    layer, v = made(backend, lambda: nn.WeightNorm(nn.Linear(4, 3)))
    w = v["module"]["w"]
    np.testing.assert_allclose(v["g"], np.linalg.norm(w, axis=1), rtol=1e-6)
    layer.v = {**layer.v, "g": array([1.0, 2.0, 3.0], "float32")}
    expected = X @ (w * ([1, 2, 3] / np.linalg.norm(w, axis=1))[:, None]).T
    # Sums of four products in float32.
    np.testing.assert_allclose(trellis.to_numpy(layer(array(X))), expected, atol=3e-6)


def test_weight_norm_of_filters_changes_nothing_at_first(backend, array):
    conv, _ = made(backend, lambda: nn.Conv1D(4, 3, 2, 1, "SAME"))
    before = trellis.to_numpy(conv(array(X)))
    after = trellis.to_numpy(nn.WeightNorm(conv)(array(X)))
    # A division and a product, each rounded once, in sums of eight.
    np.testing.assert_allclose(after, before, atol=2e-6)


def test_spectral_norm(backend, array):
    layer, v = made(backend, lambda: nn.SpectralNorm(nn.Linear(4, 3, with_bias=False)))
    for _ in range(60):
        y = layer(array(X))
    w = v["module"]["w"]
    # The iteration has ended; sums of four products in float32.
    expected = X @ (w / np.linalg.svd(w)[1][0]).T
    np.testing.assert_allclose(trellis.to_numpy(y), expected, atol=3e-6)
    kept = trellis.to_numpy(layer.buffers.u)
    layer.eval()(array(X))
    np.testing.assert_array_equal(trellis.to_numpy(layer.buffers.u), kept)


def test_transformer_is_that_of_torch(backend, array):
    torch = pytest.importorskip("torch")
    layer, v = made(backend, lambda: nn.Transformer(4, 2, 2, 8, dropout=0.0))
    theirs = torch.nn.Transformer(4, 2, 2, 2, 8, dropout=0.0, batch_first=True)
    theirs.encoder.norm = theirs.decoder.norm = None  # ours has it with norm_first
    for ours, stack in ((layer._encoder, theirs.encoder), (layer._decoder, theirs.decoder)):
        for mine, other in zip(ours._layers, stack.layers, strict=True):
            trellis.convert.load_torch_weights(mine, other.state_dict())
    source, target = X, np.ascontiguousarray(X[:, ::-1])
    mask = torch.nn.Transformer.generate_square_subsequent_mask(5)
    expected = theirs.eval()(torch.tensor(source), torch.tensor(target), tgt_mask=mask)
    y = layer.eval()(array(source), array(target))
    # Eight norms in a row, in float32.
    np.testing.assert_allclose(trellis.to_numpy(y), expected.detach().numpy(), atol=2e-5)


def test_mistakes():
    with pytest.raises(ArgumentError, match="num_chosen=3"):
        nn.MixtureOfExperts(4, 8, num_experts=2, num_chosen=3)
    with pytest.raises(ArgumentError, match="no variable 'w' in ReLU"):
        nn.WeightNorm(nn.ReLU())
    with pytest.raises(trellis.errors.ShapeError, match="selective_scan"):
        trellis.functional.selective_scan(*[np.ones((1, 2, 3))] * 5)
