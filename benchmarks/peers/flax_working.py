"""Flax (linen) and optax: the steps of working_sizes.py, in one jit with donated weights."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "working"))

from measured import offer, two_cores

two_cores()

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import sizes
from sizes import DEPTH, HEADS, LENGTH, WIDTH, WORDS


class Gpt(nn.Module):
    @nn.compact
    def __call__(self, words):
        places = self.param("places", nn.initializers.zeros, (LENGTH, WIDTH))
        x = nn.Embed(WORDS, WIDTH, name="words")(words) + places
        mask = nn.make_causal_mask(words)
        for i in range(DEPTH):
            h = nn.LayerNorm(epsilon=1e-5, name=f"norm1_{i}")(x)
            x = x + nn.MultiHeadDotProductAttention(HEADS, name=f"attention_{i}")(h, mask=mask)
            h = nn.Dense(4 * WIDTH, name=f"up_{i}")(
                nn.LayerNorm(epsilon=1e-5, name=f"norm2_{i}")(x)
            )
            x = x + nn.Dense(WIDTH, name=f"down_{i}")(nn.gelu(h, approximate=False))
        return nn.Dense(WORDS, name="head")(nn.LayerNorm(epsilon=1e-5, name="norm")(x))


class ResNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        def conv(x, outputs, size, stride, name):
            pad = [(size // 2, size // 2)] * 2
            x = nn.Conv(outputs, (size, size), stride, pad, use_bias=False, name=name)(x)
            return nn.BatchNorm(False, momentum=0.9, epsilon=1e-5, name=f"{name}_norm")(x)

        x = nn.relu(conv(x, sizes.STAGES[0], 7, 2, "conv"))
        x = nn.max_pool(x, (3, 3), (2, 2), [(1, 1), (1, 1)])
        for name, before, after, stride in sizes.blocks():
            y = conv(nn.relu(conv(x, after, 3, stride, f"{name}_1")), after, 3, 1, f"{name}_2")
            has_short = stride != 1 or before != after
            x = nn.relu(y + (conv(x, after, 1, stride, f"{name}_3") if has_short else x))
        return nn.Dense(sizes.CLASSES, name="head")(jnp.mean(x, (1, 2)))


class Lstm(nn.Module):
    @nn.compact
    def __call__(self, x):
        for i in range(2):
            x = nn.RNN(nn.OptimizedLSTMCell(sizes.UNITS, name=f"cell_{i}"), name=f"rnn_{i}")(x)
        return nn.Dense(sizes.CLASSES, name="head")(x[:, -1])


def dense(w, name):
    return {"kernel": w[f"{name}/w"].T, "bias": w[f"{name}/b"]}


def norm(w, name):
    return {"scale": w[f"{name}/w"], "bias": w[f"{name}/b"]}


def arranged(name, w):
    """Our weights in Flax' pytree."""
    if name == "gpt":
        p = {"places": w["places/w"], "words": {"embedding": w["words/w"]}}
        for i in range(DEPTH):
            at, shape = f"blocks/v{i}/", (HEADS, WIDTH // HEADS)
            p[f"norm1_{i}"], p[f"norm2_{i}"] = norm(w, f"{at}norm1"), norm(w, f"{at}norm2")
            kernels, biases = w[f"{at}qkv/w"].reshape(3, -1, WIDTH), w[f"{at}qkv/b"].reshape(3, -1)
            p[f"attention_{i}"] = {
                part: {"kernel": k.T.reshape(WIDTH, *shape), "bias": b.reshape(shape)}
                for part, k, b in zip(("query", "key", "value"), kernels, biases)
            }
            p[f"attention_{i}"]["out"] = {
                "kernel": w[f"{at}out/w"].T.reshape(*shape, WIDTH),
                "bias": w[f"{at}out/b"],
            }
            p[f"up_{i}"], p[f"down_{i}"] = dense(w, f"{at}up"), dense(w, f"{at}down")
        return p | {"norm": norm(w, "norm"), "head": dense(w, "head")}
    if name == "resnet":
        p = {
            "head": dense(w, "head"),
            "conv": {"kernel": w["conv/w"]},
            "conv_norm": norm(w, "norm"),
        }
        for block, *_ in sizes.blocks():
            for i, part in ((1, "conv1"), (2, "conv2"), (3, "short")):
                if f"{block}/{part}/w" in w:
                    p[f"{block}_{i}"] = {"kernel": w[f"{block}/{part}/w"]}
                    p[f"{block}_{i}_norm"] = norm(w, f"{block}/norm{i}")
        return p
    p = {"head": dense(w, "head")}
    for i in range(2):
        at, cell = f"lstm/layer{i}/", {}
        for gate, *arrays in zip("ifgo", *[np.split(w[at + k], 4, -1) for k in "wrb"]):
            cell[f"i{gate}"] = {"kernel": arrays[0]}
            cell[f"h{gate}"] = {"kernel": arrays[1], "bias": arrays[2]}
        p[f"cell_{i}"] = cell
    return p


def build(name, mode, path, variant):
    model, optimizer = {"gpt": Gpt, "resnet": ResNet, "lstm": Lstm}[name](), optax.adam(sizes.RATE)
    x, y = [jnp.asarray(array) for array in sizes.data(name)]
    with np.load(path) as stored:
        p = jax.tree.map(jnp.array, arranged(name, {key: stored[key] for key in stored}))
    stats = {}
    if name == "resnet":
        shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), x))["batch_stats"]
        stats = {k: {"mean": jnp.zeros(s["mean"].shape), "var": jnp.ones(s["var"].shape)}
                 for k, s in shapes.items()}  # fmt: skip

    def loss(p, stats):
        given = {"params": p, "batch_stats": stats} if stats else {"params": p}
        logits, new = model.apply(given, x, mutable=["batch_stats"])
        value = jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, y))
        return value, new.get("batch_stats", {})

    def update(p, stats, state):
        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(p, stats)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(p, updates), stats, state, value

    update = jax.jit(update, donate_argnums=(0, 1, 2))
    held = [p, stats, optimizer.init(p)]

    def step():
        *held[:], value = update(*held)
        return value

    return step


if __name__ == "__main__":
    offer(build)
