"""Folders: what is read, what is written, and what is refused."""

import json
import os

import ml_dtypes
import numpy as np
import pytest
import transformers_cases as reference
from safetensors.numpy import load_file, save_file

import trellis
from oracles import torch
from trellis import errors, models

os.environ["HF_HUB_OFFLINE"] = "1"
pytestmark = pytest.mark.filterwarnings("ignore")  # of transformers and torch about themselves

TINY = models.GPT2Config(vocab_size=20, n_embd=8, n_head=2, n_layer=2, n_positions=16)
TOKENS = np.array([[1, 2, 3], [4, 5, 6]], "int32")


@pytest.fixture
def folder(tmp_path):
    """A folder with a tiny model."""
    trellis.seed(0)
    models.GPT2(TINY, backend="numpy").save_pretrained(tmp_path)
    return tmp_path


def change_config(folder, **keys):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **keys}))


def change_weights(folder, change):
    arrays = load_file(folder / "model.safetensors")
    change(arrays)
    save_file(arrays, folder / "model.safetensors", {"format": "pt"})


# Written and read again ---------------------------------------------------------------------------


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", reference.ALL)
def test_transformers_loads_what_we_write(name, tmp_path):
    compare_written(name, "numpy", tmp_path)


@pytest.mark.long
@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", reference.CASES)
def test_transformers_loads_what_every_backend_writes(name, backend, tmp_path):
    compare_written(name, backend, tmp_path)


def compare_written(name, backend, tmp_path):
    import transformers

    there, given = reference.build(name, tmp_path / "theirs")
    models.from_pretrained(tmp_path / "theirs", backend=backend).save_pretrained(tmp_path / "ours")
    again, report = getattr(transformers, reference.ALL[name][0]).from_pretrained(
        tmp_path / "ours", output_loading_info=True
    )
    assert not any(report.values()), report
    with torch.no_grad():
        outputs, states = reference.call_there(there, given)
        found = reference.call_there(again.eval(), given)
    for x, y in zip([*outputs, *states], [*found[0], *found[1]], strict=True):
        assert torch.equal(x, y)  # the same numbers in the same program


