"""The models of memory.py by hand in TensorFlow: what rises here is TensorFlow's own."""

import tensorflow as tf


def weights(name):
    if name == "mlp":
        shapes = [(8, 16), (16,), (16, 4), (4,)]
    else:
        shapes = [(8, 32), (8, 32), (32,), (8, 4), (4,)]
    return [
        tf.random.stateless_normal(shape, [0, i]) * 0.1 if len(shape) == 2 else tf.zeros(shape)
        for i, shape in enumerate(shapes)
    ]


def mlp(ws, x, seed):
    w1, b1, w2, b2 = ws
    return tf.nn.bias_add(tf.tanh(dropped(tf.nn.bias_add(x @ w1, b1), seed)) @ w2, b2)


def lstm(ws, x, seed):
    w, r, b, out, out_b = ws
    h = c = tf.zeros((x.shape[0], 8))
    for at in tf.unstack(x, axis=1):
        i, f, g, o = tf.split(at @ w + h @ r + b, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
    return tf.nn.bias_add(dropped(h, seed) @ out, out_b)


def dropped(x, seed):
    keep = tf.random.stateless_uniform(x.shape, seed) >= 0.1
    return tf.where(keep, x / 0.9, 0.0)


def step_of(name, mode):
    """A step that takes new data and the step's number; the weights and the state stay inside."""
    forward = {"mlp": mlp, "lstm": lstm}[name]

    def update(ws, ms, vs, seed, x, y):
        with tf.GradientTape() as tape:
            tape.watch(ws)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, forward(ws, x, seed))
            value = tf.reduce_mean(losses)
        gs = tape.gradient(value, ws)
        t = tf.cast(seed[1], tf.float32)
        rate = 1e-3 * tf.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        ms = [m + 0.1 * (g - m) for m, g in zip(ms, gs)]
        vs = [v + 0.001 * (g * g - v) for v, g in zip(vs, gs)]
        ws = [w - rate * m / (tf.sqrt(v) + 1e-8) for w, m, v in zip(ws, ms, vs)]
        return ws, ms, vs, value

    update = tf.function(update) if mode == "compiled" else update
    ws = weights(name)
    held = [ws, [tf.zeros_like(w) for w in ws], [tf.zeros_like(w) for w in ws]]

    def step(i, x, y):
        *held[:], value = update(*held, tf.constant([0, i]), tf.constant(x), tf.constant(y))
        return value

    return step
