"""With Trellis, as a user writes them."""

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn

from . import sizes
from .sizes import DEPTH, HEADS, LENGTH, WIDTH, WORDS


class Block(trellis.Module):
    def __init__(self, **options):
        self._norm1, self._norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self._qkv, self._out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self._up, self._down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        super().__init__(**options)

    def _forward(self, x):
        batch, length, _ = x.shape
        qkv = trellis.reshape(self._qkv(self._norm1(x)), (batch, length, 3, HEADS, WIDTH // HEADS))
        q, k, v = trellis.unstack(trellis.permute_dims(qkv, (2, 0, 3, 1, 4)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = trellis.reshape(trellis.permute_dims(y, (0, 2, 1, 3)), (batch, length, WIDTH))
        x = x + self._out(y)
        return x + self._down(F.gelu(self._up(self._norm2(x))))


class Gpt(trellis.Module):
    def __init__(self, **options):
        self._words, self._places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self._blocks = [Block() for _ in range(DEPTH)]
        self._norm, self._head = nn.LayerNorm((WIDTH,)), nn.Linear(WIDTH, WORDS)
        super().__init__(**options)

    def _forward(self, words):
        x = self._words(words) + self._places.v.w
        for block in self._blocks:
            x = block(x)
        return self._head(self._norm(x))


class Residual(trellis.Module):
    def __init__(self, before, after, stride, layout, **options):
        self._conv1, self._norm1 = conv(before, after, 3, stride, layout)
        self._conv2, self._norm2 = conv(after, after, 3, 1, layout)
        self._short = None
        if stride != 1 or before != after:
            self._short, self._norm3 = conv(before, after, 1, stride, layout)
        super().__init__(**options)

    def _forward(self, x):
        y = self._norm2(self._conv2(F.relu(self._norm1(self._conv1(x)))))
        return F.relu(y + (x if self._short is None else self._norm3(self._short(x))))


class ResNet(trellis.Module):
    def __init__(self, layout, **options):
        self._conv, self._norm = conv(3, sizes.STAGES[0], 7, 2, layout)
        self._pool = nn.MaxPool2D(3, 2, 1, data_format=layout)
        for name, before, after, stride in sizes.blocks():
            setattr(self, f"_{name}", Residual(before, after, stride, layout))
        self._head = nn.Linear(sizes.STAGES[-1], sizes.CLASSES)
        self._axes = (1, 2) if layout == "NHWC" else (2, 3)
        super().__init__(**options)

    def _forward(self, x):
        x = self._pool(F.relu(self._norm(self._conv(x))))
        for name, *_ in sizes.blocks():
            x = getattr(self, f"_{name}")(x)
        return self._head(trellis.mean(x, axis=self._axes))


def conv(before, after, size, stride, layout):
    options = {"data_format": layout}
    filters = nn.Conv2D(before, after, size, stride, size // 2, with_bias=False, **options)
    return filters, nn.BatchNorm2D(after, **options)


class Lstm(trellis.Module):
    def __init__(self, **options):
        self._lstm = nn.LSTM(
            sizes.CHANNELS, sizes.UNITS, num_layers=2, return_sequence=False, return_state=False
        )
        self._head = nn.Linear(sizes.UNITS, sizes.CLASSES)
        super().__init__(**options)

    def _forward(self, x):
        return self._head(self._lstm(x))


def layout_of(backend, variant):
    return "NCHW" if backend == "torch" and variant != "NHWC" else "NHWC"


def build(name, backend, variant=None):
    trellis.seed(0)
    with trellis.using_backend(backend):
        if name == "resnet":
            return ResNet(layout_of(backend, variant))
        return {"gpt": Gpt, "lstm": Lstm}[name]()


def weights(name):
    """The first weights, by name: {"blocks/v0/qkv/w": array, ...}"""
    found = {}

    def walk(nest, prefix):
        for key, value in nest.items():
            if isinstance(value, dict):
                walk(value, f"{prefix}{key}/")
            else:
                found[prefix + key] = np.array(value)

    walk(build(name, "numpy").v, "")
    return found


def step(backend, name, mode, variant=None):
    """Forward, gradients and Adam in one pure function; compiled or as it is."""
    x, y = sizes.data(name)
    if name == "resnet" and layout_of(backend, variant) == "NCHW":
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    if backend in ("torch", "numpy"):
        y = y.astype("int64")
        x = x.astype("int64") if name == "gpt" else x
    x, y = trellis.to_backend((x, y), backend, copy=True)
    model, optimizer = build(name, backend, variant), trellis.optim.Adam(sizes.RATE)

    def update(v, buffers, state, x, y):
        def loss(v):
            logits, new = model.apply(v, buffers, x)
            return F.cross_entropy(logits, y), new

        (value, buffers), grads = trellis.value_and_grad(loss, has_aux=True)(v)
        v, state = optimizer.update(v, grads, state)
        return v, buffers, state, value

    if mode == "compiled":
        update = trellis.compile(update, donate_argnums=(0, 1, 2))
    state = optimizer.init(model.v)

    def one():
        # The model holds the variables, so that nothing keeps the old ones.
        nonlocal state
        model.v, model.buffers, state, value = update(model.v, model.buffers, state, x, y)
        return value

    def eager():
        # As the guide writes it where nothing is compiled: the optimizer keeps its state.
        def loss(v):
            logits, new = model.apply(v, model.buffers, x)
            return F.cross_entropy(logits, y), new

        (value, model.buffers), grads = trellis.value_and_grad(loss, has_aux=True)(model.v)
        model.v = optimizer.step(model.v, grads)
        return value

    return one if mode == "compiled" else eager
