"""What do the layer functions cost beside each framework's own, and NumPy's convolution beside
PyTorch's?

    python benchmarks/layers.py [torch] [jax] [tensorflow] [numpy] [--quick]

The native side is what a user of the framework would call, with the same arrays in the layout the
framework likes best; Trellis gets them in the same layout. The limits are 1.1 for the frameworks'
own functions and 2.5 for NumPy's convolution, forward and backward, beside PyTorch's on one thread.
"""

import sys

from harness import QUICK, Report, duration, one_core

one_core()

import tracemalloc

import numpy as np

import trellis

rng = np.random.default_rng(0)


def arrays(*shapes):
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


IMAGE, FILTERS, BIAS = arrays((16, 32, 32, 32), (3, 3, 32, 64), (64,))
DEPTHWISE = arrays((3, 3, 32))[0]
SIGNAL, SIGNAL_FILTERS = arrays((16, 1024, 32), (5, 32, 64))
VOLUME, VOLUME_FILTERS = arrays((2, 16, 16, 16, 16), (3, 3, 3, 16, 32))
HEADS = arrays((4, 8, 256, 64), (4, 8, 256, 64), (4, 8, 256, 64))
FEW_HEADS = arrays((4, 2, 256, 64), (4, 2, 256, 64))
DENSE, WEIGHT, WEIGHT_BIAS = arrays((512, 512), (1024, 512), (1024,))
SEQUENCE = arrays((32, 64, 128), (32, 128), (32, 128), (128, 512), (128, 512), (512,))
# Of usual size: with large weights a recurrence is chaotic, and rounding would tell the two sides
# apart.
SEQUENCE[3:] = [0.1 * a for a in SEQUENCE[3:]]
TOKENS, IN_PROJ, OUT_PROJ = arrays((8, 256, 256), (768, 256), (256, 256))
IN_BIAS, OUT_BIAS = arrays((768,), (256,))


