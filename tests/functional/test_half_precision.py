"""Layers in float16 and bfloat16: sums run in float32, and only results are rounded.

The reference is the same call in float64 on the inputs as they were rounded; values and gradients
of that are checked elsewhere. A result that is summed in float32 and rounded once is within half a
unit in the last place of it; adding a bias rounds again, and so do PyTorch's fused kernels inside:
the limit is three units, taken at the largest element (small elements of a gradient are differences
of large ones). Sums of 1000 terms in half precision miss that by far: float16 stops to grow at 2048
ones, bfloat16 at 256.
"""

import numpy as np
import pytest

import trellis
from conftest import compile_with
from trellis import functional as F

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
rng = np.random.default_rng(0)


def positive(*shape):
    """Numbers of one sign: long sums of them are where half precision stalls."""
    return rng.uniform(0.5, 1.5, shape)


def signed(*shape):
    return rng.standard_normal(shape)


CLASSES = rng.integers(0, 2048, 4)
ROWS = {
    "linear, long rows": (lambda x, w, b: trellis.linear(x, w, bias=b),
                          [positive(3, 1500), positive(4, 1500), positive(4)]),
    "linear, many rows": (lambda x, w, b: trellis.linear(x, w, bias=b),
                          [positive(5, 500, 3), positive(4, 3), positive(4)]),
    "conv1d": (lambda x, w, b: trellis.conv1d(x, w, 1, "SAME", bias=b),
               [positive(2, 600, 256), positive(5, 256, 2), positive(2)]),
    "conv2d": (lambda x, w, b: trellis.conv2d(x, w, 1, "SAME", bias=b),
               [positive(2, 24, 24, 128), positive(3, 3, 128, 2), positive(2)]),
    "conv2d, channel first, stride and dilation": (
        lambda x, w, b: trellis.conv2d(x, w, 2, 2, dilations=2, bias=b, data_format="NCHW"),
        [positive(2, 128, 32, 32), positive(3, 3, 128, 2), positive(2)]),
    "conv3d": (lambda x, w, b: trellis.conv3d(x, w, 1, "SAME", bias=b),
               [positive(1, 10, 10, 10, 64), positive(3, 3, 3, 64, 2), positive(2)]),
    "depthwise_conv2d": (lambda x, w: trellis.depthwise_conv2d(x, w, 1, "SAME"),
                         [positive(1, 48, 48, 2), positive(5, 5, 2)]),
    "conv_general_dilated, groups": (
        lambda x, w: trellis.conv_general_dilated(x, w, 1, "SAME", feature_group_count=2),
        [positive(2, 24, 24, 128), positive(3, 3, 64, 4)]),
    "conv2d_transpose": (lambda x, w, b: trellis.conv2d_transpose(x, w, 2, "SAME", bias=b),
                         [positive(2, 16, 16, 256), positive(3, 3, 2, 256), positive(2)]),
    "conv3d_transpose": (lambda x, w: trellis.conv3d_transpose(x, w, 1, "SAME"),
                         [positive(1, 10, 10, 10, 64), positive(3, 3, 3, 2, 64)]),
    "scaled_dot_product_attention": (trellis.scaled_dot_product_attention,
                                     [signed(2, 2, 600, 16), signed(2, 2, 800, 16),
                                      positive(2, 2, 800, 4)]),
    "scaled_dot_product_attention, causal": (
        lambda q, k, v: trellis.scaled_dot_product_attention(q, k, v, is_causal=True),
        [signed(2, 600, 16), signed(2, 600, 16), positive(2, 600, 16)]),
    "scaled_dot_product_attention, grouped": (trellis.scaled_dot_product_attention,
                                              [signed(1, 4, 600, 16), signed(1, 2, 600, 16),
                                               positive(1, 2, 600, 16)]),
    "scaled_dot_product_attention, added mask": (
        lambda q, k, v, m: trellis.scaled_dot_product_attention(q, k, v, mask=m),
        [signed(2, 40, 16), signed(2, 600, 16), positive(2, 600, 16), signed(40, 600)]),
    "scaled_dot_product_attention, dropout": (
        lambda q, k, v: trellis.scaled_dot_product_attention(q, k, v, dropout_p=0.25, training=True,
                                                             seed=0),
        [signed(2, 40, 16), signed(2, 600, 16), positive(2, 600, 16)]),
    "multi_head_attention": (lambda x, w: trellis.multi_head_attention(x, num_heads=2,
                                                                       in_proj_weights=w),
                             [signed(2, 300, 16), signed(48, 16) / 4]),
    "lstm_update": (lambda x, h, c, k, r, b: trellis.lstm_update(x, h, c, k, r, bias=b),
                    [signed(3, 40, 8), signed(3, 6), signed(3, 6), signed(8, 24) / 3,
                     signed(6, 24) / 3, signed(24)]),
    "lstm_update, wide": (lambda x, h, c, k, r: trellis.lstm_update(x, h, c, k, r)[0],
                          [positive(2, 3, 1500), signed(2, 4), signed(2, 4),
                           positive(1500, 16) / 750 - 1 / 750,
                           signed(4, 16)]),
    "gru_update": (lambda x, h, k, r: F.gru_update(x, h, k, r),
                   [signed(3, 40, 8), signed(3, 6), signed(8, 18) / 3, signed(6, 18) / 3]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, weight=w, bias=b),
                   [positive(600, 700), positive(700), signed(700)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, weight=w), [positive(600, 700), positive(700)]),
    "batch_norm": (
        lambda x, m, v, w, b: F.batch_norm(x, m, v, weight=w, bias=b, training=True)[0],
        [positive(1500, 4), signed(4), positive(4), positive(4), signed(4)],
    ),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, weight=w, bias=b),
                   [positive(2, 30, 30, 4), positive(4), signed(4)]),
    "instance_norm": (lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
                      [positive(2, 30, 30, 4), positive(4), signed(4)]),
    "softmax": (F.softmax, [signed(3, 2048)]),
    "log_softmax": (F.log_softmax, [signed(3, 2048)]),
    "mse_loss": (F.mse_loss, [positive(3000), -positive(3000)]),
    "mae_loss": (F.mae_loss, [positive(3000), -positive(3000)]),
    "huber_loss": (F.huber_loss, [positive(3000), -positive(3000)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, _classes(x)), [signed(4, 2048)]),
    "cross_entropy, shares": (lambda x, p: F.cross_entropy(x, p),
                              [signed(4, 2048), np.full((4, 2048), 2.0**-11)]),
    "binary_cross_entropy": (lambda x, p: F.binary_cross_entropy(x, p, from_logits=True),
                             [signed(3000), rng.uniform(0.1, 0.9, 3000)]),
    "kl_divergence": (lambda x, y: F.kl_divergence(F.log_softmax(x), F.softmax(y)),
                      [signed(4, 2048), signed(4, 2048)]),
    "cosine_loss": (F.cosine_loss, [positive(4, 2048), signed(4, 2048)]),
}  # fmt: skip


