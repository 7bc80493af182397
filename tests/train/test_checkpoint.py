"""Checkpoints: what is written comes back, on every framework; what does not fit or is damaged
raises."""

import json
import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from safetensors.numpy import load_file

import trellis
from trellis import nn
from trellis.testing import assert_close
from trellis.train import fit, load_checkpoint, read_checkpoint, read_extra, save_checkpoint

BACKENDS = ("numpy", "jax", "torch", "tensorflow")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "made" / "on the way" / "run.safetensors"


@pytest.fixture
def state(array, backend):
    return trellis.Container(
        v={"b": array([1.0, 2.0]), "w": array(np.arange(6, dtype="float32").reshape(2, 3))},
        buffers={},
        optimizer=[array(7, "int32"), (array([True, False]), None)],
        key=trellis.random.key(2**40 + 3, backend=backend),
        empty=array(np.zeros((0, 3), "float32")),
        complex=array(np.array([1 + 2j], "complex64")),
        step=12,
        rate=0.1,
        name="run",
    )


# Round trips
# -----------------------------------------------------------------------------------------


def test_comes_back_as_it_was(path, state, backend):
    save_checkpoint(path, state, extra={"epoch": 3})
    zeros = trellis.tree.map(
        lambda x: trellis.zeros_like(x) if hasattr(x, "dtype") else type(x)(), state
    )
    found = load_checkpoint(path, zeros)
    assert found.pop("name") == state.pop("name")
    assert_close(found, state, rtol=0, atol=0)
    assert read_extra(path) == {"epoch": 3}
    assert [p.name for p in path.parent.iterdir()] == ["run.safetensors"]


def test_reads_without_knowing_the_structure(path, state):
    save_checkpoint(path, state)
    found = read_checkpoint(path)
    assert isinstance(found, trellis.Container)
    assert isinstance(found.optimizer, list)
    assert isinstance(found.optimizer[1], tuple)
    assert (found.step, found.rate, found.name) == (12, 0.1, "run")
    assert_close(found.v, trellis.to_numpy(state.v), rtol=0, atol=0)


def test_loads_with_other_tools(path):
    save_checkpoint(path, {"a": {"w": np.arange(3.0)}, "k": np.array([1, 2], "int8")})
    assert_close(load_file(path), {"a/w": np.arange(3.0), "k": np.array([1, 2], "int8")})


@pytest.mark.parametrize(
    "name",
    ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"],
)
def test_keeps_data_types(path, name):
    x = np.array([[0, 1], [1, 0]]).astype(name)
    save_checkpoint(path, {"x": x, "scalar": x[0, 1], "strided": x.T})
    found = read_checkpoint(path)
    assert_close(found, {"x": x, "scalar": np.asarray(x[0, 1]), "strided": x.T}, rtol=0, atol=0)


def test_keeps_bfloat16(path, backend):
    x = trellis.asarray([1.5, -2.0], dtype="bfloat16", backend=backend)
    save_checkpoint(path, {"x": x})
    assert_close(load_checkpoint(path, {"x": trellis.zeros_like(x)}), {"x": x}, rtol=0, atol=0)


def test_loaded_arrays_are_their_own(path):
    save_checkpoint(path, {"x": np.zeros(2)})
    found = load_checkpoint(path, {"x": np.ones(2)})
    found["x"][0] = 5
    assert load_checkpoint(path, {"x": np.ones(2)})["x"][0] == 0


def test_arrays_that_were_read_can_be_written_to(path):
    save_checkpoint(path, {"w": np.ones(3)})
    found = read_checkpoint(path)["w"]
    found[0] = 5.0
    assert read_checkpoint(path)["w"][0] == 1.0


def test_a_state_that_is_one_array_has_a_name_in_the_file(path):
    save_checkpoint(path, np.arange(3))
    assert list(load_file(path)) == ["state"]
    assert_close(load_checkpoint(path, np.zeros(3, "int64")), np.arange(3))


def test_named_tuples_come_back_through_their_like(path):
    Pair = namedtuple("Pair", "m v")
    save_checkpoint(path, Pair(np.ones(1), np.zeros(1)))
    assert load_checkpoint(path, Pair(np.zeros(1), np.zeros(1))).m[0] == 1
    assert read_checkpoint(path)[0][0] == 1


# What does not fit
# -----------------------------------------------------------------------------------


def test_lists_every_difference_and_changes_nothing(path, array):
    save_checkpoint(
        path,
        {
            "a": array([1.0]),
            "b": array([1.0, 2.0]),
            "gone": array([1.0]),
            "n": 1,
            "k": array([1.0]),
        },
    )
    like = {
        "a": array(np.zeros((1,), "float16")),
        "b": array([[0.0, 0.0]]),
        "more": array([0.0]),
        "n": array([0.0]),
        "k": 2,
    }
    before = {name: id(x) for name, x in like.items()}
    with pytest.raises(ValueError, match="nothing was changed") as error:
        load_checkpoint(path, like)
    text = str(error.value)
    for part in (
        "'a' is float32 in the file, float16 here",
        "'b' has shape (2,) in the file, (1, 2) here",
        "'more' is missing in the file",
        "'gone' of the file is unknown here",
        "'n' is the value 1 in the file, an array of float32, shape (1,) here",
        "'k' is an array of float32, shape (1,) in the file, the value 2 here",
    ):
        assert part in text, text
    assert {name: id(x) for name, x in like.items()} == before


