"""How Keras stores the variables of the layers of trellis.nn."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import nn
from ...nn import Module
from ...nn.layers.conv import Convolution
from ...nn.layers.norm import _BatchNorm, _InstanceNorm
from .layout import Entry, Layout, Library, Rule, parts_of, same_arrays, transposed


def _dense(layer: Module, own: Mapping[str, Any]) -> Layout:
    """(in, out) there, (out, in) here."""
    return Layout([Entry("w", ("kernel",), np.transpose, transposed), Entry("b", ("bias",))])


# One filter per channel: (*kernel, channels, 1) there, (*kernel, channels) here.


def _without_multiplier(w: np.ndarray) -> Any:
    return w[..., 0]


def _with_multiplier(w: np.ndarray) -> tuple[Any, ...]:
    return (w[..., None],)


def _depthwise(layer: Module, own: Mapping[str, Any]) -> Layout:
    w = Entry("w", ("kernel",), _without_multiplier, _with_multiplier)
    return Layout([w, Entry("b", ("bias",))])


def _separable(layer: Module, own: Mapping[str, Any]) -> Layout:
    """One layer there, two here."""
    entries = [
        Entry("depthwise/w", ("depthwise_kernel",), _without_multiplier, _with_multiplier),
        Entry("pointwise/w", ("pointwise_kernel",)),
        Entry("pointwise/b", ("bias",)),
    ]
    return Layout(entries, with_children=True)


def _prelu(layer: Module, own: Mapping[str, Any]) -> Layout:
    """The slopes in Keras have the axes of the input, of size 1 where they are shared."""
    n = own["w"].shape[0]
    return Layout([Entry("w", ("alpha",), lambda w: np.reshape(w, (n,)), is_loose=True)])


def _recurrent(layer: Module, own: Mapping[str, Any]) -> Layout:
    """In Keras a stack is several layers, and both directions are one layer around two."""
    parts = parts_of(layer)
    entries = []
    for part in parts:
        head = "" if len(parts) == 1 else f"{part}/"
        for chain, name in (("w", "kernel"), ("r", "recurrent_kernel"), ("b", "bias")):
            entries.append(Entry(f"{part}/{chain}", (head + name,)))
    return Layout(entries)


# The gates of a GRU: update, reset, new there; reset, update, new here. Its two biases are the rows
# of one array, as in Keras with reset_after=True, which has the formula used here.


def _swapped(x: np.ndarray) -> Any:
    update, reset, new = np.split(x, 3, axis=-1)
    return np.concatenate([reset, update, new], axis=-1)


def _both_rows(b: np.ndarray) -> tuple[Any, ...]:
    return (np.stack([_swapped(b), _swapped(b)]),)


def _gru(layer: Module, own: Mapping[str, Any]) -> Layout:
    entries = []
    for entry in _recurrent(layer, own).entries:
        if entry.chain.endswith("/b"):
            row = {"b": 0, "rb": 1}
            for name, i in row.items():
                chain = entry.chain.removesuffix("b") + name
                load = _row_loader(i)
                entries.append(Entry(chain, entry.names, load, _both_rows))
        else:
            entries.append(Entry(entry.chain, entry.names, _swapped, lambda x: (_swapped(x),)))
    return Layout(entries)


def _row_loader(row: int) -> Any:
    return lambda bias: _swapped(bias[row])


# Attention: kernels (width, heads, size of a head) there, a packed (3 * heads * size, width) here.


def _attention(layer: Any, own: Mapping[str, Any]) -> Layout:
    heads, shared, width = layer._num_heads, layer._kv_heads, layer._embed_dim
    size = width // heads
    counts = (heads, shared, shared)
    kinds = ("query", "key", "value")

    def rows(kernel: np.ndarray) -> Any:
        return np.reshape(kernel, (kernel.shape[0], -1)).T

    def packed(*kernels: np.ndarray) -> Any:
        return np.concatenate([rows(kernel) for kernel in kernels], axis=0)

    def cut(x: np.ndarray) -> list[Any]:
        return np.split(x, [heads * size, (heads + shared) * size], axis=0)

    def kernels(w: np.ndarray) -> tuple[Any, ...]:
        parts = zip(cut(w), counts, strict=True)
        return tuple([np.reshape(part.T, (-1, count, size)) for part, count in parts])

    def biases(b: np.ndarray) -> tuple[Any, ...]:
        parts = zip(cut(b), counts, strict=True)
        return tuple([np.reshape(part, (count, size)) for part, count in parts])

    def flat(*parts: np.ndarray) -> Any:
        return np.concatenate([np.reshape(part, -1) for part in parts])

    def kernel_of(count: int) -> Any:
        return lambda w: (np.reshape(w.T, (-1, count, size)),)

    def out(kernel: np.ndarray) -> Any:
        return np.reshape(kernel, (-1, kernel.shape[-1])).T

    def out_back(w: np.ndarray) -> tuple[Any, ...]:
        return (np.reshape(w.T, (heads, size, -1)),)

    names = [f"{kind}/kernel" for kind in kinds]
    entries = [Entry("in_proj_weights", tuple(names), packed, kernels)]
    for x, name, count in zip("qkv", names, counts, strict=True):
        entries.append(Entry(f"{x}_proj_weights", (name,), rows, kernel_of(count)))
    entries.append(Entry("in_proj_bias", tuple([f"{k}/bias" for k in kinds]), flat, biases))
    entries.append(Entry("out_proj_weights", ("attention_output/kernel",), out, out_back))
    entries.append(Entry("out_proj_bias", ("attention_output/bias",)))
    parts = ("kernel", "bias") if "in_proj_bias" in own else ("kernel",)
    order = [f"{kind}/{part}" for kind in (*kinds, "attention_output") for part in parts]
    return Layout(entries, order=tuple(order))


_scaled = same_arrays(w="gamma", b="beta")

RULES: dict[type, Rule] = {
    nn.Linear: _dense,
    nn.Embedding: same_arrays(w="embeddings"),
    nn.PReLU: _prelu,
    nn.LayerNorm: _scaled,
    nn.RMSNorm: same_arrays(w="scale"),
    nn.GroupNorm: _scaled,
    _InstanceNorm: _scaled,
    _BatchNorm: same_arrays(w="gamma", b="beta", mean="moving_mean", var="moving_variance"),
    Convolution: same_arrays(w="kernel", b="bias"),
    nn.DepthwiseConv2D: _depthwise,
    nn.SeparableConv2D: _separable,
    nn.LSTM: _recurrent,
    nn.RNN: _recurrent,
    nn.GRU: _gru,
    nn.MultiHeadAttention: _attention,
}

KERAS = Library(name="Keras", separator="/", rules=RULES, children={}, counts_plainly=False)
