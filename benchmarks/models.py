"""The four networks of the training benchmark: with Trellis, their data, and their weights as NumPy
arrays.

All sizes are those of a small real problem, so that a step takes a few milliseconds on one core and
what a library adds to it can be seen. Images are channel last; torch's own code gets them channel
first.
"""

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn

NAMES = ("mlp", "cnn", "lstm", "transformer")
CLASSES = 10
HEADS = 4


class Mlp(trellis.Module):
    """784-256-256-10."""

    def __init__(self, **options):
        self._l0, self._l1, self._l2 = (
            nn.Linear(784, 256),
            nn.Linear(256, 256),
            nn.Linear(256, CLASSES),
        )
        super().__init__(**options)

    def _forward(self, x):
        return self._l2(F.relu(self._l1(F.relu(self._l0(x)))))


class Cnn(trellis.Module):
    """Three convolutions of 3 x 3, 32 x 32 down to 6 x 6, and the mean over the image."""

    def __init__(self, data_format, **options):
        self._c0 = nn.Conv2D(3, 16, 3, 1, "VALID", data_format=data_format)
        self._c1 = nn.Conv2D(16, 32, 3, 2, "VALID", data_format=data_format)
        self._c2 = nn.Conv2D(32, 64, 3, 2, "VALID", data_format=data_format)
        self._head = nn.Linear(64, CLASSES)
        self._axes = (1, 2) if data_format == "NHWC" else (2, 3)
        super().__init__(**options)

    def _forward(self, x):
        x = F.relu(self._c2(F.relu(self._c1(F.relu(self._c0(x))))))
        return self._head(trellis.mean(x, axis=self._axes))


class Lstm(trellis.Module):
    """64 units over 32 steps of 32 channels; the last hidden state is classified."""

    def __init__(self, **options):
        self._lstm = nn.LSTM(32, 64, return_sequence=False, return_state=False)
        self._head = nn.Linear(64, CLASSES)
        super().__init__(**options)

    def _forward(self, x):
        return self._head(self._lstm(x))


class Transformer(trellis.Module):
    """Encoder layers of width 64 with 4 heads, over 32 tokens."""

    def __init__(self, depth=2, **options):
        layer = {"num_heads": HEADS, "feedforward_channels": 256, "dropout": 0.0}
        for i in range(depth):
            setattr(self, f"_e{i}", nn.TransformerEncoderLayer(64, **layer))
        self._depth = depth
        self._head = nn.Linear(64, CLASSES)
        super().__init__(**options)

    def _forward(self, x):
        for i in range(self._depth):
            x = getattr(self, f"_e{i}")(x)
        return self._head(trellis.mean(x, axis=1))


def data(name, batch=None):
    """Inputs and integer targets, NumPy arrays."""
    rng = np.random.default_rng(0)
    shape = {
        "mlp": (batch or 64, 784),
        "cnn": (batch or 16, 32, 32, 3),
        "lstm": (batch or 16, 32, 32),
        "transformer": (batch or 16, 32, 64),
        "deep_transformer": (batch or 16, 32, 64),
    }[name]
    return rng.standard_normal(shape).astype("float32"), rng.integers(0, CLASSES, shape[0])


def build(name, backend):
    """The Trellis module on a backend; the same weights on every one."""
    trellis.seed(0)
    with trellis.using_backend(backend):
        if name == "cnn":
            return Cnn("NCHW" if backend == "torch" else "NHWC")
        if name == "deep_transformer":
            return Transformer(depth=4)
        return {"mlp": Mlp, "lstm": Lstm, "transformer": Transformer}[name]()


def weights(name):
    """The first weights as a nested dict of NumPy arrays."""
    return plain(build(name, "numpy").v)


def plain(nest):
    return {k: plain(v) for k, v in nest.items()} if isinstance(nest, dict) else np.array(nest)


def flat(nest, prefix=""):
    """{"e0/norm1/w": array, ...}"""
    found = {}
    for key, value in nest.items():
        found |= (
            flat(value, f"{prefix}{key}/") if isinstance(value, dict) else {prefix + key: value}
        )
    return found


def steps(name, backend, rate=1e-3):
    """One training step with Adam as a user writes it, eager and compiled: functions that give the
    loss."""
    model, optimizer = build(name, backend), trellis.optim.Adam(rate)
    x, y = arrays(name, backend)

    def eager():
        value, grads = trellis.value_and_grad(lambda v: F.cross_entropy(model(x, v=v), y))(model.v)
        model.v = optimizer.step(model.v, grads)
        return value

    @trellis.compile
    def update(v, state, x, y):
        value, grads = trellis.value_and_grad(lambda v: F.cross_entropy(model(x, v=v), y))(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    v = build(name, backend).v
    held = [v, optimizer.init(v)]

    def compiled():
        held[0], held[1], value = update(held[0], held[1], x, y)
        return value

    return {"eager": eager, "compiled": compiled}


def arrays(name, backend):
    """The data on a backend, in the layout that it likes."""
    x, y = data(name)
    if name == "cnn" and backend == "torch":
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    # JAX counts in 32 bits unless told otherwise.
    return trellis.to_backend((x, y.astype("int32") if backend == "jax" else y), backend, copy=True)
