"""Files that lie about what is in them, and paths that are no files: they end at once, in words."""

import json
import os
import sys

import numpy as np
import pytest

import trellis
from trellis import cli, convert, export, models
from trellis._core.files import map_arrays, read_arrays
from trellis._diverge.recording import load_recording, record
from trellis.errors import ArgumentError, TrellisError
from trellis.train.checkpoint import read_checkpoint

# Pipes and devices --------------------------------------------------------------------------------


@pytest.fixture(params=["pipe", "device", "socket"])
def endless(request, tmp_path):
    """The function that puts something at a path that never ends, or never begins."""
    if sys.platform == "win32":
        pytest.skip("has no pipes in folders")

    def put(path):
        if request.param == "pipe":
            os.mkfifo(path)
        elif request.param == "device":
            path.symlink_to("/dev/zero")
        else:
            import socket

            with socket.socket(socket.AF_UNIX) as made:
                made.bind(os.path.relpath(path, tmp_path))
        return path

    before = os.getcwd()
    os.chdir(tmp_path)  # the names of sockets are short
    yield put
    os.chdir(before)


def load_weights(path):
    trellis.nn.Linear(3, 2).load_weights(path)


READERS = {
    "load_weights": load_weights,
    "read_arrays": read_arrays,
    "map_arrays": map_arrays,
    "describe": export.describe,
    "checkpoint": read_checkpoint,
    "recording": load_recording,
    "onnx": lambda path: convert.from_onnx(path, to="numpy"),
}


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file(reader, endless, tmp_path):
    if reader == "onnx":
        pytest.importorskip("onnx", reason="the extra 'convert' is not installed")
    with pytest.raises(ArgumentError, match=r"not a file|no file"):
        READERS[reader](endless(tmp_path / "model.onnx"))


@pytest.mark.parametrize("suffix", [".onnx", ".pt2", ".keras", ".h5"])
def test_commands_of_what_is_no_file(suffix, endless, tmp_path, capsys):
    path = endless(tmp_path / f"model{suffix}")
    for command in ("convert", "inspect"):
        assert cli.main([command, str(path)]) == 1
        assert "not a file" in capsys.readouterr().err


@pytest.fixture
def folder(tmp_path):
    """A small model in Hugging Face's format."""
    config = models.GPT2Config(vocab_size=9, n_embd=4, n_head=2, n_layer=2, n_positions=8)
    models.GPT2(config).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_folders_with_what_is_no_file(name, endless, folder):
    (folder / name).unlink(missing_ok=True)
    endless(folder / name)
    read = models.load_tokenizer if name == "tokenizer.json" else models.from_pretrained
    with pytest.raises((ArgumentError, FileNotFoundError)):
        read(folder)


def test_shards_that_are_no_files(endless, folder):
    (folder / "model.safetensors").unlink()
    endless(folder / "shard")
    index = {"weight_map": {"w": "shard"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ArgumentError, match="not a file"):
        models.from_pretrained(folder)


@pytest.mark.needs("tensorflow")
def test_saved_models_with_what_is_no_file(endless, tmp_path):
    (tmp_path / "saved" / "variables").mkdir(parents=True)
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"")
    endless(tmp_path / "saved" / "variables" / "variables.index")
    with pytest.raises(ArgumentError, match="not a file"):
        convert.from_tensorflow(tmp_path / "saved", to="numpy")


# Headers that lie ---------------------------------------------------------------------------------


def safetensors(path, header, data=bytes(24)):
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)
    return path


def entry(shape=(2, 3), begin=0, end=24, dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


LYING = {
    "a shape with more elements": {"w": entry((2, 300))},
    "a shape with fewer elements": {"w": entry((2, 1))},
    "another type": {"w": entry(dtype="F64")},
    "a place before the beginning": {"w": entry(begin=-24, end=0)},
    "an end before the beginning": {"w": entry((0,), begin=24, end=0)},
    "a place behind the end": {"w": entry(begin=24, end=48)},
    "two arrays in one place": {"v": entry(), "w": entry()},
    "a gap": {"v": entry((1,), 0, 4), "w": entry((1,), 20, 24)},
    "bytes that belong to nothing": {"w": entry((1,), 0, 4)},
    "a shape of text": {"w": entry("ab")},
    "a shape of fractions": {"w": entry((2.0, 3.0))},
    "a shape below zero": {"w": entry((-2, -3))},
    "a shape that overflows": {"w": entry((2**32, 2**32, 0, 2**40), 0, 0), "v": entry()},
    "three offsets": {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24, 24]}},
    "no offsets": {"w": {"dtype": "F32", "shape": [2, 3]}},
    "a list instead of an entry": {"w": [1, 2]},
    "metadata that are a list": {"__metadata__": [1], "w": entry()},
}
HARMLESS = ("a shape that overflows",)  # there are no elements: nothing is wrong with it


@pytest.mark.parametrize("what", LYING)
def test_headers_that_lie(what, tmp_path):
    path = safetensors(tmp_path / "weights.safetensors", LYING[what])
    if what in HARMLESS:
        assert export.describe(path).weights
    else:
        with pytest.raises(ArgumentError):
            export.describe(path)
        with pytest.raises(ArgumentError):
            read_arrays(path)
        with pytest.raises(ArgumentError):
            map_arrays(path)