def test_what_is_read_is_what_was_written(folder, backend):
    model = models.from_pretrained(folder, backend=backend)
    assert trellis.backend_of(model.v.words.w) == backend
    model.save_pretrained(folder / "again")
    first, second = (load_file(f / "model.safetensors") for f in (folder, folder / "again"))
    assert set(first) == set(second)
    for name, x in first.items():
        np.testing.assert_array_equal(x, second[name])


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_types(kind, backend, folder):
    whole = models.from_pretrained(folder, backend="numpy")
    whole.astype(kind).save_pretrained(folder / kind)
    assert json.loads((folder / kind / "config.json").read_text())["dtype"] == kind
    narrow = models.from_pretrained(folder / kind, backend=backend)
    assert str(trellis.dtype(narrow.v.words.w)) == kind
    tokens = trellis.to_backend(TOKENS, backend)
    logits = narrow(tokens)
    assert str(trellis.dtype(logits)) == kind
    wide = models.from_pretrained(folder / kind, backend=backend, dtype="float32")
    assert str(trellis.dtype(wide.v.layers.v0.norm.w)) == "float32"
    # Logits of order 0.1 through two layers: a few roundings to 8 bits (bfloat16) or 11 (float16).
    limit = {"float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[kind]
    logits = trellis.to_numpy(trellis.astype(logits, "float32"))
    np.testing.assert_allclose(logits, trellis.to_numpy(wide(tokens)), atol=limit)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_of_transformers(kind, tmp_path):
    """Weights are read bit by bit."""
    reference.build("llama", tmp_path)
    import transformers

    there = transformers.LlamaForCausalLM.from_pretrained(tmp_path, dtype=getattr(torch, kind))
    there.save_pretrained(tmp_path / kind)
    here = models.from_pretrained(tmp_path / kind, backend="numpy")
    given = there.state_dict()
    for chain, name in here.hugging_face_names().items():
        bits = given[name].view(torch.int16).numpy()
        np.testing.assert_array_equal(here.v[chain].view("int16"), bits)


@pytest.mark.needs("torch")
def test_shards(backend, tmp_path):
    there, given = reference.build("gpt2", tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    here = models.from_pretrained(tmp_path, backend=backend)
    with torch.no_grad():
        expected = there(given["input_ids"]).logits
    found = here(reference.as_arrays(given, backend)["input_ids"])
    assert reference.difference(found, expected) < 1e-5  # as in test_against_transformers
    here.save_pretrained(tmp_path)  # in one file, and no index of what was there
    assert not (tmp_path / "model.safetensors.index.json").exists()
    assert models.from_pretrained(tmp_path).loaded.is_complete


@pytest.mark.needs("torch")
def test_a_head_unlike_the_embeddings_is_kept(tmp_path):
    """Version 1.1 of T5 says that nothing is tied; newer files say that all is, and hold both."""
    import transformers

    reference.build("t5_gated", tmp_path)
    rng = np.random.default_rng(0)
    head = rng.normal(size=(61, 32)).astype("float32")
    change_weights(tmp_path, lambda arrays: arrays.update({"lm_head.weight": head}))
    there = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path).eval()
    _, _, kind = reference.ALL["t5_gated"]
    given = reference.arguments(kind, there.config)
    with torch.no_grad():
        expected = there(**given).logits
    here = models.from_pretrained(tmp_path, backend="numpy")
    found, _ = reference.call_here(here, kind, reference.as_arrays(given, "numpy"))
    assert reference.difference(found[0], expected) < 1e-4  # logits of order ten


def test_weights_are_the_file(folder):
    """On NumPy nothing is copied: the arrays lie in one mapped file, and writing stays here."""
    before = (folder / "model.safetensors").read_bytes()
    model = models.from_pretrained(folder, backend="numpy")
    leaves = [model.v[chain] for chain in model.v.key_chains()]
    assert all([not x.flags.owndata for x in leaves])
    addresses = [x.__array_interface__["data"][0] for x in leaves]
    assert max(addresses) - min(addresses) < len(before)
    leaves[0][...] = 0
    assert (folder / "model.safetensors").read_bytes() == before


def test_early_files_have_other_names(tmp_path):
    """No prefix, norms with gamma and beta, constants among the weights."""
    config = models.BertConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1,
                               num_attention_heads=2, intermediate_size=8,
                               architecture="BertForSequenceClassification")  # fmt: skip
    models.Bert(config, backend="numpy").save_pretrained(tmp_path)

    def older(arrays):
        for name in [name for name in arrays if "LayerNorm" in name]:
            new = name.replace(".weight", ".gamma").replace(".bias", ".beta")
            arrays[new] = arrays.pop(name)
        for name in [name for name in arrays if name.startswith("bert.")]:
            arrays[name.removeprefix("bert.")] = arrays.pop(name)
        arrays["embeddings.position_ids"] = np.arange(512)

    change_weights(tmp_path, older)
    assert models.from_pretrained(tmp_path).loaded.is_complete


# Refused ------------------------------------------------------------------------------------------


def test_nothing_is_unpickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(errors.ArgumentError, match=r"pytorch_model\.bin only.*can run code"):
        models.from_pretrained(folder)


def test_nothing_is_fetched():
    with pytest.raises(FileNotFoundError, match=r"'openai/gpt2'.*downloads nothing"):
        models.from_pretrained("openai/gpt2")


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"rope_scale": 2}, r"the key 'rope_scale', which GPT2Config does not know"),
        ({"a": 1, "b": 2}, r"the keys 'a', 'b'"),
        ({"add_cross_attention": True}, r"add_cross_attention=True.*it builds False"),
        ({"model_type": "mamba"}, r"model_type='mamba'; models here are llama, .*from_torch"),
        ({"architectures": ["GPT2ForTokenClassification"]}, r"does not build GPT2ForToken"),
        ({"activation_function": "snake"}, r"activation 'snake'; known are gelu"),
    ],
)
def test_what_is_not_known_is_refused_by_name(keys, message, folder):
    change_config(folder, **keys)
    with pytest.raises(errors.NotSupportedError, match=message):
        models.from_pretrained(folder)


