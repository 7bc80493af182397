"""The golden vectors: every stored release on every backend, and what the replay would notice."""

import copy
import importlib.util
import json
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis import cli
from trellis._golden import comparing, release, replay, values
from trellis._golden.names import resolve

ROOT = Path(__file__).parents[2]
NEWEST = release.releases()[-1]
STORED = {version: release.read_release(version) for version in release.releases()}


def loaded_tool(name, folder="tools"):
    """A program of tools/, which is no package."""
    path = ROOT / folder / f"{name}.py"
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def differences(version, backend, step=1):
    stored = STORED[version]
    with np.errstate(all="ignore"):  # some entries are at the edges of a domain
        found = [
            (f"{e['name']} ({e['kind']})", replay.check(e, stored, backend))
            for i, e in enumerate(stored.entries)
            # Files are few, and each is of another kind.
            if (i % step == 0 or "file" in e) and replay.left_out(e, backend) is None
        ]
    return {name: problem for name, problem in found if problem is not None}


@pytest.mark.parametrize("version", STORED)
def test_a_release_is_replayed(version, backend):
    """All of it on NumPy, which takes a second; of the others, which load or compile, a slice."""
    assert differences(version, backend, 1 if backend == "numpy" else 12) == {}


@pytest.mark.long
@pytest.mark.parametrize("version", STORED)
def test_a_whole_release_is_replayed(version, backend):
    assert differences(version, backend) == {}


def test_files_are_small():
    """They are part of the wheel."""
    for version in STORED:
        files = list((release.FOLDER / version).iterdir())
        models = {".onnx", ".stablehlo", ".tflite", ".pt2"}
        assert {path.suffix for path in files} <= {".json", ".safetensors", *models}
        # A wheel is compressed: 1,332 entries of 0.2.0 take 220,000 bytes of it.
        assert sum([len(zlib.compress(path.read_bytes())) for path in files]) < 400_000


# What would be noticed ----------------------------------------------------------------------------


def entry_of(name, kind):
    (found,) = [e for e in STORED[NEWEST].entries if (e["name"], e["kind"]) == (name, kind)]
    return found


def tampered(entry, change, stored=STORED[NEWEST]):
    """The release with another recorded result for an entry, and that entry."""
    arrays, new = dict(stored.arrays), copy.deepcopy(entry)

    def changed(value):
        if isinstance(value, dict) and "$array" in value:
            number = f"changed {value['$array']}"
            arrays[number] = change(np.array(arrays[value["$array"]]))
            value["$array"] = number
            return True
        items = value.values() if isinstance(value, dict) else value
        return isinstance(value, (dict, list)) and any([changed(item) for item in items])

    assert changed(new["expected"])
    return release.Release(**{**vars(stored), "arrays": arrays}), new


def one_bit(x):
    """The last bit of the first number."""
    flat = x.reshape(-1).view(f"u{x.dtype.itemsize}")
    flat[0] ^= 1
    return x


def farther(x):
    """100 steps of the largest number; integers as they are."""
    if x.dtype.kind != "f":
        return x
    return x + np.max(np.abs(x)) * np.finfo(x.dtype).eps * 100


@pytest.mark.parametrize(
    "name, kind, change",
    [
        ("random.bits", "call", one_bit),
        ("random.uniform", "call", one_bit),
        ("random.permutation", "call", one_bit),
        ("random.normal", "call", farther),
        ("linalg.svd", "call", farther),
        ("nn.init.HeNormal", "initial", farther),
        ("optim.Adam", "optimizer", farther),
        ("optim.ema", "transformation", farther),
        ("nn.LSTM", "layer", farther),
        ("nn.Linear", "weights", farther),
        ("at: mask", "update", farther),
        ("load_weights", "file of weights", farther),
        ("train.fit: resumed", "training", farther),
        ("conj", "call", lambda x: x.conj()),
        ("sin: integers", "call", lambda x: x.astype("float64")),
        ("ones", "call", lambda x: x[:1]),
    ],
)
def test_a_changed_number_is_found(name, kind, change):
    entry = entry_of(name, kind)
    assert replay.check(entry, STORED[NEWEST], "numpy") is None
    stored, new = tampered(entry, change)
    problem = replay.check(new, stored, "numpy")
    assert problem is not None and "recorded was" in problem


def test_an_entry_that_raises_is_a_difference():
    entry = copy.deepcopy(entry_of("random.bits", "call"))
    entry["call"]["args"].append("float32")
    assert "raised" in replay.check(entry, STORED[NEWEST], "numpy")


