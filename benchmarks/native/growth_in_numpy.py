"""The pieces of growth.py in NumPy, with the derivatives by hand. Each gives the call and its
arrays."""

import numpy as np


def arrays(*shape, count):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype("float32") for _ in range(count)]


def mlp(batch, width, depth):
    def native(ws, x):
        hs = [x]
        for w in ws:
            hs.append(np.tanh(hs[-1] @ w))
        y = hs.pop()
        value, g = np.mean(y * y), y * np.float32(2 / y.size)
        grads = []
        for w, h in zip(reversed(ws), reversed(hs)):
            g = g * (1 - y * y)
            grads.append(h.T @ g)
            g = g @ w.T
            y = h
        return value, grads[::-1]

    ws = [w / np.float32(width**0.5) for w in arrays(width, width, count=depth)]
    return native, (ws, *arrays(batch, width, count=1))


def attention(length):
    is_future = np.triu(np.ones((length, length), bool), 1)

    def native(qkv):
        q, k, v = qkv
        scale = np.float32(q.shape[-1] ** -0.5)
        scores = (q * scale) @ k.swapaxes(2, 3)
        scores[..., is_future] = -np.inf
        scores -= scores.max(-1, keepdims=True)
        p = np.exp(scores, out=scores)
        p /= p.sum(-1, keepdims=True)
        y = p @ v
        value, g = np.mean(y * y), y * np.float32(2 / y.size)
        grad_v = p.swapaxes(2, 3) @ g
        grad_p = g @ v.swapaxes(2, 3)
        grad_p -= (grad_p * p).sum(-1, keepdims=True)
        grad_p *= p
        grad_p *= scale
        return value, [grad_p @ k, grad_p.swapaxes(2, 3) @ q, grad_v]

    return native, (arrays(2, 4, length, 32, count=3),)


def adam(leaves):
    ws, gs = arrays(32, 32, count=leaves), arrays(32, 32, count=leaves)
    update = adam_over(ws, gs)
    return lambda ws, gs: update(), (ws, gs)


def adam_over(ws, gs):
    """Out of place, as ours: new weights and a new state, leaf by leaf."""
    state = [[np.zeros_like(w) for w in ws] for _ in range(2)]

    def update():
        new = [[], [], []]
        for w, g, m, v in zip(ws, gs, *state):
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + 0.001 * (g * g)
            size = np.sqrt(v / (1 - 0.999)) + 1e-8
            for part, array in zip(new, (w - (1e-3 / (1 - 0.9)) * m / size, m, v)):
                part.append(array)
        return new

    return update
