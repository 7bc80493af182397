"""Layers with a cache give what they give for the whole sequence at once."""

import numpy as np
import pytest

import trellis
from conftest import fresh
from trellis import errors, nn
from trellis import functional as F
from trellis.testing import assert_close

PARTS = ((0, 3), (3, 4), (4, 6))
OPTIONS = {
    "plain": {},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "window": {"window": 3},
    "grouped": {"num_kv_heads": 2, "positions": "rotary", "rotary_base": 100.0},
    "one key head": {"num_kv_heads": 1, "positions": "alibi", "window": 3},
}


# The last two hold all that the others do.
KINDS = [
    pytest.param(kind, marks=[] if kind in ("grouped", "one key head") else pytest.mark.long)
    for kind in OPTIONS
]


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def whole_and_parts(layer, v, x, memory=None):
    """The results for all tokens at once, and token by token from a cache."""
    more = () if memory is None else (memory,)
    whole = layer(x, *more, is_causal=True, v=v)
    # The memory's keys are of the variables too: they are given to the call that makes them.
    cache = layer.init_cache(2, 7, *more)
    if memory is not None:
        kept = layer._cross_attention.memory_cache(memory)
        cache = cache._replace(memory=kept)
    found = []
    for first, last in PARTS:
        y, cache = layer(x[:, first:last], cache=cache, v=v)
        found.append(y)
    return whole, trellis.concat(found, axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_encoder_layer_decodes(kind, backend, array):
    """Values and gradients, by the variables and the input."""
    layer = nn.TransformerEncoderLayer(8, 4, 8, 0.0, norm_first=True, backend=backend,
                                       **OPTIONS[kind]).eval()  # fmt: skip
    x, weights = array(numbers(2, 6, 8)), array(numbers(2, 6, 8, seed=1))

    def loss(v, x, which):
        both = whole_and_parts(layer, v, x)
        return trellis.sum(both[which] * weights), both

    def of_both(v, x):
        found = [
            trellis.value_and_grad(lambda v, x, i=i: loss(v, x, i), argnums=(0, 1), has_aux=True)(
                v, x
            )
            for i in range(2)
        ]
        return found[0][0][1], [trellis.tree.leaves(grads) for _, grads in found]

    # JAX compiles every function of an eager call by itself, which takes far longer.
    run = fresh(backend, of_both) if backend == "jax" else of_both
    (whole, parts), (by_whole, by_parts) = run(layer.v, x)
    # Float32: the same sums, over masked places besides.
    assert_close(parts, trellis.to_numpy(whole), rtol=1e-5, atol=1e-6, backend=backend)
    for ours, theirs in zip(by_parts, by_whole, strict=True):
        assert_close(ours, trellis.to_numpy(theirs), rtol=1e-4, atol=1e-5, backend=backend)


@pytest.mark.parametrize("kind", [pytest.param("plain", marks=pytest.mark.long), "grouped"])
def test_decoder_layer_decodes(kind, backend, array):
    layer = nn.TransformerDecoderLayer(8, 4, 8, backend=backend, **OPTIONS[kind]).eval()
    x, memory = array(numbers(2, 6, 8)), array(numbers(2, 5, 8, seed=2))
    whole, parts = whole_and_parts(layer, layer.v, x, memory)
    assert_close(parts, trellis.to_numpy(whole), rtol=1e-5, atol=1e-6, backend=backend)
    padding = array(np.array([[False] * 5, [False, False, True, True, True]]))
    whole = layer(x, memory, is_causal=True, memory_key_padding_mask=padding)
    cache = layer.init_cache(2, 6, memory, memory_key_padding_mask=padding)
    y, _ = layer(x, cache=cache)
    assert_close(y, trellis.to_numpy(whole), rtol=1e-5, atol=1e-6, backend=backend)


def test_one_compilation_serves_all_steps(backend, array):
    """Counted while tracing; the compiled step of torch refuses to count, and is counted by its
    compiler."""
    layer = nn.TransformerEncoderLayer(
        8, 2, 8, positions="rotary", window=3, backend=backend
    ).eval()
    x, traces = array(numbers(2, 5, 8)), []

    def step(v, x, cache):
        if backend != "torch":
            traces.append(1)
        return layer(x, v=v, cache=cache)

    if backend == "torch":
        import torch
        from torch._dynamo.testing import CompileCounter

        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(step, backend=counter, fullgraph=True)
    else:
        compiled = fresh(backend, step)
    cache, found = layer.init_cache(2, 5), []
    for i in range(5):
        y, cache = compiled(layer.v, x[:, i : i + 1], cache)
        found.append(y)
    assert (counter.frame_count if backend == "torch" else len(traces)) == (
        5 if backend == "numpy" else 1
    )
    whole = trellis.to_numpy(layer(x, is_causal=True))
    # A compiler may sum in another order.
    assert_close(trellis.concat(found, axis=1), whole, rtol=1e-5, atol=1e-6, backend=backend)


def test_rows_padded_on_the_left(backend, array):
    """Each row gives what it gives alone, whatever stands before its start."""
    layer = nn.MultiHeadAttention(8, 4, 2, positions="rotary", backend=backend)
    x = numbers(2, 5, 8)
    cache = layer.init_cache(2, 5)._replace(start=array(np.array([0, 3], "int32")))
    y, cache = layer(array(x), cache=cache)
    alone = layer(array(x[1:, 3:]), is_causal=True)
    assert_close(y[1:, 3:], trellis.to_numpy(alone), rtol=1e-5, atol=1e-6, backend=backend)
    assert int(cache.position) == 5


# Formulas -----------------------------------------------------------------------------------------


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


@pytest.mark.parametrize("is_causal", [True, False])
def test_alibi_and_window_by_their_formulas(is_causal, backend, array):
    """Two heads without projections: the mask written out place by place."""
    x = numbers(1, 5, 4).astype("float64").astype("float32")
    y = trellis.multi_head_attention(
        array(x), num_heads=2, positions="alibi", window=2, is_causal=is_causal
    )
    expected = np.zeros((1, 5, 4))
    for head, slope in ((0, 2.0**-4), (1, 2.0**-8)):
        part = x[0, :, 2 * head : 2 * head + 2].astype("float64")
        logits = part @ part.T / np.sqrt(2)
        for i in range(5):
            for j in range(5):
                is_seen = abs(i - j) < 2 and (j <= i or not is_causal)
                logits[i, j] = logits[i, j] - slope * abs(i - j) if is_seen else -np.inf
        expected[0, :, 2 * head : 2 * head + 2] = softmax(logits) @ part
    assert_close(y, expected.astype("float32"), rtol=1e-5, atol=1e-6, backend=backend)


def test_slopes_between_powers_of_two():
    """As the paper's own code gives them for six heads."""
    from trellis.functional._positions import alibi_slopes

    assert alibi_slopes(6) == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]