def test_distances():
    """In steps at the scale of the array; what is not finite must be the same."""
    one = np.array([1.0, 1024.0], "float32")
    step = np.finfo("float32").eps
    assert comparing.distance(one, one) == 0
    assert comparing.distance(one + np.array([1024 * step, 0], "float32"), one) == 1
    for other in ([np.nan, 1024], [np.inf, 1024]):
        assert comparing.distance(np.array(other, "float32"), one) == np.inf
        assert comparing.distance(one, np.array(other, "float32")) == np.inf
        assert comparing.distance(np.array(other, "float32"), np.array(other, "float32")) == 0
    assert comparing.distance(np.array([1, 2]), np.array([1, 3])) == np.inf
    assert comparing.distance(np.zeros(2), np.zeros(2)) == 0
    assert comparing.distance(np.array([1e-30, 0]), np.zeros(2)) == np.inf


@pytest.mark.parametrize(
    "path",
    [
        "convert.from_torch",
        "models.from_pretrained",
        "train.load_checkpoint",
        "_core.files.read_arrays",
        "nn._private",
        "nn.init.sqrt",
        "distributions.register_kl",
        "data.Lines",
        "trace",
        "os.system",
        "functional.unknown",
    ],
)
def test_a_file_names_computations_only(path):
    with pytest.raises(trellis.errors.ArgumentError, match=r"golden file"):
        resolve(path)


def test_an_update_is_one_of_five():
    entry = {**entry_of("at: int", "update"), "mode": "__init__"}
    assert "unknown update" in replay.check(entry, STORED[NEWEST], "numpy")


def test_gradients_and_wide_floats_are_compared():
    for name, kind in (("exp", "gradient"), ("nn.PReLU", "layer gradient")):
        stored, new = tampered(entry_of(name, kind), farther)
        assert "steps, at most 8" in replay.check(new, stored, "numpy")
    entry = entry_of("exp: float64", "call")
    # A thousandth of what float32 could show.
    stored, new = tampered(entry, lambda x: x * (1 + 1e-10))
    assert "steps, at most 8" in replay.check(new, stored, "numpy")


def test_files_of_a_framework_are_replayed_on_it(monkeypatch):
    entry = entry_of("export.to_onnx", "exported file")
    assert replay.left_out(entry, "numpy") == "files of other frameworks"
    monkeypatch.setattr(replay, "find_spec", lambda package: None)
    assert replay.left_out(entry, "torch") == "onnxruntime is not installed"
    read = entry_of("convert.from_onnx", "read file")
    assert replay.left_out(read, "numpy") == "onnx is not installed"
    wrong = {**entry, "format": "os"}
    assert "unknown format 'os'" in replay.check(wrong, STORED[NEWEST], "numpy")


@pytest.mark.needs("torch")
def test_another_answer_of_an_exported_file_is_noticed():
    entry = entry_of("export.to_torch_export", "exported file")
    assert replay.check(entry, STORED[NEWEST], "torch") is None
    stored, new = tampered(entry, farther)
    assert "steps, at most 8" in replay.check(new, stored, "torch")


@pytest.mark.needs("jax")
def test_wide_floats_are_left_out_where_floats_are_narrow():
    assert replay.left_out(entry_of("exp: float64", "call"), "jax") == "64-bit floats"


# The command --------------------------------------------------------------------------------------


def test_the_command(capsys):
    assert cli.main(["verify", "--backend", "numpy"]) == 0
    entries = STORED[NEWEST].entries
    count = len([e for e in entries if replay.left_out(e, "numpy") is None])
    said = capsys.readouterr().out
    assert f"numpy: {count:,} of {count:,} entries as recorded for {NEWEST}" in said
    assert "4 left out: files of other frameworks" in said


def test_the_command_lists_what_differs(tmp_path, monkeypatch, capsys):
    entry = entry_of("random.normal", "call")
    stored, new = tampered(entry, farther)
    other = release.Release(**{**vars(stored), "entries": [new, entry_of("exp", "call")]})
    monkeypatch.setattr(release, "read_release", lambda version: other)
    assert cli.main(["verify", "--backend", "numpy", "--release", NEWEST]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "numpy: 1 of 2 entries" in lines[0]
    assert lines[1].strip().startswith("random.normal (call): got ")
    assert len(lines) == 2


@pytest.mark.parametrize("given", [["--backend", "nump"], ["--release", "9.9.9"]])
def test_the_command_explains_mistakes(given, capsys):
    assert cli.main(["verify", *given]) == 2
    assert "numpy" in (message := capsys.readouterr().err) or NEWEST in message


# What is recorded ---------------------------------------------------------------------------------

# The groups of public names that compute something; tools/docs/public_names.py has the groups.
COMPUTING = (
    "creation", "elementwise", "reduction", "manipulation", "indexing", "searching", "products",
    "linalg", "fft", "dtypes", "control", "random", "functional", "nn", "init", "optim",
    "sampled", "special", "signal", "distributions", "mcmc", "solvers", "data",
)  # fmt: skip


def computing_names():
    """Public functions, draws, initialisers, optimizers and layers, as written after `trellis.`."""
    public_names = loaded_tool("public_names", "tools/docs")
    return {
        name.path.removeprefix("trellis.")
        for name in public_names.all_names()
        if name.group in COMPUTING and not isinstance(name.value, trellis.DType)
    }


def test_the_recorder_has_a_row_for_every_public_name():
    """Also for names that are newer than the last release: the next one must have them."""
    tool = loaded_tool("golden")
    entries = tool.entries_of(tool.Writer())
    recorded = {entry["name"].partition(":")[0] for entry in entries}
    unrecorded = tool.golden_rows.UNRECORDED
    assert computing_names() - recorded - set(unrecorded) == set()
    assert recorded & set(unrecorded) == set()
    assert all([len(reason) > 10 for reason in unrecorded.values()])
    # One row of the tables for each entry, so that two never hide each other.
    labels = [(entry["name"], entry["kind"]) for entry in entries]
    assert len(set(labels)) == len(labels)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """What the recorder writes now, read back."""
    tool, folder = loaded_tool("golden"), tmp_path_factory.mktemp("golden")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release, "FOLDER", folder)
        count = tool.record(folder / "9.9.9", "9.9.9", "a test", with_exports=False)
        again = release.read_release("9.9.9")
    assert count == len(again.entries) and again.source == "a test"
    return again


