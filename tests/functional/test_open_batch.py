"""While tf.function traces with an open batch, sizes of it are None: nothing may depend on them."""

import numpy as np
import pytest

from oracles import tf
from trellis import functional as F
from trellis.testing import assert_close

rng = np.random.default_rng(2)
X = rng.normal(size=(3, 4, 6, 8)).astype("float32")
ZEROS, ONES = np.zeros(8, "float32"), np.ones(8, "float32")
MATRIX = rng.normal(size=(8, 15)).astype("float32")
RECURRENT = rng.normal(size=(5, 15)).astype("float32")

ROWS = {
    "softmax": F.softmax,
    "layer_norm": lambda x: F.layer_norm(x, weight=tf.constant(ONES), bias=tf.constant(ZEROS)),
    "layer_norm_axes": lambda x: F.layer_norm(x, axis=(1, 3)),
    "batch_norm": lambda x: F.batch_norm(x, tf.constant(ZEROS), tf.constant(ONES), training=True),
    "group_norm": lambda x: F.group_norm(x, 2),
    "instance_norm": F.instance_norm,
    "max_pool": lambda x: F.max_pool2d(x, 3, 2, "SAME", return_indices=True),
    "avg_pool": lambda x: F.avg_pool2d(x, 3, 2, "SAME"),
    "adaptive_avg_pool": lambda x: F.adaptive_avg_pool(x, (3, 2)),
    "adaptive_max_pool": lambda x: F.adaptive_max_pool(x, (3, 2), return_indices=True),
    "global_max_pool": lambda x: F.global_max_pool(x, keepdims=True),
    "resize": lambda x: F.resize(x, (7, 9), method="bilinear"),
    "pixel_shuffle": lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2),
    "unfold": lambda x: F.unfold(x, 2, 1, "SAME"),
    "fold": lambda x: F.fold(F.unfold(x, 2, 1, 0), (4, 6), 2, 1, 0),
    "gru": lambda x: F.gru_update(x[:, 0], x[:, 0, 0, :5], tf.constant(MATRIX),
                                  tf.constant(RECURRENT)),
    "rotary": F.rotary_embedding,
    "cross_entropy": lambda x: F.cross_entropy(x[:, 0, 0], tf.argmax(x[:, 1, 0], -1),
                                               ignore_index=0),
    "binary": lambda x: F.binary_cross_entropy(x, tf.sigmoid(x), from_logits=True),
    "ctc": lambda x: F.ctc_loss(
        F.log_softmax(x[:, 0]), tf.argmax(x[:, :2, 0], -1),
        tf.ones_like(x[:, 0, 0, 0], tf.int32) * 6,
        tf.ones_like(x[:, 0, 0, 0], tf.int32) * 2,
    ),
    "dropout": lambda x: F.dropout(x, 0.4, seed=3),
    "dropout of odd size": lambda x: F.dropout(x[:, :3, :3, :3], 0.4, seed=3),
    "dropout of channels": lambda x: F.dropout(x, 0.4, seed=3, noise_shape=[None, 1, 1, None]),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.3, training=True,
                                                          seed=5),
    "accuracy": lambda x: F.accuracy(x[:, 0, 0], tf.argmax(x[:, 1, 0], -1)),
}  # fmt: skip


def test_open_batch_and_length():
    """Attention with a mask of padding, where only the width is known."""
    weights, bias = rng.normal(size=(24, 8)).astype("float32"), np.ones(24, "float32")
    out = rng.normal(size=(8, 8)).astype("float32")
    specs = [tf.TensorSpec([None, None, 8], tf.float32), tf.TensorSpec([None, None], tf.bool)]

    def fn(x, padding):
        return F.multi_head_attention(
            x, num_heads=2, in_proj_weights=tf.constant(weights),
            in_proj_bias=tf.constant(bias), out_proj_weights=tf.constant(out),
            key_padding_mask=padding,
        )  # fmt: skip

    x, padding = tf.constant(X[0]), tf.constant(X[0, :, :, 0] > 1.0)
    found = tf.function(fn, input_signature=specs, autograph=False)(x, padding)
    assert_close(found, fn(x, padding), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("row", ROWS)
def test_open_batch(row):
    fn = ROWS[row]
    traced = tf.function(fn, input_signature=[tf.TensorSpec([None, 4, 6, 8], tf.float32)])
    x = tf.constant(X)
    assert_close(traced(x), fn(x), rtol=1e-4, atol=1e-5)
