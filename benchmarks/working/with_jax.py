"""Plain JAX and optax, channel last; compiled: the whole step in one jit, whose weights and state
are donated, so that XLA writes the new ones over the old.

jax.nn.dot_product_attention and attention by hand were both tried, and a scan with its body
repeated: variants.py has what takes part.
"""

import jax
import jax.numpy as jnp
import optax

from . import sizes
from .sizes import DEPTH, HEADS, WIDTH


def gpt(p, buffers, words, variant):
    batch, length = words.shape
    x = p["words/w"][words] + p["places/w"]
    is_past = jnp.tril(jnp.ones((length, length), bool))
    for i in range(DEPTH):
        q = {k.split("/", 2)[2]: w for k, w in p.items() if k.startswith(f"blocks/v{i}/")}
        h = norm(x, q["norm1/w"], q["norm1/b"]) @ q["qkv/w"].T + q["qkv/b"]
        h = h.reshape(batch, length, 3, HEADS, WIDTH // HEADS)
        if variant == "dot_product_attention":
            y = jax.nn.dot_product_attention(h[:, :, 0], h[:, :, 1], h[:, :, 2], is_causal=True)
        else:
            a, b, c = h.transpose(2, 0, 3, 1, 4)
            scores = a @ b.swapaxes(2, 3) * (WIDTH // HEADS) ** -0.5
            scores = jax.nn.softmax(jnp.where(is_past, scores, -jnp.inf))
            y = (scores @ c).swapaxes(1, 2)
        x = x + y.reshape(batch, length, WIDTH) @ q["out/w"].T + q["out/b"]
        h = norm(x, q["norm2/w"], q["norm2/b"]) @ q["up/w"].T + q["up/b"]
        x = x + jax.nn.gelu(h, approximate=False) @ q["down/w"].T + q["down/b"]
    return norm(x, p["norm/w"], p["norm/b"]) @ p["head/w"].T + p["head/b"], buffers


def norm(x, w, b):
    mean = jnp.mean(x, -1, keepdims=True)
    centred = x - mean
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5) * w + b


def resnet(p, buffers, x, variant):
    new = {}

    def conv(x, name, number, stride):
        w = p[f"{name}conv{number}/w" if number != 3 else f"{name}short/w"]
        pad = w.shape[0] // 2
        x = jax.lax.conv_general_dilated(
            x, w, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        at = f"{name}norm{number}"
        # As in Flax: both means in one pass over x.
        mean = jnp.mean(x, (0, 1, 2))
        variance = jnp.mean(x * x, (0, 1, 2)) - mean * mean
        count = x.size / x.shape[-1]
        new[f"{at}/mean"] = 0.9 * buffers[f"{at}/mean"] + 0.1 * mean
        new[f"{at}/var"] = 0.9 * buffers[f"{at}/var"] + 0.1 * variance * (count / (count - 1))
        scale = jax.lax.rsqrt(variance + 1e-5) * p[f"{at}/w"]
        return x * scale + (p[f"{at}/b"] - mean * scale)

    x = jax.nn.relu(conv(x, "", "", 2))
    x = jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)]
    )
    for name, *_, stride in sizes.blocks():
        y = jax.nn.relu(conv(x, f"{name}/", 1, stride))
        y = conv(y, f"{name}/", 2, 1)
        x = jax.nn.relu(y + (conv(x, f"{name}/", 3, stride) if f"{name}/short/w" in p else x))
    return jnp.mean(x, (1, 2)) @ p["head/w"].T + p["head/b"], new


def lstm(p, buffers, x, variant):
    unroll = 4 if variant == "unroll 4" else 1
    x = x.swapaxes(0, 1)
    for layer in ("lstm/layer0/", "lstm/layer1/"):
        x = recurrence(p[layer + "w"], p[layer + "r"], p[layer + "b"], x, unroll)
    return x[-1] @ p["head/w"].T + p["head/b"], buffers


def recurrence(w, r, b, x, unroll):
    start = jnp.zeros((x.shape[1], sizes.UNITS), x.dtype)

    def body(state, inputs):
        h, c = state
        i, f, g, o = jnp.split(inputs + h @ r, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return jax.lax.scan(body, (start, start), x @ w + b, unroll=unroll)[1]


# A bare scan under value_and_grad compiles anew at every call: compiled also in the eager step.
recurrence = jax.jit(recurrence, static_argnums=4)
FORWARD = {"gpt": gpt, "resnet": resnet, "lstm": lstm}


def statistics(weights):
    """The running means and variances of the batch norms."""
    norms = {key[: -len("/w")]: w for key, w in weights.items() if "norm" in key and key[-1] == "w"}
    return {f"{at}/mean": 0 * w for at, w in norms.items()} | {
        f"{at}/var": 0 * w + 1 for at, w in norms.items()
    }


def step(name, mode, weights, variant):
    forward, optimizer = FORWARD[name], optax.adam(sizes.RATE)
    x, y = [jnp.asarray(array) for array in sizes.data(name)]

    def loss(p, buffers, x, y):
        logits, buffers = forward(p, buffers, x, variant)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, y)), buffers

    def update(p, buffers, state, x, y):
        (value, buffers), grads = jax.value_and_grad(loss, has_aux=True)(p, buffers, x, y)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(p, updates), buffers, state, value

    if mode == "compiled":
        update = jax.jit(update, donate_argnums=(0, 1, 2))
    p = {key: jnp.array(w) for key, w in weights.items()}
    buffers = statistics(weights) if name == "resnet" else {}
    buffers = {key: jnp.array(w) for key, w in buffers.items()}
    held = [p, buffers, optimizer.init(p)]
    del p, buffers

    def one():
        *held[:], value = update(*held, x, y)
        return value

    return one
