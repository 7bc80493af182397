"""Sources: arrays, lists, datasets of frameworks, streams, files; and what becomes of examples."""

import builtins
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import trellis
from loader_program import COUNT, Squares, stream
from oracles import tf, torch
from trellis.data import Images, Lines, Loader, MemoryMapped
from trellis.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendNotInstalledError,
    DataError,
    PrecisionError,
    ShapeError,
)
from trellis.testing import assert_close


def ids(loader):
    return [int(i) for batch in loader for i in np.asarray(trellis.to_numpy(batch)).reshape(-1)]


# Arrays -------------------------------------------------------------------------------------------


def test_arrays_of_every_framework(array, backend):
    x, y = np.arange(20, dtype="float32").reshape(10, 2), np.arange(10, dtype="int32")
    loader = Loader({"x": array(x), "y": (array(y),)}, 4, backend=backend)
    batches = list(loader)
    assert [tuple(batch["x"].shape) for batch in batches] == [(4, 2), (4, 2), (2, 2)]
    for i, batch in enumerate(batches):
        assert trellis.backend_of(batch["x"]) == trellis.backend_of(batch["y"][0]) == backend
        assert_close(batch["x"], x[4 * i : 4 * i + 4])
        assert trellis.to_numpy(batch["y"][0]).tolist() == y[4 * i : 4 * i + 4].tolist()
        assert str(trellis.dtype(batch["x"])) == "float32"


def test_default_backend(backend):
    with trellis.using_backend(backend):
        loader = Loader(np.arange(4, dtype="float32"), 2)
    assert trellis.backend_of(next(iter(loader))) == backend


def test_batches_do_not_share_memory_with_the_data():
    x = np.zeros((4, 2))
    for shuffle in (False, True):
        for batch in Loader(x, 2, shuffle=shuffle):
            batch += 1
    assert not x.any()


@pytest.mark.parametrize("shuffle", [False, True])
def test_shuffled_rows_stay_together(shuffle):
    x = np.arange(100)
    for a, b in Loader((x, x * 2), 7, shuffle=shuffle, seed=1):
        assert np.array_equal(a * 2, b)


def test_integers_beyond_32_bits(backend):
    """As `fit` does: 64-bit integers become 32 bits where JAX has no others, if they fit."""
    small = next(iter(Loader(np.array([1, 2]), 2, backend=backend)))
    assert trellis.to_numpy(small).tolist() == [1, 2]
    large = Loader(np.array([2**40]), 1, backend=backend)
    if backend == "jax":
        with pytest.raises(PrecisionError, match="32 bits"):
            next(iter(large))
    else:
        assert int(trellis.to_numpy(next(iter(large)))[0]) == 2**40


@pytest.mark.parametrize(
    "data, error, message",
    [
        ((np.zeros(3), np.zeros(4)), ShapeError, "same length"),
        (np.zeros(()), ShapeError, "same length"),
        (np.zeros((0, 3)), ArgumentError, "empty"),
        ([], ArgumentError, "empty"),
        ("path.txt", ArgumentTypeError, "data.Lines"),
        (([1, 2], [3, 4]), ArgumentTypeError, "come as a list"),
        (3, ArgumentTypeError, "__getitem__"),
    ],
)
def test_wrong_data(data, error, message):
    with pytest.raises(error, match=message):
        Loader(data, 2)


# Sequences and datasets ---------------------------------------------------------------------------


def test_list_of_numbers_and_text():
    numbers = next(iter(Loader([1, 2, 3], 3)))
    assert numbers.tolist() == [1, 2, 3] and numbers.dtype == np.int64
    floats = next(iter(Loader([1.5, 2, 3], 3)))
    assert floats.dtype == np.float32, "Python floats have the default type"
    with trellis.using_default_dtype("float64"):
        loader = Loader([1.5, 2.5], 2, workers=1)
    assert next(iter(loader)).dtype == np.float64
    assert next(iter(Loader([np.float64(1.5)], 1))).dtype == np.float64
    assert next(iter(Loader([True, False], 2))).dtype == np.bool_
    assert next(iter(Loader(["a", "bc"], 2))) == ["a", "bc"]
    assert next(iter(Loader([("a", 1), ("b", 2)], 2)))[0] == ["a", "b"]


