"""The pieces of growth.py as one writes them in TensorFlow, in graphs. Each gives the call and its
arrays."""

import numpy as np
import tensorflow as tf


def arrays(*shape, count):
    rng = np.random.default_rng(0)
    return [tf.constant(rng.standard_normal(shape).astype("float32")) for _ in range(count)]


def mlp(batch, width, depth):
    @tf.function(autograph=False)
    def native(ws, x):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(ws)
            for w in ws:
                x = tf.tanh(x @ w)
            value = tf.reduce_mean(x * x)
        return value, tape.gradient(value, ws)

    ws = [w / width**0.5 for w in arrays(width, width, count=depth)]
    return native, (ws, *arrays(batch, width, count=1))


def attention(length):
    @tf.function(autograph=False)
    def native(qkv):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(qkv)
            q, k, v = qkv
            scores = tf.matmul(q, k, transpose_b=True) * 32**-0.5
            is_past = tf.linalg.band_part(tf.ones((length, length), "bool"), -1, 0)
            y = tf.nn.softmax(tf.where(is_past, scores, -np.inf)) @ v
            value = tf.reduce_mean(y * y)
        return value, tape.gradient(value, qkv)

    return native, (arrays(2, 4, length, 32, count=3),)


def adam(leaves):
    ws, gs = arrays(32, 32, count=leaves), arrays(32, 32, count=leaves)
    state = [[tf.zeros_like(w) for w in ws] for _ in range(2)]

    @tf.function(autograph=False)
    def update(ws, gs, ms, vs, count):
        """Out of place, as ours: new weights and a new state."""
        count = count + 1
        rate = 1e-3 * tf.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        epsilon = 1e-8 * tf.sqrt(1 - 0.999**count)
        ms = [m + (g - m) * 0.1 for m, g in zip(ms, gs)]
        vs = [v + (g * g - v) * 0.001 for v, g in zip(vs, gs)]
        ws = [w - rate * m / (tf.sqrt(v) + epsilon) for w, m, v in zip(ws, ms, vs)]
        return ws, ms, vs, count

    count = tf.constant(0.0)
    return lambda ws, gs: update(ws, gs, *state, count), (ws, gs)
