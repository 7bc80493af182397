"""Orders: permutations by key that can be looked up at any position, draws by weight."""

import numpy as np
import pytest

import trellis
from trellis._core.threefry import fold_in_words
from trellis.data.order import InOrder, Shuffled, Weighted, permuted
from trellis.errors import ArgumentError, ShapeError

KEY = (3, 9)
# Below and above the length from which the network takes the place of a sort, powers of two and
# their neighbours.
LENGTHS = [1, 2, 3, 10, 1000, 65536, 65537, 70_001, 131_072, 131_073, 200_000]


@pytest.mark.parametrize("length", LENGTHS)
def test_permutation_has_each_number_once(length):
    found = permuted(KEY, length, 0, length)
    assert found.dtype == np.int64
    assert np.array_equal(np.sort(found), np.arange(length))


@pytest.mark.parametrize("length", [10, 70_001])
def test_any_part_is_that_of_the_whole(length):
    whole = permuted(KEY, length, 0, length)
    for begin, end in [(0, 3), (5, 5), (7, 10), (length - 3, length), (0, length)]:
        assert np.array_equal(permuted(KEY, length, begin, end), whole[begin:end])
    if length > 20_000:  # across the border of what is computed at once
        assert np.array_equal(permuted(KEY, length, 16_380, 32_770), whole[16_380:32_770])


def test_small_permutations_are_those_of_the_random_module(backend):
    """The same key gives the same order on every framework."""
    key = trellis.random.key(11, backend=backend)
    words = tuple(int(word) for word in trellis.to_numpy(trellis.random.key(11, backend="numpy")))
    expected = trellis.to_numpy(trellis.random.permutation(key, 1000))
    assert np.array_equal(permuted(words, 1000, 0, 1000), expected)


def test_large_permutation_is_stable():
    """The numbers of a seed stay the same: a stored state means the same batches for ever."""
    assert permuted((0, 1), 100_000, 0, 6).tolist() == LARGE


def feistel(key, length, position):
    """The formula in Python integers: four rounds of a Feistel network with threefry."""
    bits = (length - 1).bit_length()
    width = bits // 2
    while True:
        halves = [position & ((1 << width) - 1), position >> width]
        masks = [(1 << width) - 1, (1 << (bits - width)) - 1]
        for i in range(4):
            changed = i % 2
            upper, lower = fold_in_words(fold_in_words(key, i), halves[1 - changed])
            halves[changed] ^= (upper << 32 | lower) & masks[changed]
        position = halves[1] << width | halves[0]
        if position < length:
            return position


LARGE = [feistel((0, 1), 100_000, i) for i in range(6)]


def test_neighbours_are_torn_apart():
    """Of a good permutation: a tenth of the positions lands in each tenth of the numbers."""
    length = 100_000
    found = permuted(KEY, length, 0, length)
    counts = np.histogram2d(np.arange(length), found, bins=10)[0]
    # Each of the 100 counts is about 1000 with a deviation of 30: beyond 6 of them is no chance.
    assert np.abs(counts - 1000).max() < 180
    assert abs(np.corrcoef(np.arange(length), found)[0, 1]) < 6 / length**0.5


def test_epochs_and_keys_differ():
    order = Shuffled(1000)
    first = order.between(KEY, 0, 0, 1000)[0]
    assert not np.array_equal(first, order.between(KEY, 1, 0, 1000)[0])
    assert not np.array_equal(first, order.between((3, 8), 0, 0, 1000)[0])
    assert np.array_equal(first, order.between(KEY, 0, 0, 1000)[0])


@pytest.mark.parametrize("length", [7, 8, 20, 24])
def test_blocks_keep_their_examples(length):
    order = Shuffled(length, 8)
    found, _ = order.between(KEY, 2, 0, length)
    for begin in range(0, length, 8):
        end = min(begin + 8, length)
        assert sorted(found[begin:end]) == list(range(begin, end))
    for begin in range(length):
        assert np.array_equal(order.between(KEY, 2, begin, length)[0], found[begin:])


def test_in_order():
    assert InOrder(5).between(KEY, 3, 1, 4)[0].tolist() == [1, 2, 3]


def test_weighted_draws_follow_their_weights():
    weights = np.array([0.0, 1.0, 3.0, 0.0, 4.0, 0.0])
    order = Weighted(weights, 6, 80_000)
    found, occurrences = order.between(KEY, 0, 0, 80_000)
    counts = np.bincount(found, minlength=6)
    assert counts[[0, 3, 5]].tolist() == [0, 0, 0]
    # Binomial: the deviations are 94, 137 and 141; six of them.
    assert np.abs(counts[[1, 2, 4]] - [10_000, 30_000, 40_000]).max() < 850
    assert np.array_equal(occurrences, np.arange(80_000))
    assert np.array_equal(order.between(KEY, 0, 16_380, 16_390)[0], found[16_380:16_390])


@pytest.mark.parametrize(
    "weights, error",
    [
        ([1.0, 2.0], ShapeError),
        ([1.0, -1.0, 1.0], ArgumentError),
        ([0.0, 0.0, 0.0], ArgumentError),
        ([1.0, np.nan, 1.0], ArgumentError),
        ([1.0, np.inf, 1.0], ArgumentError),
    ],
)
def test_wrong_weights(weights, error):
    with pytest.raises(error, match="weights"):
        Weighted(weights, 3, None)