class Pair(NamedTuple):
    x: object
    y: object


def test_structures_are_kept():
    example = {"a": [np.ones(2), {"b": 1}], "c": (2.0,), "d": None, "e": Pair(np.ones(1), 3)}
    batch = next(iter(Loader([example] * 3, 3)))
    assert batch["a"][0].shape == (3, 2)
    assert batch["a"][1]["b"].tolist() == [1, 1, 1]
    assert isinstance(batch["c"], tuple) and batch["c"][0].tolist() == [2.0] * 3
    assert batch["d"] is None
    assert isinstance(batch["e"], Pair) and batch["e"].x.shape == (3, 1)
    container = next(iter(Loader([trellis.Container(w=np.ones(2))] * 2, 2)))
    assert isinstance(container, trellis.Container) and container.w.shape == (2, 2)


@pytest.mark.parametrize(
    "examples, message",
    [
        ([np.ones(2), np.ones(3)], "different shapes"),
        ([(1, 2), (1, 2, 3)], "row 1"),
        ([{"a": 1}, {"b": 1}], "keys"),
        ([np.ones(2), np.ones((2, 2))], "different shapes"),
    ],
)
def test_examples_that_do_not_fit_together(examples, message):
    with pytest.raises(ShapeError, match=message):
        next(iter(Loader(examples, 2)))
    with pytest.raises(ArgumentTypeError, match="collate"):
        next(iter(Loader([object()], 1)))


def test_padding():
    examples = [np.array([[1, 2]]), np.array([[3], [4]])]
    batch = next(iter(Loader(examples, 2, pad=-1)))
    assert batch.tolist() == [[[1, 2], [-1, -1]], [[3, -1], [4, -1]]]
    with pytest.raises(ShapeError, match="different shapes"):
        next(iter(Loader([np.ones(2), np.ones((2, 2))], 2, pad=0)))


def test_collate():
    batch = next(
        iter(Loader([{1}, {2, 3}], 2, collate=lambda sets: np.array([len(s) for s in sets])))
    )
    assert batch.tolist() == [1, 2]


def test_dataset_with_several_at_once():
    class Fast(Squares):
        calls = 0

        def __getitems__(self, indices):
            Fast.calls += 1
            return [self[i] for i in indices]

    assert len(list(Loader(Fast(), 10))) == 4
    assert Fast.calls == 4


@pytest.mark.needs("torch")
def test_torch_datasets(backend):
    x = torch.arange(10.0)
    dataset = torch.utils.data.TensorDataset(x, torch.arange(10))
    batches = list(Loader(dataset, 4, shuffle=True, seed=2, backend=backend))
    expected = list(
        Loader((np.arange(10.0, dtype="float32"), np.arange(10)), 4, shuffle=True, seed=2)
    )
    for (a, b), (c, d) in zip(batches, expected, strict=True):
        assert trellis.backend_of(a) == backend
        assert_close(a, c)
        assert trellis.to_numpy(b).tolist() == d.tolist()
    lengths = [torch.ones(2), torch.ones(3)]
    assert next(iter(Loader(lengths, 2, pad=0))).shape == (2, 3)