def _classes(like):
    return trellis.asarray(CLASSES, dtype="int64" if trellis.backend_of(like) != "jax" else "int32",
                           backend=trellis.backend_of(like))  # fmt: skip


def results(fn, xs):
    """The results, and the gradients of a weighted sum of them with respect to every argument.

    The weights 1/2, 1, 3/2 are exact in every dtype; with equal ones the gradient of a norm would
    be zero.
    """

    def cotangent(y):
        shape = tuple(y.shape)
        numbers = (np.arange(int(np.prod(shape))) % 3 + 1).reshape(shape) / 2
        numbers = trellis.asarray(numbers.astype("float32"), backend=trellis.backend_of(y))
        return trellis.astype(numbers, y.dtype)

    ys, pull = trellis.vjp(fn, *xs)
    return trellis.tree.leaves([ys, list(pull(trellis.tree.map(cotangent, ys)))])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("row", ROWS)
def test_sums_run_in_float32(row, dtype, backend, array):
    fn, values = ROWS[row]
    xs = [trellis.astype(array(a.astype("float32")), dtype) for a in values]
    exact = [trellis.to_numpy(trellis.astype(x, "float32")).astype("float64") for x in xs]
    run = lambda *xs: results(fn, xs)  # noqa: E731
    # One operation after another, JAX would compile each of them.
    found = (compile_with("jax", run) if backend == "jax" else run)(*xs)
    for i, (y, z) in enumerate(zip(found, results(fn, exact), strict=True)):
        assert trellis.dtype(y) == dtype and trellis.backend_of(y) == backend
        got = trellis.to_numpy(trellis.astype(y, "float32")).astype("float64")
        # Gradients below the smallest normal number of float16 have fewer digits.
        worst = np.abs(got - z).max() / max(np.abs(z).max(), 2.0**-14)
        assert worst <= 3 * EPS[dtype], f"result {i}: off by {worst / EPS[dtype]:.1f} units"