def test_rotary_kinds_are_refused_by_name():
    config = models.LlamaConfig(
        vocab_size=9,
        hidden_size=8,
        num_attention_heads=2,
        num_hidden_layers=0,
        rope_parameters={"rope_type": "yarn"},
    )
    with pytest.raises(errors.NotSupportedError, match="rope_type='yarn'; known are 'default'"):
        models.Llama(config)


def test_missing_and_left_over_weights_are_named(folder):
    def change(arrays):
        del arrays["transformer.h.1.ln_2.bias"]
        arrays["transformer.wpe.weight"] = arrays["transformer.wpe.weight"][:-1]
        arrays["adapter.weight"] = np.zeros(2, "float32")

    change_weights(folder, change)
    with pytest.raises(errors.ShapeError) as raised:
        models.from_pretrained(folder)
    for part in (
        "layers/v1/norm/b (transformer.h.1.ln_2.bias)",
        "'adapter.weight' of the files is unknown here",
        "'transformer.wpe.weight' has shape (15, 8) in the files, (16, 8) here",
    ):
        assert part in str(raised.value)


def test_left_over_weights_can_be_left(folder):
    change_weights(folder, lambda arrays: arrays.update(more=np.zeros(1, "float32")))
    with pytest.raises(errors.ShapeError, match="'more' of the files is unknown here"):
        models.from_pretrained(folder)
    model = models.from_pretrained(folder, strict=False)
    assert model.loaded.unexpected == ("more",)


def test_another_head(tmp_path):
    config = models.BertConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1,
                               num_attention_heads=2, intermediate_size=8,
                               architecture="BertForSequenceClassification")  # fmt: skip
    models.Bert(config, backend="numpy").save_pretrained(tmp_path)
    model = models.from_pretrained(tmp_path, architecture="BertModel", strict=False)
    assert model.loaded.unexpected == ("classifier.bias", "classifier.weight")
    assert model(TOKENS).states.shape == (2, 3, 4)


