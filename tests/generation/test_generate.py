"""`trellis.generate`: its tokens are those of transformers, of a formula, or of its own loop by
hand."""

import numpy as np
import pytest

import trellis
from oracles import torch
from small_gpt import WORDS, in_transformers, small_gpt
from trellis import errors
from trellis import functional as F

PROMPTS = [[1, 2, 3, 4], [9, 8]]
# Compiling costs more than it is worth where the eager mode is quick.
QUICK = ("torch",)


def tokens_of(backend, **options):
    options = {"max_new_tokens": 10, "pad_token": 1, "compile": backend not in QUICK, **options}
    return trellis.generate(small_gpt(backend), PROMPTS, **options)


def expected(**options):
    """What transformers gives for the same prompts, padded on the left: (tokens, scores)."""
    ids = torch.tensor([PROMPTS[0], [0, 0, *PROMPTS[1]]])
    stops = options.pop("stop_tokens", None)
    found = in_transformers().generate(
        ids,
        attention_mask=torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]]),
        max_new_tokens=10,
        do_sample=False,
        pad_token_id=1,  # 0 would count as none there
        eos_token_id=stops,
        return_dict_in_generate=True,
        output_scores=True,
        **options,
    )
    scores = getattr(found, "sequences_scores", None)
    return found.sequences[:, 4:].numpy(), None if scores is None else scores.numpy()


@pytest.mark.needs("torch")
def test_model_equals_that_of_transformers(backend, array):
    tokens = np.array([[1, 2, 3, 4], [9, 8, 7, 6]], "int32")
    with torch.no_grad():
        theirs = in_transformers()(torch.tensor(tokens).long()).logits.numpy()
    assert np.allclose(trellis.to_numpy(small_gpt(backend)(array(tokens))), theirs, atol=1e-5)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "stop_tokens": [6, 19]}], ids=str)
def test_tokens_equal_those_of_transformers(options, backend):
    found = tokens_of(backend, **options)
    assert trellis.backend_of(found) == backend and str(trellis.dtype(found)) == "int32"
    assert trellis.to_numpy(found).tolist() == expected(**options)[0].tolist()


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    "options",
    [
        {"stop_tokens": [37]},
        {"repetition_penalty": 1.5},
        {"num_beams": 2, "repetition_penalty": 1.5},
        {"num_beams": 3, "stop_tokens": [37]},
        {"num_beams": 4, "stop_tokens": [28, 37, 6], "length_penalty": 2.0},
        {"num_beams": 4, "stop_tokens": [28, 37], "length_penalty": 0.3, "early_stopping": True},
        {"num_beams": 3, "stop_tokens": [6, 17], "length_penalty": -0.5},
        {"num_beams": 3, "stop_tokens": [37], "early_stopping": "never", "length_penalty": 0.7},
    ],
    ids=str,
)
def test_options_count_as_in_transformers(options):
    tokens, scores = expected(**options)
    if "num_beams" not in options:
        assert tokens_of("numpy", **options).tolist() == tokens.tolist()
        return
    found = tokens_of("numpy", **options, return_scores=True)
    assert found[0].tolist() == tokens.tolist()
    # Sums of ten log-probabilities in float32.
    assert np.allclose(found[1], scores, atol=1e-5)


