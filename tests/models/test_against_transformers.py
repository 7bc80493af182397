"""Models equal those of transformers: outputs, hidden states, gradients, generated tokens."""

import os

import numpy as np
import pytest
import transformers_cases as reference

import trellis
from oracles import torch
from trellis import models

os.environ["HF_HUB_OFFLINE"] = "1"

pytestmark = [
    pytest.mark.needs("torch"),
    # What transformers and torch say about their own code.
    pytest.mark.filterwarnings("ignore"),
]

# A few layers in float32 on numbers of order one: a hundred units in the last place, of the
# largest number where feature maps are larger than one.
ATOL = 1e-5
# In every run: all models on NumPy, and two on the others.
SHORT = ("llama", "resnet")
DECODERS = ("llama", "mistral", "qwen2", "qwen3", "gpt2")
SEQ2SEQ = ("t5", "whisper")


@pytest.mark.parametrize("name", reference.CASES)
def test_outputs_on_numpy(name, tmp_path):
    compare_outputs(name, "numpy", tmp_path)


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("backend", ["jax", "torch", "tensorflow"])
def test_outputs(name, backend, tmp_path):
    compare_outputs(name, backend, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", reference.ALL)
def test_all_outputs(name, backend, tmp_path):
    compare_outputs(name, backend, tmp_path)


def compare_outputs(name, backend, folder):
    there, given = reference.build(name, folder)
    with torch.no_grad():
        outputs, states = reference.call_there(there, given)
    here = models.from_pretrained(folder, backend=backend)
    assert here.loaded.is_complete and not here.training
    arrays = reference.as_arrays(given, backend)
    found = reference.call_here(here, reference.ALL[name][2], arrays)
    for x, y in [*zip(found[0], outputs, strict=True), *zip(found[1], states, strict=True)]:
        scale = max(1.0, float(y.abs().max()))
        assert reference.difference(x, y, given.get("attention_mask")) < ATOL * scale


@pytest.mark.parametrize("name", ["gpt2", "clip"])
def test_gradients_on_numpy(name, tmp_path):
    compare_gradients(name, "numpy", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", reference.ALL)
def test_gradients(name, backend, tmp_path):
    compare_gradients(name, backend, tmp_path)


def compare_gradients(name, backend, folder):
    """Of a sum with fixed weights over the outputs, at real tokens, in all variables."""
    there, given = reference.build(name, folder / "weights")
    outputs, _ = reference.call_there(there, given)
    mask = given.get("attention_mask")
    weights = [weights_like(x, mask) for x in outputs]
    sum([(x * torch.from_numpy(w)).sum() for x, w in zip(outputs, weights)]).backward()
    expected = gradients_there(there, folder / "gradients")
    here = models.from_pretrained(folder / "weights", backend=backend)
    arrays = reference.as_arrays(given, backend)
    factors = [trellis.to_backend(w, backend) for w in weights]

    def loss(v):
        found, _ = reference.call_here(here, reference.ALL[name][2], arrays, v=v)
        return sum([trellis.sum(x * w) for x, w in zip(found, factors, strict=True)])

    _, grads = trellis.execute_with_gradients(loss, here.v)
    assert grads.key_chains() == expected.key_chains()
    compared = 0
    for chain in grads.key_chains():
        wanted = expected[chain]
        if np.isnan(wanted).any():  # a table that transformers does not train
            assert chain == "frames/w"
            continue
        scale = max(1.0, float(np.abs(wanted).max()))
        # Sums over all tokens and both passes: as many roundings again as in the outputs.
        found = trellis.to_numpy(grads[chain])
        np.testing.assert_allclose(found, wanted, atol=2e-5 * scale, err_msg=chain)
        compared += np.any(wanted != 0)
    assert compared > 10


def gradients_there(model, folder):
    """The gradients under the names of the variables here: saved and read as if they were weights,
    since transformers gives them other names in files than in memory."""
    for p in model.parameters():
        p.data = torch.zeros_like(p) if p.grad is None else p.grad
        p.data = p.data if p.requires_grad else torch.full_like(p, torch.nan)
    model.save_pretrained(folder)
    return models.from_pretrained(folder, backend="numpy").v


def weights_like(x, mask):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=tuple(x.shape)).astype("float32")
    if mask is not None and tuple(x.shape[:2]) == tuple(mask.shape):
        weights *= mask.numpy()[..., None]
    return weights


# Generation ---------------------------------------------------------------------------------------

PROMPTS = [[5, 9, 11, 3, 4], [8, 2, 33], [17]]
STOP, COUNT = 7, 8


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("name", ["mistral", "t5"])
def test_generated_tokens_on_numpy(name, beams, tmp_path):
    compare_generated(name, beams, "numpy", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("name", [*DECODERS, *SEQ2SEQ, "llama_tied", "qwen2_window", "t5_gated"])
def test_generated_tokens(name, beams, backend, tmp_path):
    compare_generated(name, beams, backend, tmp_path)


def compare_generated(name, beams, backend, folder):
    there, given = reference.build(name, folder)
    here = models.from_pretrained(folder, backend=backend)
    # The compiled step is the same function; compiling all of them would take an hour.
    options = {"max_new_tokens": COUNT, "num_beams": beams, "stop_tokens": STOP, "pad_token": 0,
               "compile": False}  # fmt: skip
    if reference.ALL[name][2] == "text":
        found = trellis.generate(here, PROMPTS, **options)
        expected = generated_there(there, beams)
    else:
        arrays = reference.as_arrays(given, backend)
        source = [arrays[n] for n in reference.INPUTS[reference.ALL[name][2]][:1]]
        memory = here.encode(*source, **reference.masks(arrays))
        start = there.config.decoder_start_token_id
        found = trellis.generate(here, [[start], [start]], memory=memory, **options)
        expected = generated_there(there, beams, given)
    np.testing.assert_array_equal(trellis.to_numpy(found), expected)


def generated_there(model, beams, given=None):
    import transformers

    options = {"max_new_tokens": COUNT, "num_beams": beams, "do_sample": False,
               "eos_token_id": STOP, "pad_token_id": 0}  # fmt: skip
    if given is None:
        width = max([len(row) for row in PROMPTS])
        ids = torch.tensor([[0] * (width - len(row)) + row for row in PROMPTS])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in PROMPTS])
        return model.generate(ids, attention_mask=mask, **options)[:, width:].numpy()
    source = {k: x for k, x in given.items() if k != "decoder_input_ids"}
    if "input_features" in source:  # Whisper's own adds tokens of languages and times
        start = torch.full((2, 1), model.config.decoder_start_token_id)
        run = transformers.GenerationMixin.generate
        return run(model, **source, decoder_input_ids=start, **options)[:, 1:].numpy()
    return model.generate(**source, **options)[:, 1:].numpy()


@pytest.mark.parametrize("name", ["qwen3", "gpt2", "t5", "whisper"])
def test_a_cache_changes_nothing(name, tmp_path):
    """Token by token, and a few at a time, the logits are those of the whole sequence."""
    _, given = reference.build(name, tmp_path)
    model = models.from_pretrained(tmp_path, backend="numpy")
    arrays = reference.as_arrays(given, "numpy")
    inputs = [arrays[n] for n in reference.INPUTS[reference.ALL[name][2]]]
    more = reference.masks(arrays) if len(inputs) == 2 else {}
    whole = model(*inputs, **more)
    memory = {"memory": model.encode(inputs[0], **more)} if len(inputs) == 2 else {}
    cache = model.init_cache(2, 12, **memory)
    parts, tokens = [], inputs[-1]
    for begin, end in ((0, 2), (2, 3), (3, 4), (4, tokens.shape[1])):
        logits, cache = model(tokens[:, begin:end], cache=cache)
        parts.append(logits)
    # Sums of another length: a few units in the last place of logits of order ten.
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, atol=2e-5)
