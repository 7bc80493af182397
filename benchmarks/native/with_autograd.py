"""HIPS autograd and NumPy, with Adam written out; it has no convolutions."""

import autograd.numpy as anp
import numpy as np
from autograd import value_and_grad

from . import formulas


def lstm(p, x):
    part = p["lstm"]["layer0"]
    inputs = anp.dot(x, part["w"]) + part["b"]
    h = c = np.zeros((x.shape[0], part["r"].shape[0]), x.dtype)
    for t in range(x.shape[1]):
        h, c = formulas.lstm_cell(anp, part["r"], h, c, inputs[:, t])
    return h @ p["head"]["w"].T + p["head"]["b"]


FORWARD = {
    "mlp": lambda p, x: formulas.mlp(anp, p, x),
    "lstm": lstm,
    "transformer": lambda p, x: formulas.transformer(anp, p, x, 4),
}


def leaves(nest):
    return (
        [leaf for value in nest.values() for leaf in leaves(value)]
        if isinstance(nest, dict)
        else [nest]
    )


def steps(name, weights, x, y):
    forward = FORWARD[name]
    hot = np.eye(10, dtype=x.dtype)[y]
    evaluate = value_and_grad(lambda p: formulas.cross_entropy(anp, forward(p, x), hot))
    p = {key: copied(value) for key, value in weights.items()}
    m, v = [[np.zeros_like(w) for w in leaves(p)] for _ in range(2)]
    count = [0]

    def step():
        value, grads = evaluate(p)
        count[0] += 1
        rate = 1e-3 * (1 - 0.999 ** count[0]) ** 0.5 / (1 - 0.9 ** count[0])
        for w, g, m_i, v_i in zip(leaves(p), leaves(grads), m, v):
            m_i += 0.1 * (g - m_i)
            v_i += 0.001 * (g * g - v_i)
            w -= rate * m_i / (np.sqrt(v_i) + 1e-8)
        return value

    return {"eager": step}


def copied(nest):
    return {k: copied(v) for k, v in nest.items()} if isinstance(nest, dict) else nest.copy()
