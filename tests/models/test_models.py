"""Models by themselves: training, compilation, caches, and what they refuse."""

import numpy as np
import pytest

import trellis
from conftest import compile_with
from trellis import errors, models
from trellis.models.t5 import bucket_table

LLAMA = models.LlamaConfig(
    vocab_size=20, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2,
)  # fmt: skip
TOKENS = np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], "int32")


def test_a_model_is_trained(backend):
    trellis.seed(0)
    model = models.Llama(LLAMA, backend=backend)
    tokens = trellis.to_backend(TOKENS, backend)
    optimizer = trellis.optim.Adam(3e-2)
    state, v = optimizer.init(model.v), model.v

    def loss(v):
        logits = model(tokens[:, :-1], v=v)
        return trellis.functional.cross_entropy(
            trellis.reshape(logits, (-1, 20)), trellis.reshape(tokens[:, 1:], (-1,))
        )

    losses = []
    for _ in range(8):
        value, grads = trellis.execute_with_gradients(loss, v)
        v, state = optimizer.update(v, grads, state)
        losses.append(float(value))
    assert losses[-1] < 0.5 * losses[0]


def test_the_same_seed_gives_the_same_model(backend):
    logits = []
    for name in ("numpy", backend):
        trellis.seed(3)
        model = models.Llama(LLAMA, backend=name)
        logits.append(trellis.to_numpy(model(trellis.to_backend(TOKENS, name))))
    # Two layers in float32 on numbers of order one.
    np.testing.assert_allclose(logits[0], logits[1], atol=1e-5)


@pytest.mark.parametrize("name", ["jax", pytest.param("torch", marks=pytest.mark.long),
                                  pytest.param("tensorflow", marks=pytest.mark.long)])  # fmt: skip
def test_compiled_steps(name):
    """A pure function of variables, tokens and cache: one compilation serves all steps."""
    trellis.namespace(name)
    trellis.seed(0)
    model = models.Llama(LLAMA, backend=name).eval()
    step, compilations = counted(name, lambda v, tokens, cache: model(tokens, cache=cache, v=v))
    tokens = trellis.to_backend(TOKENS, name)
    expected = trellis.to_numpy(model(tokens))
    cache = model.init_cache(2, 8)
    for i in range(4):
        logits, cache = step(model.v, tokens[:, i : i + 1], cache)
        # Sums over another number of keys.
        np.testing.assert_allclose(trellis.to_numpy(logits)[:, 0], expected[:, i], atol=1e-5)
    assert compilations() == 1


def counted(name, fn):
    """The compiled function, and how often it has been compiled."""
    if name == "torch":
        import torch

        torch._dynamo.reset()
        graphs = []

        def backend(graph, inputs):
            graphs.append(graph)
            return graph.forward

        return torch.compile(fn, backend=backend, fullgraph=True), lambda: len(graphs)
    traces = []

    def followed(*args):
        traces.append(1)  # while the compiler follows it
        return fn(*args)

    return compile_with(name, followed), lambda: len(traces)


def test_buckets_are_those_of_the_formula():
    """Against the formula in double precision, away from its borders; and its ends."""
    for is_both_ways in (True, False):
        table = bucket_table(32, 128, is_both_ways)
        half = 16 if is_both_ways else 32
        for distance in range(-128, 129):
            away = abs(distance) if is_both_ways else max(-distance, 0)
            exact = half / 2 + np.log(max(away, 1) / (half / 2)) / np.log(256 / half) * half / 2
            bucket = min(int(exact), half - 1) if away >= half / 2 else away
            offset = half if is_both_ways and distance > 0 else 0
            if abs(exact - round(exact)) > 1e-5:
                assert table[distance + 128] == bucket + offset
        assert max(table) == 31


def test_t5_gives_each_distance_its_bucket():
    torch = pytest.importorskip("torch")
    from transformers.models.t5.modeling_t5 import T5Attention

    for is_both_ways in (True, False):
        for buckets, reach in ((32, 128), (8, 20)):
            expected = T5Attention._relative_position_bucket(
                torch.arange(-reach, reach + 1), is_both_ways, buckets, reach
            )
            assert bucket_table(buckets, reach, is_both_ways) == expected.tolist()


def test_embeddings_ignore_padding(backend):
    config = models.BertConfig(vocab_size=30, hidden_size=8, num_hidden_layers=1,
                               num_attention_heads=2, intermediate_size=16)  # fmt: skip
    trellis.seed(0)
    model = models.Bert(config, backend=backend).eval()
    one = trellis.to_backend(np.array([[5, 6, 7]], "int32"), backend)
    padded = trellis.to_backend(np.array([[5, 6, 7, 0, 0]], "int32"), backend)
    mask = trellis.to_backend(np.array([[1, 1, 1, 0, 0]], "int32"), backend)
    x, y = trellis.to_numpy(model.embed(one)), trellis.to_numpy(model.embed(padded, mask=mask))
    np.testing.assert_allclose(x, y, atol=1e-6)  # a vector of length one
    np.testing.assert_allclose(np.linalg.norm(x, axis=-1), 1, atol=1e-6)
    states = trellis.to_numpy(model(one).states)
    mean = trellis.to_numpy(model.embed(one, normalize=False))
    np.testing.assert_allclose(mean, states.mean(axis=1), atol=1e-6)


def small_t5():
    config = models.T5Config(vocab_size=9, d_model=4, d_kv=2, d_ff=8, num_layers=1, num_heads=2)
    return models.T5(config, backend="numpy").eval()


def test_wrong_inputs_are_refused():
    t5 = small_t5()
    with pytest.raises(errors.ArgumentError, match="needs tokens of its decoder too"):
        t5(TOKENS % 9)
    with pytest.raises(errors.ArgumentTypeError, match=r"memory=model\.encode\(source\)"):
        t5.init_cache(2, 4, memory=TOKENS)
    with pytest.raises(errors.ShapeError, match="batch=3 and a memory of 2 rows"):
        t5.init_cache(3, 4, memory=t5.encode(TOKENS % 9))
    gpt2 = models.GPT2(models.GPT2Config(vocab_size=20, n_embd=4, n_head=2, n_layer=1,
                                         n_positions=4), backend="numpy")  # fmt: skip
    with pytest.raises(errors.ShapeError, match="has 4 positions, and 5 tokens need more"):
        gpt2(TOKENS)
    with pytest.raises(errors.ShapeError, match="has 4 positions, and 6 tokens need more"):
        gpt2.init_cache(1, 6)
    vit = models.ViT(models.ViTConfig(hidden_size=4, num_hidden_layers=0, num_attention_heads=2,
                                      image_size=8, patch_size=4), backend="numpy")  # fmt: skip
    with pytest.raises(errors.ShapeError, match=r"\(batch, 3, 8, 8\), channels first.*8, 8, 3"):
        vit(np.zeros((1, 8, 8, 3), "float32"))


def test_heads_must_divide_the_width():
    config = models.GPT2Config(n_embd=10, n_head=3, n_layer=1)
    with pytest.raises(errors.ArgumentError, match="width of 10 and 3 heads"):
        models.GPT2(config, backend="numpy")
