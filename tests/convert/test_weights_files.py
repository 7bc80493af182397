"""`load_weights` in part, under other names, from files of others; never from a pickle."""

import pickle

import numpy as np
import pytest
import safetensors.numpy

import trellis
from trellis import errors, nn
from trellis.conformance.example_modules import SharedWeight
from trellis.testing import assert_close


def array(*shape, start=0.0):
    return np.arange(start, start + np.prod(shape), dtype="float32").reshape(shape)


def model(backend, out=2):
    with trellis.using_backend(backend):
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Linear(4, out))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.safetensors"


def test_in_part(backend, path):
    old, new = model("numpy"), model(backend, out=5)
    old.v = trellis.tree.map(lambda x: x + 7, old.v)
    old.save_weights(path)
    before = new.v["layers/v2/w"]
    with pytest.raises(errors.ShapeError, match=r"\(2, 4\) in the file, \(5, 4\) here"):
        new.load_weights(path)
    report = new.load_weights(path, strict=False)
    assert set(report.matched) == {
        *[f"layers/v0/{x}" for x in "bw"],
        *[f"layers/v1/{x}" for x in ("b", "mean", "var", "w")],
    }
    assert report.missing == () and report.unexpected == ()
    assert report.wrong_shape == {
        "layers/v2/b": ((2,), (5,)),
        "layers/v2/w": ((2, 4), (5, 4)),
    }
    assert not report.is_complete
    assert_close(new.v["layers/v0/w"], old.v["layers/v0/w"], backend=backend)
    assert_close(new.buffers["layers/v1/var"], old.buffers["layers/v1/var"], backend=backend)
    assert new.v["layers/v2/w"] is before
    assert "2 of another shape, skipped" in str(report)


def test_a_whole_file_is_reported_too(backend, path):
    first = model(backend)
    first.save_weights(path)
    report = model(backend).load_weights(path)
    assert report.is_complete
    assert list(report.matched) == first.state_dict().key_chains()
    assert all(chain == name for chain, name in report.matched.items())


def test_files_of_others(backend, path):
    """Dots for slashes, other names, other precision, and more than is needed."""
    foreign = {
        "encoder.layers.v0.w": array(4, 3).astype("float16"),
        "encoder.layers.v0.b": array(4, start=3),
        "encoder.step": np.array(3),
        "head.kernel": array(2, 4),
    }
    safetensors.numpy.save_file(foreign, path)
    new = model(backend)
    names = {"encoder": "", "head.kernel": "layers/v2/w"}
    with pytest.raises(errors.ShapeError, match="float16 in the file"):
        new.load_weights(path, names=names)
    report = new.load_weights(path, names=names, strict=False)
    assert report.matched == {
        "layers/v0/b": "encoder.layers.v0.b",
        "layers/v0/w": "encoder.layers.v0.w",
        "layers/v2/w": "head.kernel",
    }
    assert report.unexpected == ("encoder.step",)
    assert report.cast == {"layers/v0/w": ("float16", "float32")}
    assert "layers/v1/mean" in report.missing
    assert_close(new.v["layers/v0/w"], array(4, 3), backend=backend)
    assert_close(new.v["layers/v2/w"], array(2, 4), backend=backend)
    assert new.load_weights(
        path, strict=False, names=lambda name: None if "step" in name else name[8:]
    ).unexpected == ("head.kernel",)


def test_a_foreign_file_that_fits_is_strict_too(path):
    layers = nn.Sequential(nn.Linear(3, 2))
    safetensors.numpy.save_file({"layers.v0.w": array(2, 3), "layers.v0.b": array(2)}, path)
    assert layers.load_weights(path).is_complete
    assert_close(layers.v["layers/v0/w"], array(2, 3))


def test_nothing_that_fits_is_an_error(path):
    safetensors.numpy.save_file({"a": array(3)}, path)
    with pytest.raises(errors.ArgumentError, match=r"Nothing of .*weights\.safetensors fits"):
        nn.Linear(2, 3).load_weights(path, strict=False)
    safetensors.numpy.save_file({"b": array(3), "c": array(3)}, path)
    with pytest.raises(errors.ArgumentError, match="'b' out of both"):
        nn.Linear(2, 3).load_weights(path, strict=False, names={"c": "b"})


def test_integers_keep_their_values(path):
    class Counter(trellis.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", np.array([1, 2], "int32"))
            self.register_buffer("factor", np.array([1.0], "float32"))

    safetensors.numpy.save_file({"count": np.array([5, 6]), "factor": np.array([3])}, path)
    counter = Counter()
    report = counter.load_weights(path, strict=False)
    assert report.cast == {"count": ("int64", "int32")}
    assert report.wrong_dtype == {"factor": ("int64", "float32")}
    assert_close(counter.buffers["count"], np.array([5, 6], "int32"))
    safetensors.numpy.save_file({"count": np.array([5, 2**40]), "factor": array(1)}, path)
    assert counter.load_weights(path, strict=False).wrong_dtype == {"count": ("int64", "int32")}


def test_both_names_of_a_shared_array(path):
    shared = SharedWeight(2)
    whole = {chain: trellis.to_numpy(shared.v[chain]) for chain in shared.v.key_chains()}
    whole = {chain: x + 1 for chain, x in whole.items()}
    kept = next(chain for chain in whole if chain.endswith("w"))
    other = {"linear0/w": "linear1/w", "linear1/w": "linear0/w"}[kept]
    safetensors.numpy.save_file({**whole, other: whole[kept]}, path)
    assert shared.load_weights(path).is_complete
    assert_close(shared._linear1.v.w, whole[kept])
    renamed = {(other if chain == kept else chain): x for chain, x in whole.items()}
    safetensors.numpy.save_file(renamed, path)
    assert shared.load_weights(path).matched[kept] == other
    safetensors.numpy.save_file({**whole, other: whole[kept] + 1}, path)
    with pytest.raises(errors.ArgumentError, match="are one array here"):
        shared.load_weights(path)


class Bomb:
    """What a pickle could do to its reader."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


@pytest.mark.parametrize("strict", [True, False])
def test_pickles_are_never_opened(tmp_path, strict):
    path = tmp_path / "weights.pt"
    for content in (
        pickle.dumps({"w": Bomb()}),
        b"PK\x03\x04" + pickle.dumps({"w": Bomb()}),
        b"\x89HDF\r\n\x1a\n" + bytes(64),
    ):
        path.write_bytes(content)
        with pytest.raises(errors.ArgumentError, match="cannot run code"):
            nn.Linear(2, 2).load_weights(path, strict=strict)


def test_a_part_of_a_model(path):
    """A module inside another takes its own names."""
    safetensors.numpy.save_file({"w": array(4, 3), "b": array(4)}, path)
    whole = model("numpy")
    assert whole[0].load_weights(path).is_complete
    assert_close(whole.v["layers/v0/w"], array(4, 3))