@pytest.mark.needs("torch")
def test_torch_iterable_dataset():
    class Streamed(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(torch.arange(7))

    assert ids(Loader(Streamed(), 3)) == list(range(7))


@pytest.mark.needs("tensorflow")
def test_tf_data(backend):
    data = tf.data.Dataset.range(10).map(lambda i: {"i": i, "x": tf.cast(i, tf.float32) * 2})
    loader = Loader(data, 4, backend=backend)
    found = list(loader)
    assert [trellis.backend_of(batch["x"]) for batch in found] == [backend] * 3
    assert [trellis.to_numpy(batch["i"]).tolist() for batch in found] == [
        [0, 1, 2, 3], [4, 5, 6, 7], [8, 9]
    ]  # fmt: skip
    assert loader.epoch == 1
    loader.go_to(1, 2)
    assert trellis.to_numpy(next(iter(loader))["i"]).tolist() == [8, 9]


@pytest.mark.needs("tensorflow")
def test_tf_data_in_batches():
    data = tf.data.Dataset.range(10).batch(4)
    assert ids(Loader(data, None)) == list(range(10))
    shares = [ids(Loader(data, None, rank=rank, ranks=2)) for rank in range(2)]
    assert shares == [[0, 1, 4, 5, 8], [2, 3, 6, 7, 9]]


# Streams ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [False, 8])
def test_stream_equals_the_dataset(shuffle):
    """A stream is shuffled like a dataset of the same examples."""
    streamed = [b["id"].tolist() for b in Loader(stream, 5, shuffle=shuffle, seed=3)]
    known = [b["id"].tolist() for b in Loader(Squares(), 5, shuffle=shuffle, seed=3)]
    assert streamed == known
    assert sum(map(len, streamed)) == COUNT


def test_stream_without_length():
    loader = Loader(stream, 5)
    with pytest.raises(TypeError, match="not known"):
        len(loader)
    assert len(list(loader)) == 8 and loader.epoch == 1
    assert len(list(Loader(stream, 5, drop_last=True))) == 7
    assert loader.batch(7)["id"].tolist() == [35, 36]
    with pytest.raises(ArgumentError, match="no batch 8"):
        loader.batch(8)


def test_stream_that_can_skip():
    class Skipping:
        skipped = []

        def __iter__(self):
            return iter(range(20))

        def skip(self, count):
            self.skipped.append(count)
            return range(count, 20)

    loader = Loader(Skipping(), 4)
    loader.go_to(0, 3)
    assert ids(loader) == list(range(12, 20))
    assert Skipping.skipped == [12]


def test_generator_has_one_epoch():
    loader = Loader((i for i in range(4)), 2)
    assert ids(loader) == [0, 1, 2, 3]
    with pytest.raises(ArgumentError, match="only once"):
        next(iter(loader))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"shuffle": True}, "within how many"),
        ({"weights": np.ones(3)}, "a stream"),
        ({"batching": trellis.data.Buckets([1])}, "a stream"),
        ({"batch_size": None, "shuffle": 4}, "not shuffled"),
    ],
)
def test_what_streams_cannot_do(options, message):
    with pytest.raises(ArgumentError, match=message):
        Loader(stream, **{"batch_size": 2, **options})