def test_mistakes_are_named(array):
    layer, x = nn.MultiHeadAttention(8, 2, backend="numpy"), numbers(2, 3, 8)
    cache = layer.init_cache(2, 4)
    with pytest.raises(errors.ArgumentError, match=r"cache.start"):
        layer(x, cache=cache, key_padding_mask=np.zeros((2, 4), bool))
    with pytest.raises(errors.ArgumentError, match="self-attention"):
        layer(x, x[:, :2], cache=cache)
    with pytest.raises(errors.ShapeError, match="3 tokens for a cache of 4 places, 3 of them"):
        layer(x, cache=layer(x, cache=cache)[1])
    with pytest.raises(errors.ShapeError, match="5 tokens for a cache of 4"):
        layer(numbers(2, 5, 8), cache=cache)
    with pytest.raises(errors.ShapeError, match="keys of shape"):
        layer(numbers(1, 3, 8), cache=cache)
    with pytest.raises(errors.ArgumentError, match="positions"):
        trellis.multi_head_attention(x, num_heads=2, positions="sine")
    with pytest.raises(errors.ArgumentError, match="window"):
        trellis.multi_head_attention(x, num_heads=2, window=0)
    with pytest.raises(errors.ArgumentError, match="appends no keys"):
        F.multi_head_attention(x, num_heads=2, add_zero_attn=True, cache=cache)
    decoder = nn.TransformerDecoderLayer(8, 2, 8)
    with pytest.raises(errors.ArgumentError, match="memory once"):
        decoder(x)
