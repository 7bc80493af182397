"""How torch.nn stores the variables of the layers of trellis.nn."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import nn
from ...nn import Module
from ...nn.layers.conv import Convolution
from ...nn.layers.norm import _BatchNorm, _InstanceNorm
from ...nn.layers.recurrent import _Recurrent
from ..module import ConvertedModule
from .layout import Entry, Layout, Library, Rule, Spelling, parts_of, same_arrays, transposed
from .naming import TORCH_LEAVES

# Filters: (out, in, *kernel) there, (*kernel, in, out) here; of transposed convolutions
# (in, out, *kernel) there, (*kernel, out, in) here: the same permutation for both.


def _filter_from_torch(w: np.ndarray) -> Any:
    return np.transpose(w, (*range(2, w.ndim), 1, 0))


def _filter_to_torch(w: np.ndarray) -> tuple[Any, ...]:
    n = w.ndim
    return (np.transpose(w, (n - 1, n - 2, *range(n - 2))),)


def _convolution(layer: Module, own: Mapping[str, Any]) -> Layout:
    w = Entry("w", ("weight",), _filter_from_torch, _filter_to_torch)
    return Layout([w, Entry("b", ("bias",))])


def _depthwise(layer: Module, own: Mapping[str, Any]) -> Layout:
    """torch has a convolution with as many groups as channels: (channels, 1, *kernel)."""

    def back(w: np.ndarray) -> tuple[Any, ...]:
        return (np.moveaxis(w, -1, 0)[:, None],)

    w = Entry("w", ("weight",), lambda w: np.moveaxis(w[:, 0], 0, -1), back)
    return Layout([w, Entry("b", ("bias",))])


def _batch_norm(layer: Module, own: Mapping[str, Any]) -> Layout:
    entries = [Entry(chain, (name,)) for chain, name in TORCH_LEAVES.items()]
    # torch counts its batches, for momentum=None; in Trellis the momentum is always a number.
    beside = {"num_batches_tracked": np.zeros((), "int64")} if "mean" in own else {}
    return Layout(entries, beside=beside)


def _recurrent(layer: Any, own: Mapping[str, Any]) -> Layout:
    """Gates have the same order; matrices are transposed; torch always has two biases."""
    entries = []
    for part in parts_of(layer):
        number, _, direction = part.removeprefix("layer").partition("_")
        end = f"_l{number}_{direction}" if direction else f"_l{number}"
        for chain, name in (("w", "weight_ih"), ("r", "weight_hh")):
            entries.append(Entry(f"{part}/{chain}", (name + end,), np.transpose, transposed))
        biases = (f"bias_ih{end}", f"bias_hh{end}")
        if "rb" in layer.bias_names:
            # The second bias of a GRU is inside the product with the reset gate.
            entries.append(Entry(f"{part}/b", biases[:1]))
            entries.append(Entry(f"{part}/rb", biases[1:]))
        else:
            entries.append(Entry(f"{part}/b", biases, _sum, lambda b: (b, np.zeros_like(b))))
    return Layout(entries)


def _sum(x: np.ndarray, y: np.ndarray) -> Any:
    """16-bit floats are added in float32, since the layer rounds only later."""
    if x.dtype.itemsize < 4:
        x, y = x.astype("float32"), y.astype("float32")
    return x + y


def _stacked(*parts: np.ndarray) -> Any:
    return np.concatenate(parts, axis=0)


def _attention(layer: Module, own: Mapping[str, Any]) -> Layout:
    """torch packs the three projections as Trellis does; other models often have three arrays."""
    apart = [tuple([f"{x}_proj.{kind}" for x in "qkv"]) for kind in ("weight", "bias")]
    packed = Entry("in_proj_weights", ("in_proj_weight",), others=(Spelling(apart[0], _stacked),))
    bias = Entry("in_proj_bias", ("in_proj_bias",), others=(Spelling(apart[1], _stacked),))
    entries = [packed]
    for x in "qkv":
        other = (Spelling((f"{x}_proj.weight",)),)
        entries.append(Entry(f"{x}_proj_weights", (f"{x}_proj_weight",), others=other))
    entries.append(bias)
    for name in ("bias_k", "bias_v"):
        entries.append(Entry(name, (name,), lambda b: b[0, 0], lambda b: (b[None, None],)))
    entries.append(Entry("out_proj_weights", ("out_proj.weight",)))
    entries.append(Entry("out_proj_bias", ("out_proj.bias",)))
    return Layout(entries)


def _converted(layer: Any, own: Mapping[str, Any]) -> Layout:
    """A converted model has the names and layouts of its source."""
    seconds = {
        second.replace("/", "."): first.replace("/", ".") for second, first in layer.aliases.items()
    }
    return Layout([Entry(chain, (chain.replace("/", "."),)) for chain in own], seconds=seconds)


_weight_and_bias = same_arrays(w="weight", b="bias")

RULES: dict[type, Rule] = {
    nn.Linear: _weight_and_bias,
    nn.Bilinear: _weight_and_bias,
    nn.Embedding: _weight_and_bias,
    nn.PReLU: _weight_and_bias,
    nn.LayerNorm: _weight_and_bias,
    nn.RMSNorm: _weight_and_bias,
    nn.GroupNorm: _weight_and_bias,
    _InstanceNorm: _weight_and_bias,
    _BatchNorm: _batch_norm,
    Convolution: _convolution,
    nn.DepthwiseConv2D: _depthwise,
    _Recurrent: _recurrent,
    nn.MultiHeadAttention: _attention,
    ConvertedModule: _converted,
}

TORCH = Library(
    name="torch",
    separator=".",
    rules=RULES,
    children={
        nn.Sequential: {"layers": ""},
        nn.TransformerEncoderLayer: {"attention": "self_attn"},
        nn.TransformerDecoderLayer: {
            "attention": "self_attn",
            "cross_attention": "multihead_attn",
        },
    },
    counts_plainly=True,
)
