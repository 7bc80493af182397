"""Variables, tapes and TensorFlow's fused kernels for Adam and batch normalisation; compiled: the
whole step in one tf.function, with jit_compile (XLA) as the variant "jit_compile".
"""

import tensorflow as tf

from . import sizes
from .sizes import DEPTH, HEADS, LENGTH, WIDTH


def gpt(p, buffers, words):
    batch = words.shape[0]
    x = tf.gather(p["words/w"], words) + p["places/w"]
    x = tf.reshape(x, (batch * LENGTH, WIDTH))  # a dense layer is then one matrix product
    bias = tf.where(tf.linalg.band_part(tf.ones((LENGTH, LENGTH), tf.bool), -1, 0), 0.0, -1e9)
    for i in range(DEPTH):
        at = f"blocks/v{i}/"
        h = dense(p, f"{at}qkv", norm(p, f"{at}norm1", x))
        h = tf.reshape(h, (batch, LENGTH, 3, HEADS, WIDTH // HEADS))
        q, k, v = tf.unstack(tf.transpose(h, (2, 0, 3, 1, 4)))
        scores = tf.matmul(q * (WIDTH // HEADS) ** -0.5, k, transpose_b=True) + bias
        y = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), (0, 2, 1, 3))
        x = x + dense(p, f"{at}out", tf.reshape(y, (batch * LENGTH, WIDTH)))
        h = tf.nn.gelu(dense(p, f"{at}up", norm(p, f"{at}norm2", x)), approximate=False)
        x = x + dense(p, f"{at}down", h)
    return dense(p, "head", norm(p, "norm", x))


def dense(p, name, x):
    return tf.nn.bias_add(tf.matmul(x, p[f"{name}/w"], transpose_b=True), p[f"{name}/b"])


def norm(p, name, x):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, p[f"{name}/b"], p[f"{name}/w"], 1e-5)


def resnet(p, buffers, x):
    def conv(x, name, number, stride):
        w = p[f"{name}conv{number}/w" if number != 3 else f"{name}short/w"]
        pad = [w.shape[0] // 2] * 2
        # Padded by itself: the convolution with explicit padding was the slower one.
        x = tf.pad(x, [[0, 0], pad, pad, [0, 0]]) if pad[0] else x
        x = tf.nn.conv2d(x, w, stride, "VALID")
        at = f"{name}norm{number}"
        mean, variance = buffers[f"{at}/mean"], buffers[f"{at}/var"]
        y, new_mean, new_variance = tf.compat.v1.nn.fused_batch_norm(
            x, p[f"{at}/w"], p[f"{at}/b"], mean, variance, 1e-5, exponential_avg_factor=0.1
        )
        mean.assign(new_mean)
        variance.assign(new_variance)
        return y

    x = tf.nn.relu(conv(x, "", "", 2))
    # Nothing is below 0 here, so zeros serve; XLA has no pooling with explicit padding.
    x = tf.nn.max_pool2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), 3, 2, "VALID")
    for name, *_, stride in sizes.blocks():
        y = tf.nn.relu(conv(x, f"{name}/", 1, stride))
        y = conv(y, f"{name}/", 2, 1)
        x = tf.nn.relu(y + (conv(x, f"{name}/", 3, stride) if f"{name}/short/w" in p else x))
    return dense(p, "head", tf.reduce_mean(x, [1, 2]))


def lstm(p, buffers, x):
    x = tf.transpose(x, (1, 0, 2))
    for layer in ("lstm/layer0/", "lstm/layer1/"):
        time, batch, channels = x.shape
        flat = tf.reshape(x, (time * batch, channels)) @ p[layer + "w"] + p[layer + "b"]
        h = c = tf.zeros((batch, sizes.UNITS))
        hs = []
        for at in tf.unstack(tf.reshape(flat, (time, batch, 4 * sizes.UNITS))):
            i, f, g, o = tf.split(at + tf.matmul(h, p[layer + "r"]), 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            hs.append(h)
        x = tf.stack(hs)
    return dense(p, "head", hs[-1])


FORWARD = {"gpt": gpt, "resnet": resnet, "lstm": lstm}


def step(name, mode, weights, variant):
    forward = FORWARD[name]
    x, y = [tf.constant(array) for array in sizes.data(name)]
    y = tf.reshape(y, [-1])
    p = {key: tf.Variable(w) for key, w in weights.items()}
    variables = list(p.values())
    m, v = [[tf.Variable(tf.zeros_like(w)) for w in variables] for _ in range(2)]
    powers = [tf.Variable(0.9), tf.Variable(0.999)]
    buffers = {}
    for key, w in weights.items():
        if name == "resnet" and "norm" in key and key.endswith("/w"):
            buffers[key[:-1] + "mean"] = tf.Variable(0 * w)
            buffers[key[:-1] + "var"] = tf.Variable(0 * w + 1)

    def one():
        with tf.GradientTape() as tape:
            logits = forward(p, buffers, x)
            value = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for w, m_i, v_i, g in zip(variables, m, v, tape.gradient(value, variables)):
            tf.raw_ops.ResourceApplyAdam(
                var=w.handle, m=m_i.handle, v=v_i.handle, lr=sizes.RATE,
                beta1_power=powers[0], beta2_power=powers[1], beta1=0.9, beta2=0.999,
                epsilon=1e-8, grad=tf.convert_to_tensor(g),
            )  # fmt: skip
        powers[0].assign(powers[0] * 0.9)
        powers[1].assign(powers[1] * 0.999)
        return value

    if mode == "eager":
        return one
    return tf.function(one, jit_compile=variant == "jit_compile")