# What NumPy drew when this was written; draws by key are the same numbers everywhere.
DRAWN = {
    "temperature": [[27, 36, 30, 1, 1, 19], [3, 26, 11, 2, 27, 10]],
    "top_k": [[37, 19, 37, 17, 19, 37], [16, 37, 19, 37, 19, 10]],
    "top_p": [[38, 33, 33, 17, 6, 28], [18, 18, 27, 0, 39, 28]],
}
OPTIONS = {
    "temperature": {"temperature": 1.2, "seed": 3},
    "top_k": {"temperature": 1.0, "top_k": 5, "seed": 4},
    "top_p": {"temperature": 0.9, "top_p": 0.7, "repetition_penalty": 1.2, "seed": 5},
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_same_seed_gives_same_tokens(kind, backend):
    found = tokens_of(backend, max_new_tokens=6, **OPTIONS[kind])
    assert trellis.to_numpy(found).tolist() == DRAWN[kind]


class Fixed:
    """The same logits after every token."""

    def __init__(self, logits):
        self.logits = logits

    def init_cache(self, batch, length):
        return {}

    def __call__(self, tokens, cache):
        shape = (*tokens.shape, len(self.logits))
        xp = trellis.namespace(tokens)
        return xp.broadcast_to(xp.asarray(self.logits, dtype="float32"), shape), cache


def shares_of(logits, array, **options):
    prompts = array(np.zeros((4000, 1), "int32"))
    tokens = trellis.generate(
        Fixed(logits), prompts, max_new_tokens=1, compile=False, seed=1, **options
    )
    return np.bincount(trellis.to_numpy(tokens)[:, 0], minlength=len(logits)) / 4000


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


def test_draws_follow_the_probabilities(array):
    logits = [0.5, 2.0, 1.0, 0.0]
    # 4000 draws: five standard deviations of a share are 0.04 at most.
    near = {"atol": 0.04}
    assert np.allclose(shares_of(logits, array, temperature=1.0), softmax(np.array(logits)), **near)
    assert np.allclose(
        shares_of(logits, array, temperature=2.0), softmax(np.array(logits) / 2), **near
    )
    two = softmax(np.array([-np.inf, 2.0, 1.0, -np.inf]))
    assert np.allclose(shares_of(logits, array, temperature=1.0, top_k=2), two, **near)
    # Probabilities 0.13, 0.58, 0.21, 0.08: the second alone has not 0.7, with the third it has.
    assert np.allclose(shares_of(logits, array, temperature=1.0, top_p=0.7), two, **near)
    assert shares_of(logits, array, temperature=1.0, top_p=0.5)[1] == 1


def test_one_compilation_for_the_prompt_and_one_for_all_tokens(backend, monkeypatch):
    """Counted by the compiler on torch, by traces of the model on JAX and TensorFlow."""
    model, traces = small_gpt(backend), []
    if backend == "torch":
        from torch._dynamo.testing import CompileCounter

        counter, compile_with = CompileCounter(), torch.compile
        torch._dynamo.reset()
        monkeypatch.setattr(
            "trellis._backends.torch.compilation.torch.compile",
            lambda fn, **options: compile_with(fn, backend=counter, **options),
        )
    else:
        forward = type(model)._forward
        monkeypatch.setattr(
            type(model),
            "_forward",
            lambda self, *args, **kwargs: traces.append(1) or forward(self, *args, **kwargs),
        )
    greedy = trellis.to_numpy(trellis.generate(model, PROMPTS, max_new_tokens=6))
    again = trellis.to_numpy(trellis.generate(model, PROMPTS, max_new_tokens=6))
    count = counter.frame_count if backend == "torch" else len(traces)
    assert count == (12 if backend == "numpy" else 2)  # NumPy has no compiler
    assert greedy.tolist() == again.tolist()
    assert greedy.tolist() == trellis.to_numpy(tokens_of(backend))[:, :6].tolist()


# Prompts, stops, callbacks ------------------------------------------------------------------------


class Counting:
    """After n comes n + 1."""

    def init_cache(self, batch, length):
        return {}

    def __call__(self, tokens, cache):
        return trellis.one_hot((tokens + 1) % 10, 10), cache


def test_prompts_in_every_form(array):
    model, options = small_gpt("numpy"), {"max_new_tokens": 3}
    expected = trellis.generate(model, PROMPTS, **options).tolist()
    right = np.array([[1, 2, 3, 4], [9, 8, 0, 0]])
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
    assert trellis.generate(model, right, prompt_mask=mask, **options).tolist() == expected
    left = np.array([[1, 2, 3, 4], [0, 0, 9, 8]])
    keep = left != 0
    assert trellis.generate(model, left, prompt_mask=keep, **options).tolist() == expected
    assert trellis.generate(model, PROMPTS[0], **options).tolist() == expected[0]
    assert trellis.generate(model, np.array(PROMPTS[0]), **options).tolist() == expected[0]
    assert trellis.generate(model, PROMPTS, cache_length=20, **options).tolist() == expected


def test_rows_end_at_stop_tokens_and_callbacks_see_each_step():
    seen = []
    found = trellis.generate(
        Counting(), [[3], [6]], max_new_tokens=9, stop_tokens=[5, 8], on_token=seen.append
    )
    assert found.tolist() == [[4, 5], [7, 8]]
    assert [step.tolist() for step in seen] == [[4, 7], [5, 8]]
    found = trellis.generate(Counting(), [[3], [6]], max_new_tokens=4, stop_tokens=8, pad_token=1)
    assert found.tolist() == [[4, 5, 6, 7], [7, 8, 1, 1]]
    found = trellis.generate(Counting(), [[3]], max_new_tokens=9, on_token=lambda new: new[0] != 6)
    assert found.tolist() == [[4, 5, 6]]


def test_training_mode_comes_back():
    model = small_gpt("numpy").train()
    trellis.generate(model, PROMPTS, max_new_tokens=1)
    assert model.training and model.layers[0].training


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"top_k": 3}, "temperature=1.0"),
        ({"temperature": 0.0}, "temperature above 0"),
        ({"temperature": 1.0, "top_p": 1.5}, "top_p above 0"),
        ({"repetition_penalty": 0.0}, "repetition_penalty above 0"),
        ({"num_beams": 2, "temperature": 1.0}, "got both"),
        ({"num_beams": 2, "on_token": print}, "exclude each other"),
        ({"return_scores": True}, "beams only"),
        ({"early_stopping": "soon"}, "early_stopping"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"cache_length": 3}, "cache_length"),
        ({"stop_tokens": -1}, "stop_tokens"),
        ({"prompt_mask": np.ones((2, 1))}, "prompt_mask belongs to an array"),
    ],
    ids=str,
)
def test_mistakes_are_named(options, words):
    with pytest.raises(errors.TrellisError, match=words):
        trellis.generate(small_gpt("numpy"), PROMPTS, **{"max_new_tokens": 2, **options})


