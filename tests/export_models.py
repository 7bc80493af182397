"""Models that are exported, with their inputs as NumPy arrays, and runtimes that run the files."""

import warnings
from pathlib import Path

import numpy as np

import trellis
from oracles import jax, tf, torch
from trellis import functional as F
from trellis import nn
from trellis.demo import DigitReader

FORMATS = {
    "onnx": "model.onnx",
    "torch_export": "model.pt2",
    "stablehlo": "model.stablehlo",
    "saved_model": "saved",
    "tflite": "model.tflite",
}
BATCH = {0: "batch"}


class Encoder(trellis.Module):
    """Tokens and the places that are padding; two outputs by name."""

    def __init__(self, **options):
        self._tokens = nn.Embedding(11, 8)
        self._layers = [nn.TransformerEncoderLayer(8, 2, 16, activation="gelu") for _ in range(2)]
        self._norm = nn.LayerNorm(8)
        super().__init__(**options)

    def _forward(self, tokens, padding):
        x = self._tokens(tokens)
        for layer in self._layers:
            x = layer(x, key_padding_mask=padding)
        x = self._norm(x)
        return {"states": x, "pooled": trellis.mean(x, axis=1)}


class Decoder(trellis.Module):
    """One step: the next token, and the keys and values of those before it."""

    def __init__(self, **options):
        self._tokens = nn.Embedding(11, 8)
        self._project = nn.Linear(8, 24)
        self._head = nn.Linear(8, 11)
        super().__init__(**options)

    def _forward(self, token, cache):
        x = self._tokens(token)
        parts = trellis.reshape(self._project(x), (-1, token.shape[1], 3, 2, 4))
        q, k, v = [trellis.matrix_transpose(trellis.matrix_transpose(p)) for p in _apart(parts)]
        mask = F.cache_mask(cache, token.shape[1])
        cache = F.extend_cache(cache, k, v)
        y = F.scaled_dot_product_attention(q, cache.keys, cache.values, mask=mask)
        y = trellis.reshape(trellis.permute_dims(y, (0, 2, 1, 3)), (-1, token.shape[1], 8))
        return self._head(x + y), cache


def _apart(parts):
    """Queries, keys and values (batch, heads, time, size)."""
    return [trellis.permute_dims(parts[:, :, i], (0, 2, 1, 3)) for i in range(3)]


def mlp():
    x = _normal(3, 4)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), (x,), {"x": BATCH}


def cnn():
    model = nn.Sequential(
        nn.Conv2D(3, 4, 3, 1, "SAME"), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2, 2, "VALID"),
        nn.Conv2D(4, 6, 3, 2, "VALID"), nn.BatchNorm2D(6), nn.SiLU(), nn.GlobalAvgPool(),
        nn.Linear(6, 5),
    )  # fmt: skip
    return model, (_normal(2, 10, 10, 3),), {"x": BATCH}


def lstm():
    model = nn.LSTM(3, 5, num_layers=2)
    state = (_normal(2, 2, 5), _normal(2, 2, 5))
    dynamic = {"x": BATCH, "initial_state": {1: "batch"}}
    return model, (_normal(2, 4, 3), state), dynamic


def encoder():
    tokens = np.random.default_rng(0).integers(0, 11, (2, 6)).astype("int32")
    tokens[0, :2] = 0, 10
    padding = np.zeros((2, 6), bool)
    padding[1, 4:] = True
    axes = {0: "batch", 1: "length"}
    return Encoder(), (tokens, padding), {"tokens": axes, "padding": axes}


def decoder():
    cache = F.init_cache(2, 2, 6, 4, backend="numpy")
    cache = F.extend_cache(cache, _normal(2, 2, 3, 4), _normal(2, 2, 3, 4))
    tokens = np.array([[0], [10]], "int32")
    dynamic = {"token": BATCH, "cache_keys": BATCH, "cache_values": BATCH, "cache_start": BATCH}
    return Decoder(), (tokens, cache), dynamic


def digits():
    return DigitReader(), (np.random.default_rng(0).random((2, 8, 8, 1), "float32"),), {"x": BATCH}


MODELS = {f.__name__: f for f in (mlp, cnn, lstm, encoder, decoder, digits)}


def make(name, backend):
    """The model on a framework, the same numbers on each; its inputs; its dynamic axes."""
    trellis.seed(0)
    with trellis.using_backend(backend):
        model, args, dynamic = MODELS[name]()
    _settle(model, args, backend)
    return model, args, dynamic


def _settle(model, args, backend):
    """Statistics as after a little training: other than zeros and ones."""
    if len(model.buffers):
        model.train()(*trellis.to_backend(args, backend))


def _normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


# Runtimes
# --------------------------------------------------------------------------------------


def run(format, path, inputs):
    """The outputs of a file, by name where it has names, else in order; written without ours."""
    return globals()[f"_run_{format}"](Path(path), inputs)


def _run_onnx(path, inputs):
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    names = [port.name for port in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs)))


def _run_torch_export(path, inputs):
    result = torch.export.load(path).module()(*[torch.tensor(x) for x in inputs.values()])
    return [x.detach().numpy() for x in torch.utils._pytree.tree_leaves(result)]


def _run_stablehlo(path, inputs):
    result = jax.export.deserialize(bytearray(path.read_bytes())).call(*inputs.values())
    return [np.asarray(x) for x in jax.tree.leaves(result)]


def _run_saved_model(path, inputs):
    loaded = tf.saved_model.load(str(path))
    given = {name: tf.constant(x) for name, x in inputs.items()}
    return {n: x.numpy() for n, x in loaded.signatures["serving_default"](**given).items()}


def _run_tflite(path, inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the package that it is going to live in
        interpreter = tf.lite.Interpreter(str(path))
    return interpreter.get_signature_runner()(**inputs)
