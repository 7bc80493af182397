"""Tokens a second of a Llama of 110 million parameters with random weights, on one core.

Greedy, one text, float32. Beside transformers on torch, whose files we read, and beside the same
model written by hand in JAX. All of them must give the same tokens before anything is timed.

    python benchmarks/generate.py [--quick] [numpy | torch | torch-compiled | jax ...]
"""

import sys
import tempfile

from harness import QUICK, Report, one_core

one_core()

import numpy as np

import trellis
from trellis import models

SIZES = {
    "vocab_size": 32000, "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12,
    "num_attention_heads": 12, "num_key_value_heads": 4, "tie_word_embeddings": True,
}  # fmt: skip
PROMPT, COUNT = 16, 8 if QUICK else 32
# How many times as long as the reference we may take: level, and on NumPy twice.
LIMITS = {"numpy": 2.0, "torch": 1.05, "torch-compiled": 1.05, "jax": 1.05}


def main(chosen):
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    prompt = rng.integers(3, SIZES["vocab_size"], (1, PROMPT)).astype("int32")
    report = Report("generate", "How many tokens a second does a Llama of 110M parameters give?")
    with tempfile.TemporaryDirectory() as folder:
        there = in_transformers(folder)
        expected = there(prompt)
        for name in chosen:
            ours = with_trellis(folder, name)
            reference = in_jax(folder) if name == "jax" else there
            label = "by hand" if name == "jax" else "transformers"
            for run in (ours, reference):
                np.testing.assert_array_equal(run(prompt), expected)
            row = report.add(
                f"{name}: {COUNT} tokens after {PROMPT}",
                {label: lambda: reference(prompt), "trellis": lambda: ours(prompt)},
                limit=LIMITS[name],
                rounds=7,
                budget=1.0,
            )
            speeds = {who: COUNT / seconds for who, seconds in row.seconds.items()}
            print("    " + ", ".join([f"{who} {x:.1f} tokens/s" for who, x in speeds.items()]))
    report.save(keep=lambda what: what.partition(":")[0] not in chosen)


def with_trellis(folder, name):
    backend, _, mode = name.partition("-")
    model = models.from_pretrained(folder, backend=backend)
    is_compiled = mode == "compiled" or backend == "jax"

    def run(prompt):
        tokens = trellis.generate(model, prompt, max_new_tokens=COUNT, compile=is_compiled)
        return trellis.to_numpy(tokens)

    return run


def in_transformers(folder):
    import torch
    import transformers

    config = transformers.LlamaConfig(**SIZES, pad_token_id=0, eos_token_id=None, bos_token_id=1)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    model.generation_config.eos_token_id = None
    model.save_pretrained(folder)
    print(f"{sum([p.numel() for p in model.parameters()]) / 1e6:.0f}M parameters")

    def run(prompt):
        tokens = torch.from_numpy(prompt).long()
        with torch.no_grad():
            out = model.generate(
                tokens,
                attention_mask=torch.ones_like(tokens),
                max_new_tokens=COUNT,
                do_sample=False,
            )
        return out[:, PROMPT:].numpy()

    return run


def in_jax(folder):
    """The model as one writes it in JAX: a dict of arrays and a compiled step with a cache."""
    from pathlib import Path

    import jax
    import jax.numpy as jnp
    from safetensors.numpy import load_file

    weights = {k: jnp.asarray(x) for k, x in load_file(Path(folder) / "model.safetensors").items()}
    heads, kv_heads = SIZES["num_attention_heads"], SIZES["num_key_value_heads"]
    size = SIZES["hidden_size"] // heads
    length = PROMPT + COUNT
    rates = 10000.0 ** (-np.arange(0, size, 2) / size).astype("float32")

    def norm(x, w):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w

    def turned(x, cos, sin):
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(w, cache, tokens, position):
        count = tokens.shape[1]
        places = position + jnp.arange(count)
        angles = places[:, None] * rates
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        seen = jnp.arange(length) <= places[:, None]
        x = w["model.embed_tokens.weight"][tokens[0]]
        kept = []
        for i in range(SIZES["num_hidden_layers"]):
            at = f"model.layers.{i}."
            y = norm(x, w[at + "input_layernorm.weight"])
            q, k, v = [
                (y @ w[f"{at}self_attn.{p}_proj.weight"].T).reshape(count, -1, size).swapaxes(0, 1)
                for p in "qkv"
            ]
            q, k = turned(q, cos, sin), turned(k, cos, sin)
            keys = jax.lax.dynamic_update_slice(cache[i][0], k, (0, position, 0))
            values = jax.lax.dynamic_update_slice(cache[i][1], v, (0, position, 0))
            kept.append((keys, values))
            q = q.reshape(kv_heads, heads // kv_heads, count, size)
            scores = jnp.einsum("hgqd,hkd->hgqk", q, keys) * size**-0.5
            scores = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), -1)
            y = jnp.einsum("hgqk,hkd->hgqd", scores, values).reshape(heads, count, size)
            y = y.swapaxes(0, 1).reshape(count, -1)
            x = x + y @ w[at + "self_attn.o_proj.weight"].T
            y = norm(x, w[at + "post_attention_layernorm.weight"])
            gate = jax.nn.silu(y @ w[at + "mlp.gate_proj.weight"].T)
            y = gate * (y @ w[at + "mlp.up_proj.weight"].T)
            x = x + y @ w[at + "mlp.down_proj.weight"].T
        x = norm(x[-1], w["model.norm.weight"])
        return jnp.argmax(w["model.embed_tokens.weight"] @ x), kept

    step = jax.jit(forward, donate_argnums=1)

    def run(prompt):
        empty = [
            tuple([jnp.zeros((kv_heads, length, size)) for _ in range(2)])
            for _ in range(SIZES["num_hidden_layers"])
        ]
        token, cache = step(weights, empty, prompt, 0)
        found = [int(token)]
        while len(found) < COUNT:
            position = PROMPT + len(found) - 1
            token, cache = step(weights, cache, np.array([[found[-1]]], "int32"), position)
            found.append(int(token))
        return np.array([found])

    return run


if __name__ == "__main__":
    given = [name for name in sys.argv[1:] if not name.startswith("-")]
    main(given or list(LIMITS))
