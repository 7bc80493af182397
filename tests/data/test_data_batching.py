"""Batches: sizes, shares of ranks, buckets by length, packing."""

import numpy as np
import pytest

import trellis
from trellis.data import Buckets, Loader, Packing
from trellis.errors import ArgumentError, ArgumentTypeError, DataError, ShapeError


@pytest.mark.parametrize("count", [1, 4, 5, 8, 11])
@pytest.mark.parametrize("drop_last", [False, True])
def test_lengths(count, drop_last):
    x = np.arange(count)
    if drop_last and count < 4:
        with pytest.raises(ArgumentError, match="drop_last leaves nothing"):
            Loader(x, 4, drop_last=drop_last)
        return
    loader = Loader(x, 4, shuffle=True, drop_last=drop_last)
    batches = list(loader)
    assert len(loader) == len(batches) == (count // 4 if drop_last else -(-count // 4))
    found = np.concatenate(batches)
    assert len(set(found.tolist())) == len(found) == (count // 4 * 4 if drop_last else count)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_shares_join_to_the_batch(ranks, backend):
    """Also where the last batch has fewer rows than there are ranks."""
    data = ([f"text {i}" for i in range(13)], np.arange(13))
    examples = list(zip(*data))
    whole = list(Loader(examples, 4, shuffle=True, seed=0))
    loaders = [
        Loader(examples, 4, shuffle=True, seed=0, rank=rank, ranks=ranks, backend=backend)
        for rank in range(ranks)
    ]
    for shares, (texts, numbers) in zip(zip(*loaders, strict=True), whole, strict=True):
        assert [text for share in shares for text in share[0]] == texts
        found = [trellis.to_numpy(share[1]) for share in shares]
        assert np.concatenate(found).tolist() == numbers.tolist()
        sizes = [len(each) for each in found]
        assert max(sizes) - min(sizes) <= 1
        assert len({str(trellis.dtype(share[1])) for share in shares}) == 1


def test_random_access():
    loader = Loader(np.arange(10), 3, shuffle=True, seed=4)
    epochs = [list(loader), list(loader)]
    for epoch in range(2):
        for number in range(4):
            assert np.array_equal(loader.batch(number, epoch=epoch), epochs[epoch][number])
    assert (loader.epoch, loader.position) == (2, 0)
    for number in (-1, 4):
        with pytest.raises(ArgumentError, match="no batch"):
            loader.batch(number)


def test_no_batch_size():
    """Elements that are batches already."""
    elements = [np.arange(3), np.arange(3, 5), np.arange(5, 9)]
    loader = Loader(elements, None, shuffle=True, seed=1)
    assert sorted([batch.tolist() for batch in loader]) == [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
    loader = Loader(elements, None, rank=1, ranks=3)
    assert [batch.tolist() for batch in loader] == [[1], [4], [7]]
    assert Loader(elements, None, rank=2, ranks=3).batch(1).shape == (0,)


def test_weights():
    loader = Loader(np.arange(3), 100, weights=[0, 1, 0], examples_per_epoch=250, seed=0)
    assert [len(batch) for batch in loader] == [100, 100, 50]
    assert all((batch == 1).all() for batch in loader)
    varied = Loader(np.arange(50), 50, weights=np.ones(50), seed=0)
    first, second = next(iter(varied)), next(iter(varied))
    assert len(set(first.tolist())) < 50, "with replacement"
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": 0}, "batch_size"),
        ({"workers": -1}, "workers"),
        ({"prefetch": 0}, "prefetch"),
        ({"rank": 2, "ranks": 2}, "rank"),
        ({"ranks": 0}, "ranks"),
        ({"shuffle": -3}, "shuffle"),
        ({"weights": np.ones(5), "shuffle": True}, "leave out shuffle"),
        ({"examples_per_epoch": 3}, "for weights"),
        ({"batching": Buckets(np.ones(5, int)), "weights": np.ones(5)}, "no weights"),
        ({"batching": Buckets(np.ones(5, int)), "batch_size": None}, "batch_size"),
        ({"batching": Buckets(np.ones(5, int), pool=0)}, "pool"),
        ({"batching": "buckets"}, "data.Buckets"),
        ({"batching": Buckets(np.ones(4, int))}, "5 examples"),
        ({"batching": Buckets(np.ones(5))}, "one integer"),
        ({"batching": Packing([1, 1, 1, 1, -1], 2)}, "negative"),
        ({"batching": Packing([0] * 5, 2)}, "zero"),
        ({"batching": Packing([1] * 5, 0)}, "at least 1"),
        ({"batching": Packing([1, 1, 3, 1, 1], 2, split=False)}, "Example 2 has length 3"),
        ({"worker_kind": "fork"}, "worker_kind"),
        ({"map": 3}, "map"),
        ({"backend": "nothing"}, "Unknown backend"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=message):
        Loader(np.arange(5), **{"batch_size": 2, **options})


# Buckets ------------------------------------------------------------------------------------------


def words(count=100):
    rng = np.random.default_rng(0)
    return [np.full(n, i) for i, n in enumerate(rng.integers(1, 60, count))]


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_buckets(shuffle, drop_last):
    data = words()
    lengths = np.array([len(word) for word in data])
    options = {"shuffle": shuffle, "drop_last": drop_last, "pad": -1, "seed": 3}
    loader = Loader(data, 8, batching=Buckets(lengths, pool=6), **options)
    batches = list(loader)
    assert [len(batch) for batch in batches] == [8] * 12 + ([] if drop_last else [4])
    found = [int(row[0]) for batch in batches for row in batch]
    assert len(set(found)) == len(found)
    padding = sum([int((batch == -1).sum()) for batch in batches[:12]])
    plain = sum([int((batch == -1).sum()) for batch in list(Loader(data, 8, **options))[:12]])
    assert padding < 0.25 * plain
    # Each pool has the examples of its six batches, sorted.
    order = [int(row[0]) for batch in Loader(data, 8, **options) for row in batch]
    assert sorted(found[:48]) == sorted(order[:48])
    longest = [lengths[found[i : i + 8]].max() for i in range(0, 48, 8)]
    assert (longest == sorted(longest)) == (not shuffle)
    if not drop_last:
        assert sorted(found[96:]) == sorted(order[96:])


# Packing ------------------------------------------------------------------------------------------


def unpacked(batches):
    """The sequences, put together from their pieces."""
    found = {}
    for batch in batches:
        for row, segments, positions in zip(batch["data"], batch["segments"], batch["positions"]):
            for segment in range(1, segments.max() + 1):
                here = segments == segment
                example = found.setdefault(int(row[here][0]), [])
                example += positions[here].tolist()
    return found


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("split", [False, True])
def test_packing(split, shuffle, backend):
    data = words()
    lengths = [len(word) for word in data]
    packing = Packing(lengths, 64, split=split, pad=-7, pool=32)
    loader = Loader(data, 5, shuffle=shuffle, seed=2, batching=packing, backend=backend)
    batches = [trellis.tree.map(trellis.to_numpy, batch) for batch in loader]
    assert len(loader) == len(batches) or shuffle
    assert all(batch["data"].shape[1] == 64 for batch in batches)
    found = unpacked(batches)
    assert sorted(found) == list(range(100))
    for i, positions in found.items():
        assert positions == list(range(lengths[i])), "whole, and in order"
    rows = sum([len(batch["data"]) for batch in batches])
    padding = np.concatenate([batch["segments"].reshape(-1) == 0 for batch in batches])
    values = np.concatenate([batch["data"].reshape(-1) for batch in batches])
    assert np.array_equal(values == -7, padding)
    assert padding.sum() == rows * 64 - sum(lengths)
    if split:
        assert rows == -(-sum(lengths) // 64)
    else:
        # Of each of the four pools at most one row is not more than half full: two could be joined.
        filled = np.concatenate([(batch["segments"] > 0).sum(axis=1) for batch in batches])
        assert (filled <= 32).sum() <= 4
        # A sequence is in one row.
        firsts = sum([int(((b["positions"] == 0) & (b["segments"] > 0)).sum()) for b in batches])
        assert firsts == 100


def test_packing_of_pytrees():
    data = [{"x": np.ones(n), "y": np.arange(n)} for n in (3, 0, 4)]
    batch = next(iter(Loader(data, 1, batching=Packing([3, 0, 4], 7))))
    assert batch["data"]["x"].shape == (1, 7) and batch["data"]["x"].dtype == np.float64
    assert batch["data"]["y"].tolist() == [[0, 1, 2, 0, 1, 2, 3]]
    assert batch["segments"].tolist() == [[1, 1, 1, 2, 2, 2, 2]]


def test_packing_with_wrong_lengths():
    loader = Loader([np.ones(2), np.ones(3)], 1, batching=Packing([2, 2], 4))
    with pytest.raises(ShapeError, match="Example 1 should be a sequence of length 2"):
        list(loader)


def test_errors_name_the_example():
    def fail(x):
        if x == 3:
            raise KeyError("three")
        return x

    loader = Loader([0, 1, 2, 3, 4], 2, map=fail)
    with pytest.raises(
        DataError, match=r"Example 3 .* batch 1 of epoch 0.*KeyError: 'three'"
    ) as info:
        list(loader)
    assert isinstance(info.value.__cause__, KeyError)
    assert loader.position == 1
