"""Variables, tapes and TensorFlow's fused Adam kernel; compiled: the whole step in one
tf.function."""

import tensorflow as tf

from .formulas import encoders


def dense(p, x):
    return tf.matmul(x, p["w"], transpose_b=True) + p["b"]


def mlp(p, x):
    return dense(p["l2"], tf.nn.relu(dense(p["l1"], tf.nn.relu(dense(p["l0"], x)))))


def cnn(p, x):
    for name, stride in (("c0", 1), ("c1", 2), ("c2", 2)):
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, p[name]["w"], stride, "VALID"), p[name]["b"]))
    return dense(p["head"], tf.reduce_mean(x, [1, 2]))


def lstm(p, x):
    part = p["lstm"]["layer0"]
    inputs = tf.unstack(tf.tensordot(x, part["w"], 1) + part["b"], axis=1)
    h = c = tf.zeros((x.shape[0], part["r"].shape[0]))
    for at in inputs:
        i, f, g, o = tf.split(at + tf.matmul(h, part["r"]), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
    return dense(p["head"], h)


def transformer(p, x):
    for name in encoders(p):
        x = encoder(p[name], x)
    return dense(p["head"], tf.reduce_mean(x, 1))


def encoder(p, x):
    x = norm(p["norm1"], x + attention(p["attention"], x, 4))
    hidden = tf.nn.relu(rows(x, p["linear1"]["w"], p["linear1"]["b"]))
    return norm(p["norm2"], x + rows(hidden, p["linear2"]["w"], p["linear2"]["b"]))


def rows(x, w, b):
    """A dense layer on the last axis of three, as one matrix product."""
    batch, length, width = x.shape
    y = tf.matmul(tf.reshape(x, (batch * length, width)), w, transpose_b=True) + b
    return tf.reshape(y, (batch, length, w.shape[0]))


def attention(p, x, heads):
    batch, length, width = x.shape
    qkv = tf.reshape(
        rows(x, p["in_proj_weights"], p["in_proj_bias"]), (batch, length, 3, heads, width // heads)
    )
    q, k, v = tf.unstack(tf.transpose(qkv, (2, 0, 3, 1, 4)))
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / (width // heads) ** 0.5)
    out = tf.reshape(tf.transpose(tf.matmul(weights, v), (0, 2, 1, 3)), (batch, length, width))
    return rows(out, p["out_proj_weights"], p["out_proj_bias"])


def norm(p, x):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, p["b"], p["w"], 1e-5)


FORWARD = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer}
FORWARD["deep_transformer"] = transformer


def steps(name, weights, x, y):
    forward = FORWARD[name]
    x, y = tf.constant(x), tf.constant(y)

    def stepper(compiler):
        p = tf.nest.map_structure(tf.Variable, weights)
        variables = tf.nest.flatten(p)
        m, v = [[tf.Variable(tf.zeros_like(w)) for w in variables] for _ in range(2)]
        powers = [tf.Variable(0.9), tf.Variable(0.999)]

        def update():
            with tf.GradientTape() as tape:
                value = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(y, forward(p, x))
                )
            grads = tape.gradient(value, variables)
            for w, m_i, v_i, g in zip(variables, m, v, grads):
                tf.raw_ops.ResourceApplyAdam(
                    var=w.handle, m=m_i.handle, v=v_i.handle,
                    beta1_power=powers[0], beta2_power=powers[1],
                    lr=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, grad=g,
                )  # fmt: skip
            powers[0].assign(powers[0] * 0.9)
            powers[1].assign(powers[1] * 0.999)
            return value

        return compiler(update)

    compiled = stepper(tf.function)
    return {"eager": stepper(lambda fn: fn), "compiled": compiled, "compiled whole": compiled}
