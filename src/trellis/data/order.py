"""Which example stands at which position of an epoch.

An order is a function of a key, an epoch and a position. Nothing has to be remembered to go on in
the middle of an epoch, and any process can look up any position by itself.
"""

from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from .._core.dispatch import load
from .._core.errors import ArgumentError, ShapeError
from .._core.threefry import Words, fold_in_words

Positions = Any  # a NumPy array of int64

_CHUNK = 1 << 14  # positions that are computed at a time: their buffers fit into the cache
_SORTED = 1 << 16  # up to here a permutation is drawn by sorting, all of them equally likely
_ROUNDS = 4  # of a Feistel network: enough where each round is a pseudorandom function
# One key for each purpose, so that no two draws are related.
FOR_ORDER, FOR_EXAMPLES, FOR_POOLS = 0, 1, 2


@lru_cache(maxsize=16)  # every batch of an epoch asks for the same ones
def epoch_key(key: Words, purpose: int, epoch: int) -> Words:
    """The key of one purpose in one epoch."""
    return fold_in_words(fold_in_words(key, purpose), epoch)


class Order(Protocol):
    """The examples at positions 0 to `length` of an epoch."""

    length: int
    is_random: bool

    def between(self, key: Words, epoch: int, begin: int, end: int) -> tuple[Positions, Positions]:
        """The examples at these positions; and numbers that tell apart what an epoch has twice."""


class InOrder:
    """The examples as they come."""

    is_random = False

    def __init__(self, length: int):
        self.length = length

    def between(self, key: Words, epoch: int, begin: int, end: int) -> tuple[Positions, Positions]:
        found = np.arange(begin, end)
        return found, found


class Shuffled:
    """Each example once, in an order that depends on the key and the epoch.

    With a `window` examples change places only with those of the same block of so many.
    """

    is_random = True

    def __init__(self, length: int, window: int | None = None):
        self.length, self._window = length, window

    def between(self, key: Words, epoch: int, begin: int, end: int) -> tuple[Positions, Positions]:
        key = epoch_key(key, FOR_ORDER, epoch)
        if self._window is None:
            found = permuted(key, self.length, begin, end)
            return found, found
        parts = [np.empty(0, np.int64)]
        while begin < end:
            block, inside = divmod(begin, self._window)
            start = block * self._window
            size = min(self._window, self.length - start)
            stop = min(end - start, size)
            parts.append(start + permuted(fold_in_words(key, block), size, inside, stop))
            begin = start + stop
        found = np.concatenate(parts)
        return found, found


class Weighted:
    """Examples drawn with replacement, each as often as its weight says."""

    is_random = True

    def __init__(self, weights: Any, examples: int, count: int | None):
        weights = np.asarray(weights, np.float64)
        if weights.shape != (examples,):
            raise ShapeError(
                f"weights has shape {weights.shape}; it needs one number for each of the "
                f"{examples} examples."
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
            raise ArgumentError("weights must be finite, not negative, and not all of them zero.")
        self.length = examples if count is None else count
        self._sums = np.cumsum(weights)
        self._last = int(np.flatnonzero(weights)[-1])

    def between(self, key: Words, epoch: int, begin: int, end: int) -> tuple[Positions, Positions]:
        key = epoch_key(key, FOR_ORDER, epoch)
        shares = _uniforms(key, begin, end)
        found = np.searchsorted(self._sums, shares * self._sums[-1], side="right")
        # A product that is rounded up to the whole sum belongs to the last example.
        return np.minimum(found, self._last), np.arange(begin, end)


# Permutations
# ---------------------------------------------------------------------------------------------


def permuted(key: Words, length: int, begin: int, end: int) -> Positions:
    """The part from `begin` to `end` of a permutation of `length` numbers.

    >>> whole = permuted((1, 2), 10, 0, 10)
    >>> sorted(whole.tolist()) == list(range(10))
    True
    >>> bool((permuted((1, 2), 10, 3, 5) == whole[3:5]).all())
    True
    """
    if length <= _SORTED:
        return _sorted(key, length)[begin:end]
    return _joined(lambda chunk: _walked(key, length, chunk), begin, end)


def _joined(chunk_of: Any, begin: int, end: int) -> Positions:
    """Positions `begin` to `end` of what is computed chunk by chunk."""
    if begin >= end:
        return chunk_of(0)[:0]
    first, last = begin // _CHUNK, (end - 1) // _CHUNK
    chunks = [chunk_of(chunk) for chunk in range(first, last + 1)]
    whole = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    return whole[begin - first * _CHUNK : end - first * _CHUNK]


@lru_cache(maxsize=8)
def _sorted(key: Words, length: int) -> Positions:
    random: Any = load("numpy").random
    return _fixed(random.permutation(random.make_key(*key), length))


@lru_cache(maxsize=8)
def _walked(key: Words, length: int, chunk: int) -> Positions:
    """One chunk of a permutation by index: a Feistel network over the next power of two. A number
    that lands beyond `length` is sent through it again until it does not."""
    bits = (length - 1).bit_length()
    begin = chunk * _CHUNK
    found = _scrambled(key, bits, np.arange(begin, min(begin + _CHUNK, length), dtype=np.uint64))
    beyond = np.flatnonzero(found >= length)
    while len(beyond):
        found[beyond] = _scrambled(key, bits, found[beyond])
        beyond = beyond[found[beyond] >= length]
    return _fixed(found)


def _scrambled(key: Words, bits: int, numbers: Any) -> Any:
    """A permutation of the numbers of so many bits: in each round one half is changed by a hash of
    the other."""
    width = bits // 2
    masks = (np.uint64((1 << width) - 1), np.uint64((1 << (bits - width)) - 1))
    halves = [numbers & masks[0], numbers >> np.uint64(width)]
    for i in range(_ROUNDS):
        changed, other = i % 2, 1 - i % 2
        halves[changed] = halves[changed] ^ (
            _hashed(fold_in_words(key, i), halves[other]) & masks[changed]
        )
    return halves[1] << np.uint64(width) | halves[0]


def _hashed(key: Words, numbers: Any) -> Any:
    """64 random bits for each number below 2**32."""
    random: Any = load("numpy").random
    words = random.fold_in(random.make_key(*key), numbers.astype(np.uint32)).astype(np.uint64)
    return words[..., 0] << np.uint64(32) | words[..., 1]


def _uniforms(key: Words, begin: int, end: int) -> Any:
    """Numbers in [0, 1), one for each position."""
    return _joined(lambda chunk: _drawn(key, chunk), begin, end)


@lru_cache(maxsize=8)
def _drawn(key: Words, chunk: int) -> Any:
    hashed = _hashed(fold_in_words(key, chunk), np.arange(_CHUNK))
    return _fixed(hashed >> np.uint64(11), np.float64) * 2.0**-53


def _fixed(x: Any, dtype: Any = np.int64) -> Any:
    """An array that nobody can change: callers share it."""
    x = np.ascontiguousarray(x, dtype)
    x.flags.writeable = False
    return x