def test_a_true_header(tmp_path):
    header = {"v": entry((3,), 0, 6, "BF16"), "w": entry((0, 5), 6, 6)}
    header["x"] = entry((18,), 6, 24, "U8")
    path = safetensors(tmp_path / "weights.safetensors", header)
    shown = [str(port) for port in export.describe(path).weights]
    assert shown == ["v: bfloat16 (3,)", "w: float32 (0, 5)", "x: uint8 (18,)"]


# Configurations -----------------------------------------------------------------------------------


def test_a_thousand_million_layers_end_at_once(folder):
    change(folder, n_layer=10**9)
    with pytest.raises(ArgumentError, match="n_layer=1000000000, and there are 28 arrays"):
        models.from_pretrained(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n_layer", "2"), ("n_layer", None), ("n_layer", 2.0), ("n_layer", [2]), ("n_layer", True),
        ("n_layer", -5), ("n_embd", "4"), ("n_embd", 0), ("n_embd", 10**9), ("n_embd", 2**63),
        ("n_head", 0), ("n_head", -1), ("n_head", 3), ("vocab_size", 10**12), ("vocab_size", {}),
        ("n_positions", 2**62), ("n_inner", "x"), ("n_inner", 10**15),
        ("layer_norm_epsilon", "small"), ("layer_norm_epsilon", None), ("activation_function", 3),
        ("activation_function", "eval"), ("tie_word_embeddings", "yes"), ("architectures", 5),
        ("architectures", {"a": 1}), ("model_type", ["gpt2"]), ("model_type", "other"),
    ],
)  # fmt: skip
def test_values_that_no_model_has(folder, key, value):
    change(folder, **{key: value})
    with pytest.raises(TrellisError) as raised:
        models.from_pretrained(folder, backend="numpy")
    assert "config" in str(raised.value).lower()  # the file, or the class that it fills


def test_wide_layers_of_a_resnet(tmp_path):
    config = models.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], num_labels=2)
    models.ResNet(config).save_pretrained(tmp_path)
    for key, value in (
        ("hidden_sizes", [4, 10**9]),
        ("depths", [1, 10**9]),
        ("hidden_sizes", "48"),
        ("hidden_sizes", [4]),
        ("depths", [1, "1"]),
    ):
        models.ResNet(config).save_pretrained(tmp_path)
        change(tmp_path, **{key: value})
        with pytest.raises(TrellisError):
            models.from_pretrained(tmp_path, backend="numpy")


@pytest.mark.parametrize("rope", [[1], 3, "x", {"rope_type": 5}, {"rope_theta": "x"}])
def test_rope_that_is_no_table(rope, tmp_path):
    config = models.LlamaConfig(
        vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, num_key_value_heads=1,
    )  # fmt: skip
    models.Llama(config).save_pretrained(tmp_path)
    change(tmp_path, rope_parameters=rope)
    with pytest.raises(TrellisError):
        models.from_pretrained(tmp_path, backend="numpy")


def test_arrays_of_another_number_of_axes_are_listed(folder):
    arrays = dict(read_arrays(folder / "model.safetensors")[0])
    name = "transformer.h.0.attn.c_attn.weight"
    from trellis._core.files import write_arrays

    write_arrays(folder / "model.safetensors", {**arrays, name: arrays[name].reshape(-1)})
    with pytest.raises(TrellisError, match=r"c_attn\.weight"):
        models.from_pretrained(folder, backend="numpy")


def change(folder, **values):
    given = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**given, **values}))


def test_tokenizers_that_make_rust_panic(tmp_path):
    """Its panics are no `Exception`."""
    pytest.importorskip("tokenizers")
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]], "dropout": None,
             "unk_token": None, "continuing_subword_prefix": "##", "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}  # fmt: skip
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
             "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
             "model": model}  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(whole))
    with pytest.raises(ArgumentError, match="is not a tokenizer"):
        models.load_tokenizer(tmp_path)


# Recordings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil",
    [
        lambda head: head.pop("calls"),
        lambda head: head.update(calls=3),
        lambda head: head.update(versions=[1]),
        lambda head: head["calls"][0].pop("counts"),
        lambda head: head["calls"][0].update(counts=[10**9, 0]),
        lambda head: head["calls"][0].update(counts=["a", 0]),
        lambda head: head["calls"][0].update(op=5),
        lambda head: head["calls"][0].update(variables=[5]),
        lambda head: head["calls"][0].update(unknown=5),
        lambda head: head["calls"].append(None),
    ],
)
def test_recordings_that_are_damaged(spoil, tmp_path):
    from trellis._core.files import write_arrays

    path = tmp_path / "a.safetensors"
    record(lambda x: trellis.exp(x) + 1, (np.ones(3),)).save(path)
    arrays, metadata = read_arrays(path)
    head = json.loads(metadata["recording"])
    spoil(head)
    kept = {"format": metadata["format"], "recording": json.dumps(head)}
    write_arrays(path, arrays, kept)
    with pytest.raises(ArgumentError, match="is damaged"):
        load_recording(path)


def test_what_a_recording_says_cannot_rewrite_the_terminal(tmp_path, capsys):
    made = record(lambda x: trellis.exp(x) + 1, (np.ones(3),))
    other = record(lambda x: trellis.exp(x) + 2, (np.ones(3),))
    for each in (made, other):
        for call in each.calls:
            call.where = call.module = "\x1b[2J"
    made.save(tmp_path / "a")
    other.save(tmp_path / "b")
    cli.main(["diverge", "compare", str(tmp_path / "a"), str(tmp_path / "b")])
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err and "\\x1b[2J" in shown.out