def test_recording_again_gives_the_same_file(recorded):
    """What the recorder writes now holds on NumPy."""
    with np.errstate(all="ignore"):
        wrong = {e["name"]: replay.check(e, recorded, "numpy") for e in recorded.entries}
    assert {name: problem for name, problem in wrong.items() if problem} == {}


def test_the_next_release_is_replayed(recorded, backend):
    """A slice of what the newest one does not have yet, on every backend."""
    known = {(e["name"], e["kind"]) for e in STORED[NEWEST].entries}
    new = [e for e in recorded.entries if (e["name"], e["kind"]) not in known]
    new = [e for e in new if replay.left_out(e, backend) is None][::9]
    with np.errstate(all="ignore"):
        wrong = {e["name"]: replay.check(e, recorded, backend) for e in new}
    assert {name: problem for name, problem in wrong.items() if problem} == {}


@pytest.mark.parametrize(
    "name, change",
    [
        ("data.Loader: shuffled", lambda x: x[::-1]),
        ("data.Loader: weights", lambda x: x + 1),
        ("data.Packing", lambda x: x + 1),
        ("distributions.Normal", farther),
        ("distributions.Poisson", lambda x: x + 1),
        ("distributions.bijections.StickBreaking", farther),
        ("distributions.constraints.simplex", lambda x: ~x),
        ("distributions.kl_divergence: normal", farther),
        ("linalg.expm", farther),
        ("mcmc.NUTS", farther),
        ("nn.lora", farther),
        ("nn.quantize", lambda x: x + 1),
        ("ode.solve: tsit5", farther),
        ("optimize.root: newton", farther),
        ("signal.stft: 0", farther),
        ("special.gammaln", farther),
    ],
)
def test_a_changed_number_of_the_next_release_is_found(recorded, name, change):
    (entry,) = [e for e in recorded.entries if e["name"] == name and e["kind"] != "gradient"]
    stored, new = tampered(entry, change, recorded)
    assert "recorded was" in replay.check(new, stored, "numpy")


def test_a_file_names_known_functions_only(recorded):
    (entry,) = [e for e in recorded.entries if e["name"] == "ode.odeint"]
    entry = copy.deepcopy(entry)
    entry["call"]["args"][0] = {"$problem": "__import__"}
    assert "the problem '__import__'" in replay.check(entry, recorded, "numpy")
    (entry,) = [e for e in recorded.entries if e["name"] == "distributions.Gamma"]
    entry = {**entry, "numbers": ["__init__"]}
    assert "unknown number" in replay.check(entry, recorded, "numpy")


def test_arrays_of_a_record_keep_their_numbers():
    tool = loaded_tool("golden")
    writer = tool.Writer({"1": np.ones(2), "0": np.zeros(2)})
    assert writer.write([np.zeros(2), np.ones(3)]) == [{"$array": "0"}, {"$array": "2"}]
    writer.keep_only([{"expected": {"$array": "2"}}])
    assert list(writer.arrays) == ["2"]


def test_values_survive_json():
    tool = loaded_tool("golden")
    writer = tool.Writer()
    x = np.arange(3.0)
    value = [1, 2.5, None, "a", (x, [True]), {"b": x}, {3: 0.1}, slice(1, None, 2), ..., 1 + 2j]
    text = json.dumps(writer.write([*value, float("inf"), trellis.exp]))
    assert len(writer.arrays) == 1
    read = values.Reader(writer.arrays, trellis.namespace("numpy")).read(json.loads(text))
    assert read[-2:] == [float("inf"), trellis.exp]
    np.testing.assert_equal(read[:-2], value)
    with pytest.raises(TypeError, match="neither data nor public"):
        writer.write(lambda x: x)
