"""A small GPT-2 over `trellis.nn`, as a user writes it, and the same in transformers."""

import numpy as np

import trellis
from oracles import torch
from trellis import functional as F
from trellis import nn

WORDS, WIDTH, HEADS, LAYERS, PLACES = 40, 16, 2, 2, 32


class SmallGPT(trellis.Module):
    """Learned positions, norms first, tanh-gelu, the embedding as the last layer."""

    def __init__(self, **options):
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(PLACES, WIDTH)
        self.layers = [
            nn.TransformerEncoderLayer(
                WIDTH, HEADS, 4 * WIDTH, 0.0, activation=_gelu, norm_first=True
            )
            for _ in range(LAYERS)
        ]
        self.norm = nn.LayerNorm(WIDTH)
        super().__init__(**options)

    def init_cache(self, batch, length):
        return [layer.init_cache(batch, length) for layer in self.layers]

    def _forward(self, tokens, cache=None):
        steps = tokens.shape[1]
        if cache is None:
            xp = trellis.namespace(tokens)
            places = xp.arange(steps, dtype="int32", device=xp.device(tokens))
        else:
            places = F.cache_positions(cache[0], steps)
        x, kept = self.words(tokens) + self.places(places), []
        for i, layer in enumerate(self.layers):
            if cache is None:
                x = layer(x, is_causal=True)
            else:
                x, part = layer(x, cache=cache[i])
                kept.append(part)
        logits = F.linear(self.norm(x), self.words.v.w)
        return logits if cache is None else (logits, kept)


def _gelu(x):
    return F.gelu(x, approximate=True)


def variables():
    """Weights that prefer no token for ever, as NumPy arrays."""
    rng = np.random.default_rng(7)
    v = SmallGPT(backend="numpy").v
    return trellis.tree.map(lambda x: rng.normal(size=x.shape).astype("float32") * 0.35, v)


def small_gpt(backend):
    array = trellis.namespace(backend).from_numpy
    return SmallGPT(v=trellis.tree.map(array, variables()), backend=backend).eval()


def in_transformers():
    """The same model, by the library whose tokens are expected."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=WORDS, n_positions=PLACES, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    v = variables()

    def put(parameter, value):
        parameter.copy_(torch.tensor(np.ascontiguousarray(value)))

    def put_norm(norm, part):
        put(norm.weight, part["w"])
        put(norm.bias, part["b"])

    with torch.no_grad():
        put(model.transformer.wte.weight, v["words"]["w"])
        put(model.transformer.wpe.weight, v["places"]["w"])
        put_norm(model.transformer.ln_f, v["norm"])
        for i, block in enumerate(model.transformer.h):
            part = v["layers"][f"v{i}"]
            put_norm(block.ln_1, part["norm1"])
            put_norm(block.ln_2, part["norm2"])
            for ours, theirs in (("in", block.attn.c_attn), ("out", block.attn.c_proj)):
                put(theirs.weight, part["attention"][f"{ours}_proj_weights"].T)
                put(theirs.bias, part["attention"][f"{ours}_proj_bias"])
            for ours, theirs in (("linear1", block.mlp.c_fc), ("linear2", block.mlp.c_proj)):
                put(theirs.weight, part[ours]["w"].T)
                put(theirs.bias, part[ours]["b"])
    return model
