"""BERT and a ResNet as one writes them in JAX, over the weights of transformers' models."""

import jax
import jax.numpy as jnp


def bert(p, ids, mask, heads):
    """`p` has the names of transformers; returns the last hidden state."""
    at = jnp.arange(ids.shape[1])
    x = p["embeddings.word_embeddings.weight"][ids]
    x = x + p["embeddings.token_type_embeddings.weight"][0]
    x = norm(p, "embeddings.LayerNorm", x + p["embeddings.position_embeddings.weight"][at])
    bias = jnp.where(mask[:, None, None, :] != 0, 0.0, jnp.finfo(x.dtype).min)
    depth = 1 + max([int(name.split(".")[2]) for name in p if name.startswith("encoder.layer.")])
    for i in range(depth):
        part = f"encoder.layer.{i}."
        batch, length, width = x.shape
        shape = (batch, length, heads, width // heads)
        q, k, v = [
            dense(p, f"{part}attention.self.{name}", x).reshape(shape).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        ]
        weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / shape[-1] ** 0.5 + bias)
        y = (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        x = norm(
            p,
            f"{part}attention.output.LayerNorm",
            x + dense(p, f"{part}attention.output.dense", y),
        )
        y = jax.nn.gelu(dense(p, f"{part}intermediate.dense", x), approximate=False)
        x = norm(p, f"{part}output.LayerNorm", x + dense(p, f"{part}output.dense", y))
    return x


def dense(p, name, x):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    scale = jax.lax.rsqrt(variance + 1e-12)
    return (x - mean) * scale * p[f"{name}.weight"] + p[f"{name}.bias"]


def resnet(p, x):
    """A ResNet of basic blocks, channel first as in the source; returns the last feature map."""
    x = jax.nn.relu(conv(p, "embedder.embedder", x, 2, 3))
    x = jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)]
    )
    stages = 1 + max([int(name.split(".")[2]) for name in p if name.startswith("encoder.stages.")])
    for i in range(stages):
        blocks = {name.split(".")[4] for name in p if name.startswith(f"encoder.stages.{i}.")}
        for j in range(len(blocks)):
            part = f"encoder.stages.{i}.layers.{j}."
            stride = 2 if i > 0 and j == 0 else 1
            y = jax.nn.relu(conv(p, f"{part}layer.0", x, stride, 1))
            y = conv(p, f"{part}layer.1", y, 1, 1)
            if f"{part}shortcut.convolution.weight" in p:
                x = conv(p, f"{part}shortcut", x, stride, 0)
            x = jax.nn.relu(x + y)
    return x


def conv(p, name, x, stride, pad):
    y = jax.lax.conv_general_dilated(
        x,
        p[f"{name}.convolution.weight"],
        (stride, stride),
        [(pad, pad), (pad, pad)],
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
    )
    scale = p[f"{name}.normalization.weight"] * jax.lax.rsqrt(
        p[f"{name}.normalization.running_var"] + 1e-5
    )
    shift = p[f"{name}.normalization.bias"] - p[f"{name}.normalization.running_mean"] * scale
    return y * scale[:, None, None] + shift[:, None, None]