def test_integers_of_the_same_framework_must_agree(path):
    save_checkpoint(path, {"n": np.array([3], "int64")})
    with pytest.raises(ValueError, match="'n' is int64 in the file, int32 here"):
        load_checkpoint(path, {"n": np.array([0], "int32")})


def test_integers_of_another_framework_must_fit(path):
    like = {"n": trellis.asarray(np.zeros(1, "int32"), backend="jax")}
    save_checkpoint(path, {"n": np.array([3], "int64")})
    assert_close(load_checkpoint(path, like), {"n": np.array([3], "int32")}, backend="jax")
    save_checkpoint(path, {"n": np.array([2**40], "int64")})
    with pytest.raises(ValueError, match="'n' is int64"):
        load_checkpoint(path, like)


@pytest.mark.parametrize("found, here", [("float32", "int64"), ("int64", "float32")])
def test_floats_of_another_framework_are_no_integers(path, found, here):
    like = {"n": trellis.asarray(np.ones(2, here), backend="torch")}
    save_checkpoint(path, {"n": np.ones(2, found)})
    with pytest.raises(ValueError, match=f"'n' is {found} in the file, {here} here"):
        load_checkpoint(path, like)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.2, 0.5, 0.9, 0.999])
def test_a_changed_byte_is_noticed(path, part):
    state = {"a": np.arange(100.0), "b": np.ones(3, "float32"), "step": 4}
    save_checkpoint(path, state)
    content = bytearray(path.read_bytes())
    content[int(part * len(content))] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged|not a checkpoint|does not fit"):
        load_checkpoint(path, state)


@pytest.mark.parametrize("size", [0, 4, 100, -1])
def test_a_cut_file_is_noticed(path, size):
    save_checkpoint(path, {"a": np.arange(100.0)})
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match="damaged"):
        load_checkpoint(path, {"a": np.zeros(100)})


def test_a_pickle_is_not_opened(path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(path.parent / "trapped"),)

    import pickle

    path.parent.mkdir(parents=True)
    path.write_bytes(pickle.dumps({"v": Trap()}))
    with pytest.raises(ValueError, match="damaged or not a safetensors file"):
        load_checkpoint(path, {"v": np.zeros(1)})
    assert not (path.parent / "trapped").exists()


def test_other_safetensors_files_are_told_apart(path):
    nn.Linear(2, 2).save_weights(path)
    with pytest.raises(ValueError, match="load_weights"):
        load_checkpoint(path, {})


def test_a_missing_file_is_an_ordinary_error(path):
    with pytest.raises(FileNotFoundError):
        load_checkpoint(path, {})


@pytest.mark.parametrize(
    "state", [{"f": print}, {1: np.zeros(1)}, {"a/b": np.zeros(1)}, {"o": np.array([None])}]
)
def test_what_cannot_be_saved_leaves_the_old_file(path, state):
    save_checkpoint(path, {"x": np.ones(1)})
    with pytest.raises((ValueError, TypeError)):
        save_checkpoint(path, state)
    assert read_checkpoint(path)["x"][0] == 1
    assert len(list(path.parent.iterdir())) == 1