# Files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, expected",
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\nbc\n", ["a", "bc"]),
        (b"a\r\n\r\nb\r", ["a", "", "b"]),
        ("é\n€uro\n".encode(), ["é", "€uro"]),
    ],
)
def test_lines(content, expected, tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    lines = Lines(path)
    assert [lines[i] for i in range(len(lines))] == expected
    assert lines.__getitems__([*range(len(lines))][::-1]) == expected[::-1]
    assert lines.lengths.tolist() == [len(line.encode()) for line in expected]
    with pytest.raises(IndexError):
        lines[len(lines)]
    with pytest.raises(IndexError):
        lines.__getitems__([0, len(lines)])
    with pytest.raises(IndexError):
        lines.__getitems__([-len(lines) - 1])


def test_lines_of_several_files(tmp_path):
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("")
    (tmp_path / "c").write_text("3\n4")
    lines = Lines([tmp_path / name for name in "abc"])
    assert [lines[i] for i in range(4)] == ["1", "2", "3", "4"] and lines[-1] == "4"
    assert lines.__getitems__([3, 0, 2]) == ["4", "1", "3"]
    again = pickle.loads(pickle.dumps(lines))
    assert again[2] == "3"
    batches = list(Loader(lines, 3, map=int))
    assert [batch.tolist() for batch in batches] == [[1, 2, 3], [4]]


def test_lines_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("trellis.data.files._BLOCK", 4)
    (tmp_path / "a").write_text("abc\nde\nfghijk\n\nl")
    lines = Lines(tmp_path / "a")
    assert [lines[i] for i in range(5)] == ["abc", "de", "fghijk", "", "l"]


def test_memory_mapped(tmp_path):
    x = np.arange(24, dtype="float32").reshape(6, 4)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "x.bin").write_bytes(b"head" + x.tobytes())
    raw = MemoryMapped(tmp_path / "x.bin", dtype="float32", shape=(-1, 4), offset=4)
    for rows in (MemoryMapped(tmp_path / "x.npy"), raw):
        assert np.array_equal(next(iter(Loader(rows, 6))), x)
        small = pickle.dumps(rows)
        assert len(small) < 400, "the path is sent, not the numbers"
        assert np.array_equal(pickle.loads(small)[5], x[5])
    flat = MemoryMapped(tmp_path / "x.bin", dtype="float32", offset=4)
    assert len(flat) == 24


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "raw file"),
        ({"dtype": "float64"}, "whole number"),
        ({"dtype": "float32", "shape": (4, 2)}, "not of shape"),
        ({"dtype": "float32", "shape": (-1, 2)}, "not of shape"),
    ],
)
def test_wrong_raw_files(options, message, tmp_path):
    (tmp_path / "x.bin").write_bytes(bytes(12))
    with pytest.raises(ArgumentError, match=message):
        MemoryMapped(tmp_path / "x.bin", **options)
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(ArgumentError, match="says itself"):
        MemoryMapped(tmp_path / "x.npy", dtype="float32")


def test_pickled_arrays_are_not_read(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        MemoryMapped(tmp_path / "x.npy")


def painted(folder, name, size=(4, 3), colour=(1, 2, 3), mode="RGB"):
    image = pytest.importorskip("PIL.Image")
    folder.mkdir(exist_ok=True, parents=True)
    image.new(mode, size, colour).save(folder / name)


def test_images(tmp_path, backend):
    painted(tmp_path / "dog", "1.png")
    painted(tmp_path / "cat", "2.png", colour=(9, 8, 7))
    painted(tmp_path / "cat" / "more", "1.PNG")
    painted(tmp_path / ".hidden", "1.png")
    (tmp_path / "cat" / "notes.txt").write_text("not an image")
    images = Images(tmp_path)
    assert images.classes == ["cat", "dog"] and len(images) == 3
    x, y = next(iter(Loader(images, 3, backend=backend)))
    assert tuple(x.shape) == (3, 3, 4, 3) and str(trellis.dtype(x)) == "uint8"
    assert trellis.to_numpy(y).tolist() == [0, 0, 1]
    assert trellis.to_numpy(x)[0, 0, 0].tolist() == [9, 8, 7]


def test_images_without_classes(tmp_path):
    painted(tmp_path, "1.png", size=(5, 7))
    assert Images(tmp_path)[0].shape == (7, 5, 3)
    assert Images(tmp_path, mode="L")[0].shape == (7, 5, 1)
    assert Images(tmp_path, size=(2, 6))[0].shape == (2, 6, 3)


def test_damaged_image_is_named(tmp_path):
    painted(tmp_path, "1.png")
    (tmp_path / "2.png").write_bytes((tmp_path / "1.png").read_bytes()[:40])
    with pytest.raises(DataError, match=r"Example 1 .*2\.png cannot be read as an image"):
        list(Loader(Images(tmp_path), 2))


def test_no_images(tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match="no images"):
        Images(tmp_path)
    with pytest.raises(ArgumentError, match="not a folder"):
        Images(tmp_path / "missing")
    original = builtins.__import__

    def without_pillow(name, *args, **kwargs):
        if name.startswith("PIL"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(BackendNotInstalledError, match="pip install pillow"):
        Images(tmp_path)
