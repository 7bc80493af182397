"""Attention: the kit's tests on all four backends, and others that need a certain framework."""

import numpy as np
import pytest

from trellis.conformance.test_attention import *  # noqa: F403
from trellis.conformance.test_attention import arrays, loop_attention, mha, repeated, sdpa
from trellis.testing import assert_close


def test_grouped_query_attention_open_shapes():
    """tf.function with sizes that are open while tracing: the batch, or the batch and both
    lengths."""
    tf = pytest.importorskip("tensorflow")
    q, k, v = arrays((2, 4))[0], *arrays((2, 2), seed=1)[1:]
    wanted = loop_attention(q, repeated(k, 4), repeated(v, 4)).astype("float32")
    for lengths in ((4, 3), (None, None)):
        signature = [
            tf.TensorSpec((None, heads, n, width), tf.float32)
            for heads, n, width in ((4, lengths[0], 2), (2, lengths[1], 2), (2, lengths[1], 5))
        ]
        compiled = tf.function(sdpa, input_signature=signature)
        got = compiled(*[tf.constant(a, tf.float32) for a in (q, k, v)])
        assert_close(got, wanted, backend="tensorflow")


def test_multi_head_attention_equals_torch(array, backend):
    """torch.nn.MultiheadAttention is the oracle for layouts, with a batch and both masks (theirs
    the other way)."""
    torch = pytest.importorskip("torch")
    oracle = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 5, 8)).astype("float32")
    keep, padding = (
        np.tri(5, dtype=bool),
        np.array([[False] * 5, [False] * 4 + [True], [False] * 3 + [True] * 2]),
    )
    with torch.no_grad():
        torch.nn.init.normal_(oracle.in_proj_bias)
        natives = torch.from_numpy(x)
        wanted = oracle(
            natives,
            natives,
            natives,
            attn_mask=torch.from_numpy(~keep),
            key_padding_mask=torch.from_numpy(padding),
        )
    p = {name: value.detach().numpy() for name, value in oracle.named_parameters()}
    got = mha(array(x), num_heads=2, in_proj_weights=array(p["in_proj_weight"]),
              in_proj_bias=array(p["in_proj_bias"]),
              out_proj_weights=array(p["out_proj.weight"]), out_proj_bias=array(p["out_proj.bias"]),
              attention_mask=array(keep), key_padding_mask=array(padding),
              return_attention_weights=True)  # fmt: skip
    assert_close(got, tuple(w.numpy() for w in wanted), backend=backend, rtol=1e-4, atol=1e-5)