def test_a_failing_disk_leaves_the_old_file(path, monkeypatch):
    save_checkpoint(path, {"x": np.ones(1)})

    def fail(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        save_checkpoint(path, {"x": np.zeros(1)})
    monkeypatch.undo()
    assert read_checkpoint(path)["x"][0] == 1
    assert len(list(path.parent.iterdir())) == 1


# Crashes
# ---------------------------------------------------------------------------------------------

KILLS = 100

# It loads NumPy and nothing else, and forks: a hundred processes would spend their time importing.
_KILLING = """
import os, random, signal, sys, time
import numpy as np
from trellis.train import load_checkpoint, save_checkpoint

path, kills = sys.argv[1], int(sys.argv[2])
like = {"w": np.zeros(100_000, "float32"), "b": np.zeros(50), "step": 0}

def save(step):
    w, b = np.full(100_000, step, "float32"), np.full(50, step, "float64")
    save_checkpoint(path, {"w": w, "b": b, "step": step})

begin = time.monotonic()
for _ in range(3):
    save(0)
duration = (time.monotonic() - begin) / 3
randomly = random.Random(0)
reached = in_the_middle = 0
for _ in range(kills):
    child = os.fork()
    if child == 0:
        while True:
            reached += 1
            save(reached)
    time.sleep(randomly.uniform(0, 1.5 * duration))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    in_the_middle += len(os.listdir(os.path.dirname(path))) > 1
    found = load_checkpoint(path, like)
    assert found["step"] >= reached, (found["step"], reached)
    assert (found["w"] == found["step"]).all() and (found["b"] == found["step"]).all()
    reached = found["step"]
assert not {"torch", "jax", "tensorflow"} & set(sys.modules)
print(reached, in_the_middle)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")
def test_killing_the_process_leaves_a_whole_checkpoint(tmp_path):
    """A hundred processes are killed while they do nothing but save; no file is ever unreadable."""
    path = tmp_path / "run.safetensors"
    command = [sys.executable, "-c", _KILLING, str(path), str(KILLS)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    reached, in_the_middle = [int(word) for word in run.stdout.split()]
    assert reached > KILLS / 10, "the processes hardly ever came to save"
    assert in_the_middle > KILLS / 10, "hardly any process was killed in the middle of a file"
    # The next save cleans up after the dead.
    save_checkpoint(path, {"x": np.zeros(1)})
    assert [p.name for p in tmp_path.iterdir()] == ["run.safetensors"]


# Migration
# -------------------------------------------------------------------------------------------


class Net(trellis.Module):
    def __init__(self, **options):
        # No bias: before a batch norm its gradient is zero but for rounding, which Adam would blow
        # up.
        self._conv = nn.Conv2D(1, 4, 3, 1, "SAME", with_bias=False)
        self._norm = nn.BatchNorm2D(4)
        self._dropout = nn.Dropout(0.2)
        self._linear = nn.Linear(4, 3)
        super().__init__(**options)

    def _forward(self, x):
        x = trellis.tanh(self._norm(self._conv(x)))
        return self._linear(self._dropout(trellis.mean(x, axis=(1, 2))))


def _loss(output, y):
    scores = output - trellis.logsumexp(output, axis=-1, keepdims=True)
    return -trellis.mean(trellis.sum(scores * trellis.one_hot(y, 3), axis=-1))


def _train(backend, path, epochs, resume=True):
    """5 steps an epoch; the variables begin as other values than those of the checkpoint."""
    random = np.random.default_rng(0)
    data = random.normal(size=(40, 4, 4, 1)).astype("float32"), random.integers(0, 3, 40)
    trellis.seed(0)
    model = Net(backend=backend)
    history = fit(
        model,
        _loss,
        data,
        optimizer=trellis.optim.Adam(lr=0.02),
        batch_size=8,
        epochs=epochs,
        compile=False,
        progress=False,
        seed=11,
        checkpoint=path,
        resume=resume,
    )
    return model, history


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Ten steps on each framework, saved; and twenty without a stop, on NumPy."""
    folder = tmp_path_factory.mktemp("begun")
    for name in BACKENDS:
        _train(name, folder / f"{name}.safetensors", 2)
    return folder, _train("numpy", None, 4, resume=False)


@pytest.mark.parametrize(
    ("first", "second"), [(a, b) for a in BACKENDS for b in BACKENDS if a != b]
)
def test_stop_on_one_framework_and_go_on_with_another(begun, tmp_path, first, second):
    folder, (whole, history) = begun
    path = tmp_path / "run.safetensors"
    path.write_bytes((folder / f"{first}.safetensors").read_bytes())
    model, resumed = _train(second, path, 4)
    assert len(resumed.losses) == 20
    np.testing.assert_allclose(resumed.losses, history.losses, rtol=1e-4)
    np.testing.assert_allclose(resumed.metrics["loss"], history.metrics["loss"], rtol=1e-4)
    assert_close(model.v, whole.v, rtol=1e-3, atol=1e-4, backend=second, dtype=False)
    assert_close(model.buffers, whole.buffers, rtol=1e-3, atol=1e-4, dtype=False)


def test_going_on_equals_the_uninterrupted_run(backend, tmp_path):
    """On one framework: bit for bit, and in the middle of an epoch too."""
    model, whole = _train(backend, None, 3, resume=False)
    path = tmp_path / "run.safetensors"

    class Stop(trellis.train.Callback):
        def on_step(self, run):
            if run.step == 7:
                run.save(path)
                run.stop()

    random = np.random.default_rng(0)
    data = random.normal(size=(40, 4, 4, 1)).astype("float32"), random.integers(0, 3, 40)
    trellis.seed(0)
    options = {"batch_size": 8, "epochs": 3, "compile": False, "progress": False, "seed": 11}
    stopped = fit(
        Net(backend=backend),
        _loss,
        data,
        optimizer=trellis.optim.Adam(0.02),
        callbacks=[Stop()],
        **options,
    )
    assert len(stopped.losses) == 7
    again, resumed = _train(backend, path, 3)
    assert resumed.losses == whole.losses
    assert resumed.metrics == whole.metrics
    assert_close(again.v, model.v, rtol=0, atol=0)
    assert json.loads(json.dumps(read_extra(path)["history"]["losses"])) == whole.losses