def test_wrong_prompts_and_models_are_named():
    model, options = small_gpt("numpy"), {"max_new_tokens": 2}
    for prompts, words in (
        ([[1], []], "at least one token"),
        ([], "at least one token"),
        ([[1.5]], "integer tokens"),
        ([[-1]], "from 0 up"),
        ("text", "tokenizer"),
        (np.ones((1, 1, 1), "int32"), "shape"),
    ):
        with pytest.raises(errors.TrellisError, match=words):
            trellis.generate(model, prompts, **options)
    with pytest.raises(errors.ArgumentError, match="no KVCache"):
        trellis.generate(Counting(), [[1, 2], [3]], **options)
    with pytest.raises(errors.ArgumentTypeError, match="init_cache"):
        trellis.generate(lambda tokens, cache: tokens, [[1]], **options)


# Encoders -----------------------------------------------------------------------------------------


class Translating(trellis.Module):
    """A decoder layer over a memory."""

    def __init__(self, **options):
        self.words = trellis.nn.Embedding(WORDS, 8)
        self.layer = trellis.nn.TransformerDecoderLayer(8, 2, 16, positions="rotary")
        super().__init__(**options)

    def init_cache(self, batch, length, memory):
        return {"layer": self.layer.init_cache(batch, length, memory)}

    def _forward(self, tokens, memory=None, cache=None):
        x = self.words(tokens)
        if cache is None:
            return F.linear(self.layer(x, memory, is_causal=True), self.words.v.w)
        x, kept = self.layer(x, cache=cache["layer"])
        return F.linear(x, self.words.v.w), {"layer": kept}


@pytest.mark.parametrize("beams", [1, 2])
def test_a_memory_is_kept_in_the_cache(beams, backend, array):
    """Greedily against a loop without a cache; two beams are at least as likely."""
    rng = np.random.default_rng(1)
    v = trellis.tree.map(
        lambda x: array(rng.normal(size=x.shape).astype("float32")), Translating().v
    )
    model = Translating(v=v, backend=backend).eval()
    memory = array(rng.normal(size=(2, 5, 8)).astype("float32"))
    found = trellis.generate(
        model, [[1], [2]], memory=memory, max_new_tokens=4, num_beams=beams, compile=False
    )
    rows = np.zeros((2, 5), "int32")  # what stands behind a token does not matter to it
    rows[:, 0] = 1, 2
    for i in range(4):
        logits = trellis.to_numpy(model(array(rows), memory))
        rows[:, i + 1] = logits[:, i].argmax(-1)
    by_hand = rows[:, 1:]
    if beams == 1:
        assert trellis.to_numpy(found).tolist() == by_hand.tolist()
        return

    def likelihood(new):
        tokens = np.concatenate([[[1], [2]], new], axis=1).astype("int32")
        logits = model(array(tokens[:, :-1]), memory)
        shares = trellis.to_numpy(F.log_softmax(logits))
        return np.take_along_axis(shares, tokens[:, 1:, None], axis=-1).sum((1, 2))

    assert (likelihood(trellis.to_numpy(found)) >= likelihood(by_hand) - 1e-5).all()
