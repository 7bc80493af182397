"""The networks over jax.numpy or autograd.numpy, whose functions have the same names."""

from math import sqrt


def mlp(np, p, x):
    x = np.maximum(x @ p["l0"]["w"].T + p["l0"]["b"], 0)
    x = np.maximum(x @ p["l1"]["w"].T + p["l1"]["b"], 0)
    return x @ p["l2"]["w"].T + p["l2"]["b"]


def transformer(np, p, x, heads):
    for name in encoders(p):
        x = encoder(np, p[name], x, heads)
    return np.mean(x, axis=1) @ p["head"]["w"].T + p["head"]["b"]


def encoders(p):
    """The names of the encoder layers, in order."""
    return sorted([name for name in p if name.startswith("e")])


def encoder(np, p, x, heads):
    x = norm(np, p["norm1"], x + attention(np, p["attention"], x, heads))
    hidden = np.maximum(x @ p["linear1"]["w"].T + p["linear1"]["b"], 0)
    return norm(np, p["norm2"], x + hidden @ p["linear2"]["w"].T + p["linear2"]["b"])


def attention(np, p, x, heads):
    batch, length, width = x.shape
    qkv = x @ p["in_proj_weights"].T + p["in_proj_bias"]
    qkv = np.reshape(qkv, (batch, length, 3, heads, width // heads))
    q, k, v = [np.swapaxes(qkv[:, :, i], 1, 2) for i in range(3)]
    logits = q @ np.swapaxes(k, -1, -2) / sqrt(width // heads)
    e = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    out = (e / np.sum(e, axis=-1, keepdims=True)) @ v
    out = np.reshape(np.swapaxes(out, 1, 2), (batch, length, width))
    return out @ p["out_proj_weights"].T + p["out_proj_bias"]


def norm(np, p, x):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * p["w"] + p["b"]


def lstm_cell(np, r, h, c, inputs):
    n = h.shape[-1]
    gates = inputs + h @ r
    i, f, o = [0.5 * np.tanh(0.5 * gates[:, k * n : (k + 1) * n]) + 0.5 for k in (0, 1, 3)]
    c = f * c + i * np.tanh(gates[:, 2 * n : 3 * n])
    return o * np.tanh(c), c


def cross_entropy(np, logits, hot):
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=-1)) - np.sum(shifted * hot, axis=-1))