BERT = {"vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8}  # fmt: skip


@pytest.mark.needs("torch")
def test_a_new_head_on_a_body_of_transformers(backend, tmp_path, caplog):
    """Names there have no prefix; the head has initial values, equal on every backend."""
    import transformers

    torch.manual_seed(0)
    there = transformers.BertModel(transformers.BertConfig(**BERT)).eval()
    there.save_pretrained(tmp_path)
    trellis.seed(3)
    head = "BertForSequenceClassification"
    here = models.from_pretrained(tmp_path, architecture=head, strict=False, backend=backend)
    new = ("classifier/b (classifier.bias)", "classifier/w (classifier.weight)")
    assert here.loaded.missing == new
    assert "'classifier/b', 'classifier/w' of Bert are not in" in caplog.text
    trellis.seed(3)
    drawn = trellis.nn.init.Normal(0.0, 0.02)((2, 4), backend="numpy")  # BERT's initializer_range
    np.testing.assert_array_equal(trellis.to_numpy(here.v.classifier.w), drawn)
    np.testing.assert_array_equal(trellis.to_numpy(here.v.classifier.b), np.zeros(2))
    with torch.no_grad():
        pooled = there(torch.tensor(TOKENS)).pooler_output.numpy()
    # float32 through one layer of four numbers: a few roundings.
    logits = trellis.to_numpy(here(trellis.to_backend(TOKENS, backend)))
    np.testing.assert_allclose(logits, pooled @ drawn.T, atol=1e-6)


def test_a_new_head_for_words(tmp_path):
    models.Bert(models.BertConfig(**BERT), backend="numpy").save_pretrained(tmp_path)
    with pytest.raises(errors.ShapeError, match="With strict=False what is missing keeps"):
        models.from_pretrained(tmp_path, architecture="BertForMaskedLM")
    here = models.from_pretrained(tmp_path, architecture="BertForMaskedLM", strict=False)
    assert here.loaded.unexpected == ("pooler.dense.bias", "pooler.dense.weight")
    assert [name.partition(" ")[0] for name in here.loaded.missing] == [
        "bias", "transform/b", "transform/w", "transform_norm/b", "transform_norm/w"
    ]  # fmt: skip
    assert np.std(trellis.to_numpy(here.v.transform.w)) > 0  # drawn, not left blank
    np.testing.assert_array_equal(trellis.to_numpy(here.v.transform_norm.w), np.ones(4))


def test_a_new_head_has_the_type_of_the_body(tmp_path):
    models.Bert(models.BertConfig(**BERT)).astype("float16").save_pretrained(tmp_path)
    head = "BertForSequenceClassification"
    here = models.from_pretrained(tmp_path, architecture=head, strict=False)
    assert {str(trellis.dtype(x)) for x in trellis.tree.leaves(here.v)} == {"float16"}


def test_a_file_of_which_nothing_fits_is_refused(folder):
    def change(arrays):
        for name in list(arrays):
            arrays[f"other.{name}"] = arrays.pop(name)

    change_weights(folder, change)
    with pytest.raises(errors.ShapeError, match="is missing in the files"):
        models.from_pretrained(folder, strict=False)


@pytest.mark.parametrize("strict", [True, False])
def test_load_weights_says_how_files_of_hugging_face_are_read(strict, tmp_path):
    models.Bert(models.BertConfig(**BERT)).save_pretrained(tmp_path)
    model = models.Bert(models.BertConfig(**BERT, architecture="BertForSequenceClassification"))
    how = "is a name of Hugging Face: trellis.models.from_pretrained.*SequenceClassification', st"
    with pytest.raises((errors.ShapeError, errors.ArgumentError), match=how):
        model.load_weights(tmp_path / "model.safetensors", strict=strict)


def damaged_index(folder, weight_map):
    (folder / "model.safetensors").rename(folder / "one.safetensors")
    text = json.dumps({"weight_map": weight_map})
    (folder / "model.safetensors.index.json").write_text(text)


@pytest.mark.parametrize(
    "weight_map, message",
    [
        ({"transformer.wte.weight": "../one.safetensors"}, "not in its folder"),
        ({"transformer.other": "one.safetensors"}, "where it is not"),
        (None, "no table 'weight_map'"),
        ({"transformer.wte.weight": 3}, "no table 'weight_map'"),
    ],
)
def test_a_wrong_index_is_refused(weight_map, message, folder):
    damaged_index(folder, weight_map)
    with pytest.raises(errors.ArgumentError, match=message):
        models.from_pretrained(folder)


@pytest.mark.parametrize("text", ["", "[1]", "{", "nonsense"])
def test_a_wrong_config_is_refused(text, folder):
    (folder / "config.json").write_text(text)
    with pytest.raises(errors.ArgumentError, match=r"config\.json"):
        models.from_pretrained(folder)


@pytest.mark.parametrize("cut", [4, 40, -1])
def test_a_damaged_file_is_refused(cut, folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(errors.ArgumentError, match="damaged or not a safetensors file"):
        models.from_pretrained(folder)


def test_an_unknown_type_is_refused(folder):
    change_weights(folder, lambda arrays: arrays.update(
        {"transformer.wte.weight": np.zeros((20, 8), ml_dtypes.float8_e5m2)}))  # fmt: skip
    with pytest.raises(errors.ArgumentError, match="F8_E5M2, which Trellis does not know"):
        models.from_pretrained(folder)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no config\.json"):
        models.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(FileNotFoundError, match=r"neither model\.safetensors nor"):
        models.from_pretrained(tmp_path)


def test_arguments_of_other_kinds_are_refused(folder):
    with pytest.raises(errors.ArgumentTypeError, match="expects the path of a folder, got int"):
        models.from_pretrained(3)
    with pytest.raises(errors.DtypeError, match="floating dtype, got int32"):
        models.from_pretrained(folder, dtype="int32")
    with pytest.raises(errors.ArgumentTypeError, match="expects a name for architecture, got int"):
        models.from_pretrained(folder, architecture=3)
    with pytest.raises(errors.ArgumentTypeError, match="made from a GPT2Config, got BertConfig"):
        models.GPT2(models.BertConfig())