def first(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def first_filters(w):
    return np.ascontiguousarray(np.transpose(w, (w.ndim - 1, w.ndim - 2, *range(w.ndim - 2))))


def torch_rows():
    import torch
    import torch.nn.functional as F

    torch.set_grad_enabled(False)
    t = torch.from_numpy
    x, w, b = t(first(IMAGE)), t(first_filters(FILTERS)), t(BIAS)
    d, dw = t(first_filters(DEPTHWISE[:, :, None])), t(DEPTHWISE)
    s, sw = t(first(SIGNAL)), t(first_filters(SIGNAL_FILTERS))
    v, vw = t(first(VOLUME)), t(first_filters(VOLUME_FILTERS))
    first_format = {"filter_format": "channel_first"}
    yield "conv1d", lambda: F.conv1d(s, sw, padding=2), lambda: trellis.conv1d(
        s, sw, 1, 2, data_format="NCW", **first_format)  # fmt: skip
    yield "conv2d", lambda: F.conv2d(x, w, b, padding=1), lambda: trellis.conv2d(
        x, w, 1, "SAME", bias=b, data_format="NCHW", **first_format)  # fmt: skip
    yield "conv2d, stride 2", lambda: F.conv2d(x, w, stride=2, padding=1), lambda: trellis.conv2d(
        x, w, 2, 1, data_format="NCHW", **first_format)  # fmt: skip
    yield "conv3d", lambda: F.conv3d(v, vw, padding=1), lambda: trellis.conv3d(
        v, vw, 1, 1, data_format="NCDHW", **first_format)  # fmt: skip
    yield "depthwise_conv2d", lambda: F.conv2d(x, d, padding=1, groups=32), lambda: trellis.depthwise_conv2d(
        x, dw, 1, 1, data_format="NCHW")  # fmt: skip
    s1, v1 = F.conv1d(s, sw, padding=2), F.conv3d(v, vw, padding=1)
    yield "conv1d_transpose, stride 2", lambda: F.conv_transpose1d(
        s1, sw, stride=2, padding=2, output_padding=1), lambda: trellis.conv1d_transpose(
        s1, sw, 2, 2, output_shape=2048, data_format="NCW", **first_format)  # fmt: skip
    y = F.conv2d(x, w, b, padding=1)
    yield "conv2d_transpose, stride 2", lambda: F.conv_transpose2d(
        y, w, stride=2, padding=1, output_padding=1), lambda: trellis.conv2d_transpose(
        y, w, 2, 1, output_shape=(64, 64), data_format="NCHW", **first_format)  # fmt: skip
    yield "conv3d_transpose", lambda: F.conv_transpose3d(v1, vw, padding=1), lambda: trellis.conv3d_transpose(
        v1, vw, 1, 1, data_format="NCDHW", **first_format)  # fmt: skip
    yw = w[:, :16].contiguous()
    yield "conv_general_transpose, groups 2", lambda: F.conv_transpose2d(y, yw, padding=1, groups=2), (
        lambda: trellis.conv_general_transpose(y, yw, 1, 1, feature_group_count=2,
                                               data_format="channel_first", **first_format))  # fmt: skip
    yield "conv_general_dilated, groups 2", lambda: F.conv2d(x, w[:, :16], padding=1, groups=2), (
        lambda: trellis.conv_general_dilated(x, w[:, :16], 1, 1, feature_group_count=2,
                                             data_format="channel_first", **first_format))  # fmt: skip
    q, k, val = [t(a) for a in HEADS]
    yield (
        "scaled_dot_product_attention",
        lambda: F.scaled_dot_product_attention(q, k, val),
        (lambda: trellis.scaled_dot_product_attention(q, k, val)),
    )
    few = [t(a) for a in FEW_HEADS]
    yield "attention, grouped heads, causal", lambda: F.scaled_dot_product_attention(
        q, *few, is_causal=True, enable_gqa=True), lambda: trellis.scaled_dot_product_attention(
        q, *few, is_causal=True)  # fmt: skip
    z, weight, weight_bias = t(DENSE), t(WEIGHT), t(WEIGHT_BIAS)
    yield (
        "linear",
        lambda: F.linear(z, weight, weight_bias),
        lambda: trellis.linear(z, weight, bias=weight_bias),
    )
    yield "dropout", lambda: F.dropout(z, 0.5), lambda: trellis.dropout(z, 0.5, seed=0)
    layer = torch.nn.MultiheadAttention(256, 8, batch_first=True)
    tokens = t(TOKENS)
    p = dict(layer.named_parameters())
    p = [
        p[n].detach()
        for n in ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    ]
    yield "multi_head_attention", lambda: layer(tokens, tokens, tokens, need_weights=False), (
        lambda: trellis.multi_head_attention(tokens, num_heads=8, in_proj_weights=p[0], in_proj_bias=p[1],
                                             out_proj_weights=p[2], out_proj_bias=p[3]))  # fmt: skip
    lstm = torch.nn.LSTM(128, 128, batch_first=True)
    seq = [t(a) for a in SEQUENCE]
    state = (seq[1][None], seq[2][None])
    yield (
        "lstm_update",
        lambda: lstm(seq[0], state),
        lambda: trellis.lstm_update(*seq[:5], bias=seq[5]),
    )


def jax_rows():
    import jax
    import jax.numpy as jnp
    from jax import lax

    done = jax.block_until_ready
    j = jnp.asarray
    image, filters, bias = j(IMAGE), j(FILTERS), j(BIAS)

    def conv(x, w, dims, **kw):
        names = {
            1: ("NWC", "WIO", "NWC"),
            2: ("NHWC", "HWIO", "NHWC"),
            3: ("NDHWC", "DHWIO", "NDHWC"),
        }
        return lax.conv_general_dilated(
            x, w, kw.pop("strides", (1,) * dims), "SAME", dimension_numbers=names[dims], **kw
        )

    s, sw, v, vw = j(SIGNAL), j(SIGNAL_FILTERS), j(VOLUME), j(VOLUME_FILTERS)
    yield "conv1d", lambda: done(conv(s, sw, 1)), lambda: done(trellis.conv1d(s, sw, 1, "SAME"))
    yield "conv2d", lambda: done(conv(image, filters, 2) + bias), lambda: done(
        trellis.conv2d(image, filters, 1, "SAME", bias=bias))  # fmt: skip
    yield "conv2d, stride 2", lambda: done(conv(image, filters, 2, strides=(2, 2))), lambda: done(
        trellis.conv2d(image, filters, 2, "SAME"))  # fmt: skip
    native = jax.jit(
        jax.grad(lambda x, w: jnp.sum(conv(x, w, 2, strides=(2, 2)) ** 2), argnums=(0, 1))
    )
    ours = jax.jit(
        jax.grad(lambda x, w: jnp.sum(trellis.conv2d(x, w, 2, "SAME") ** 2), argnums=(0, 1))
    )
    yield (
        "conv2d, stride 2, gradients",
        lambda: done(native(image, filters)),
        lambda: done(ours(image, filters)),
    )
    yield "conv3d", lambda: done(conv(v, vw, 3)), lambda: done(trellis.conv3d(v, vw, 1, "SAME"))
    dw = j(DEPTHWISE)
    yield "depthwise_conv2d", lambda: done(conv(image, dw[:, :, None], 2, feature_group_count=32)), lambda: done(
        trellis.depthwise_conv2d(image, dw, 1, "SAME"))  # fmt: skip
    y, wt = done(conv(image, filters, 2)), j(FILTERS)

    def transposed():
        return lax.conv_transpose(y, wt, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                                transpose_kernel=True)  # fmt: skip

    yield "conv2d_transpose, stride 2", lambda: done(transposed()), lambda: done(
        trellis.conv2d_transpose(y, wt, 2, "SAME"))  # fmt: skip
    s1, v1 = done(conv(s, sw, 1)), done(conv(v, vw, 3))
    yield "conv1d_transpose, stride 2", lambda: done(lax.conv_transpose(
        s1, sw, (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"), transpose_kernel=True)), lambda: done(
        trellis.conv1d_transpose(s1, sw, 2, "SAME"))  # fmt: skip
    yield "conv3d_transpose", lambda: done(lax.conv_transpose(
        v1, vw, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"), transpose_kernel=True)), lambda: done(
        trellis.conv3d_transpose(v1, vw, 1, "SAME"))  # fmt: skip
    half = filters[:, :, :16]
    yield "conv_general_dilated, groups 2", lambda: done(conv(image, half, 2, feature_group_count=2)), lambda: done(
        trellis.conv_general_dilated(image, half, 1, "SAME", feature_group_count=2))  # fmt: skip
    q, k, val = [j(a) for a in HEADS]
    turned = [jnp.swapaxes(a, 1, 2) for a in (q, k, val)]
    yield "scaled_dot_product_attention", lambda: done(jax.nn.dot_product_attention(*turned)), lambda: done(
        trellis.scaled_dot_product_attention(q, k, val))  # fmt: skip
    few = [j(a) for a in FEW_HEADS]
    turned_few = [jnp.swapaxes(a, 1, 2) for a in few]
    yield "attention, grouped heads, causal", lambda: done(jax.nn.dot_product_attention(
        turned[0], *turned_few, is_causal=True)), lambda: done(
        trellis.scaled_dot_product_attention(q, *few, is_causal=True))  # fmt: skip
    p = [j(a) for a in (TOKENS, IN_PROJ, IN_BIAS, OUT_PROJ, OUT_BIAS)]

    @jax.jit
    def heads(x, w, b, out_w, out_b):
        q, k, v = [a.reshape(*a.shape[:2], 8, 32) for a in jnp.split(x @ w.T + b, 3, -1)]
        return jax.nn.dot_product_attention(q, k, v).reshape(x.shape) @ out_w.T + out_b

    yield "multi_head_attention", lambda: done(heads(*p)), lambda: done(trellis.multi_head_attention(
        p[0], num_heads=8, in_proj_weights=p[1], in_proj_bias=p[2], out_proj_weights=p[3], out_proj_bias=p[4]))  # fmt: skip
    z, weight, wb = j(DENSE), j(WEIGHT), j(WEIGHT_BIAS)
    yield (
        "linear",
        lambda: done(jnp.matmul(z, weight.T) + wb),
        lambda: done(trellis.linear(z, weight, bias=wb)),
    )
    key = jax.random.key(0)
    yield "dropout", lambda: done(jnp.where(jax.random.bernoulli(key, 0.5, z.shape), z / 0.5, 0)), lambda: done(
        trellis.dropout(z, 0.5, seed=0))  # fmt: skip
    seq = [j(a) for a in SEQUENCE]

    @jax.jit
    def scan(x, h, c, k, r, b):
        def step(state, at):
            i, f, g, o = jnp.split(at @ k + b + state[0] @ r, 4, -1)
            c = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return lax.scan(step, (h, c), jnp.swapaxes(x, 0, 1))

    yield (
        "lstm_update",
        lambda: done(scan(*seq)),
        lambda: done(trellis.lstm_update(*seq[:5], bias=seq[5])),
    )


def tensorflow_rows():
    import tensorflow as tf

    c = tf.constant
    x, w, b = c(IMAGE), c(FILTERS), c(BIAS)
    s, sw, v, vw = c(SIGNAL), c(SIGNAL_FILTERS), c(VOLUME), c(VOLUME_FILTERS)
    yield "conv1d", lambda: tf.nn.conv1d(s, sw, 1, "SAME"), lambda: trellis.conv1d(s, sw, 1, "SAME")
    yield (
        "conv2d",
        lambda: tf.nn.conv2d(x, w, 1, "SAME") + b,
        lambda: trellis.conv2d(x, w, 1, "SAME", bias=b),
    )
    yield (
        "conv2d, stride 2",
        lambda: tf.nn.conv2d(x, w, 2, "SAME"),
        lambda: trellis.conv2d(x, w, 2, "SAME"),
    )
    yield "conv2d, dilation 2", lambda: tf.nn.conv2d(x, w, 1, "SAME", dilations=2), lambda: trellis.conv2d(
        x, w, 1, "SAME", dilations=2)  # fmt: skip
    yield (
        "conv3d",
        lambda: tf.nn.conv3d(v, vw, [1] * 5, "SAME"),
        lambda: trellis.conv3d(v, vw, 1, "SAME"),
    )
    d = c(DEPTHWISE)
    yield (
        "depthwise_conv2d",
        lambda: tf.nn.depthwise_conv2d(x, d[..., None], [1] * 4, "SAME"),
        lambda: trellis.depthwise_conv2d(x, d, 1, "SAME"),
    )
    y = tf.nn.conv2d(x, w, 1, "SAME")
    yield (
        "conv2d_transpose, stride 2",
        lambda: tf.nn.conv2d_transpose(y, w, [16, 64, 64, 32], 2, "SAME"),
        lambda: trellis.conv2d_transpose(y, w, 2, "SAME"),
    )
    s1, v1 = tf.nn.conv1d(s, sw, 1, "SAME"), tf.nn.conv3d(v, vw, [1] * 5, "SAME")
    yield (
        "conv1d_transpose, stride 2",
        lambda: tf.nn.conv1d_transpose(s1, sw, [16, 2048, 32], 2, "SAME"),
        lambda: trellis.conv1d_transpose(s1, sw, 2, "SAME"),
    )
    yield (
        "conv3d_transpose",
        lambda: tf.nn.conv3d_transpose(v1, vw, [2, 16, 16, 16, 16], [1] * 5, "SAME"),
        lambda: trellis.conv3d_transpose(v1, vw, 1, "SAME"),
    )
    q, k, val = [c(a) for a in HEADS]
    yield "scaled_dot_product_attention", lambda: tf.nn.softmax(
        tf.matmul(q, k, transpose_b=True) * 0.125) @ val, lambda: (
        trellis.scaled_dot_product_attention(q, k, val))  # fmt: skip
    p = [c(a) for a in (TOKENS, IN_PROJ, IN_BIAS, OUT_PROJ, OUT_BIAS)]
    heads = tf.keras.layers.MultiHeadAttention(8, 32)
    heads(p[0], p[0])
    yield "multi_head_attention", lambda: heads(p[0], p[0]), lambda: trellis.multi_head_attention(
        p[0], num_heads=8, in_proj_weights=p[1], in_proj_bias=p[2], out_proj_weights=p[3], out_proj_bias=p[4])  # fmt: skip
    z, weight, wb = c(DENSE), c(WEIGHT), c(WEIGHT_BIAS)
    yield (
        "linear",
        lambda: tf.matmul(z, weight, transpose_b=True) + wb,
        lambda: trellis.linear(z, weight, bias=wb),
    )
    yield "dropout", lambda: tf.nn.dropout(z, 0.5), lambda: trellis.dropout(z, 0.5, seed=0)
    seq = [c(a) for a in SEQUENCE]
    layer = tf.keras.layers.LSTM(128, return_sequences=True, return_state=True)
    layer(seq[0])
    yield "lstm_update", lambda: layer(seq[0], initial_state=seq[1:3]), lambda: trellis.lstm_update(
        *seq[:5], bias=seq[5])  # fmt: skip


def numpy_rows():
    """Forward and backward together, beside PyTorch on one thread."""
    import torch
    import torch.nn.functional as F

    torch.set_grad_enabled(True)
    x, w = torch.from_numpy(first(IMAGE)), torch.from_numpy(first_filters(FILTERS))

    def native():
        leaves = x.detach().requires_grad_(), w.detach().requires_grad_()
        y = F.conv2d(*leaves, padding=1)
        return torch.autograd.grad(y, leaves, torch.ones_like(y))

    def ours():
        y, pull = trellis.vjp(lambda x, w: trellis.conv2d(x, w, 1, 1), IMAGE, FILTERS)
        return pull(np.ones_like(y))

    yield "conv2d, forward and backward", native, ours


def numpy_memory():
    """The most memory during forward and backward, in units of input + output."""
    size = IMAGE.nbytes + 16 * 32 * 32 * 64 * 4
    cotangent = np.ones((16, 32, 32, 64), "float32")
    tracemalloc.start()
    _y, pull = trellis.vjp(lambda x, w: trellis.conv2d(x, w, 1, 1), IMAGE, FILTERS)
    forward = tracemalloc.get_traced_memory()[1]
    pull(cotangent)
    both = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return forward / size, both / size


ROWS = {"torch": torch_rows, "jax": jax_rows, "tensorflow": tensorflow_rows, "numpy": numpy_rows}


# The short run.
CHOSEN = ("conv2d", "scaled_dot_product_attention", "linear", "dropout", "lstm_update")
# Not compared: other masks; layers of torch.nn and Keras with weights of their own.
INCOMPARABLE = (
    "dropout",
    "torch lstm_update",
    "tensorflow multi_head_attention",
    "tensorflow lstm_update",
)


def check(what, native, ours):
    """The same numbers on both sides, before anything is timed; frameworks round in another
    order."""
    expected, found = [
        trellis.to_numpy(x) for x in (largest_array(native()), largest_array(ours()))
    ]
    # Native layouts differ: channels first, heads behind the positions, steps before the batch.
    layouts = [expected]
    if expected.ndim > 2:
        layouts += [np.moveaxis(expected, 1, -1)] + [np.swapaxes(expected, 1, i) for i in (0, 2)]
    fitting = [x for x in layouts if x.shape == found.shape]  # several where sizes are equal
    expected = min(fitting, key=lambda x: float(np.abs(x - found).max()))
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * scale, err_msg=what)


def largest_array(value):
    return max(trellis.tree.leaves(value), key=lambda x: int(np.prod(tuple(x.shape))))


def blas_limit(report):
    """The multiplications of the convolution, forward and twice backward, as products of plain
    matrices."""
    a, b = arrays((16 * 32 * 32, 288), (288, 64))
    c = a @ b
    row = report.add(
        "numpy: those products in BLAS alone",
        {"BLAS": lambda: (a @ b, a.T @ c, c @ b.T)},
    )
    flops = 3 * 2 * a.shape[0] * 288 * 64 / row.seconds["BLAS"]
    ours = next(r for r in report.rows if r.what.startswith("numpy conv2d")).seconds["trellis"]
    report.notes.append(
        f"BLAS does {flops / 1e9:.0f} GFLOP/s here on one core: {duration(row.seconds['BLAS'])} is "
        "the least that "
        f"conv2d forward and backward can take; ours takes {ours / row.seconds['BLAS']:.2f} times "
        "that."
    )


def main():
    chosen = [name for name in ROWS if name in sys.argv] or list(ROWS)
    report = Report("layers", "A layer compared with the framework's own function")
    for backend in chosen:
        reference = "torch" if backend == "numpy" else "native"
        limit = 2.5 if backend == "numpy" else 1.1
        for what, native, ours in ROWS[backend]():
            if QUICK and backend != "numpy" and what not in CHOSEN:
                continue
            if what not in INCOMPARABLE and f"{backend} {what}" not in INCOMPARABLE:
                check(f"{backend} {what}", native, ours)
            report.add(f"{backend} {what}", {reference: native, "trellis": ours}, limit=limit)
    if "numpy" in chosen:
        blas_limit(report)
        forward, both = numpy_memory()
        report.notes.append(
            f"numpy conv2d holds {forward:.2f} times input + output at most forward, {both:.2f} "
            "with backward (limit 3)."
        )
        print(*report.notes, sep="\n")
    report.save()


if __name__ == "__main__":
    main()
