"""Which examples make up which batch: plain batches, buckets by length, packed sequences.

A plan is a function of a key, an epoch and the number of a batch, like the orders that it is built
on.
"""

import zlib
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._core import tree
from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._core.kinds import check_arguments
from .._core.threefry import Words, fold_in_words
from .order import FOR_POOLS, Order, epoch_key, permuted

# From the examples of a batch, and their occurrences, to the batch or the examples themselves.
Make = Callable[[Any, Any], Any]


class Plan(Protocol):
    """The batches of every epoch."""

    def count(self, key: Words, epoch: int) -> int:
        """The number of batches."""

    def rows(self, key: Words, epoch: int, batch: int) -> int:
        """The number of rows of a batch."""

    def fill(
        self,
        key: Words,
        epoch: int,
        batch: int,
        begin: int,
        end: int,
        *,
        batch_of: Make,
        all_of: Make,
    ) -> Any:
        """The rows from `begin` to `end` of a batch: `batch_of` makes a batch of examples,
        `all_of` a list of them."""


class _Cut:
    """Rows cut into batches; the last one may be smaller."""

    def __init__(self, batch_size: int, drop_last: bool):
        self._size, self._drop_last = batch_size, drop_last

    def _count(self, rows: int) -> int:
        whole, rest = divmod(rows, self._size)
        return whole + (1 if rest and not self._drop_last else 0)

    def _span(self, rows: int, batch: int) -> tuple[int, int]:
        return batch * self._size, min((batch + 1) * self._size, rows)


class Plain(_Cut):
    """Batches in the order of the examples."""

    def __init__(self, order: Order, batch_size: int, drop_last: bool):
        super().__init__(batch_size, drop_last)
        self._order = order

    def count(self, key: Words, epoch: int) -> int:
        return self._count(self._order.length)

    def rows(self, key: Words, epoch: int, batch: int) -> int:
        begin, end = self._span(self._order.length, batch)
        return end - begin

    def fill(
        self,
        key: Words,
        epoch: int,
        batch: int,
        begin: int,
        end: int,
        *,
        batch_of: Make,
        all_of: Make,
    ) -> Any:
        indices, occurrences = self._examples(key, epoch, batch)
        return batch_of(indices[begin:end], occurrences[begin:end])

    def _examples(self, key: Words, epoch: int, batch: int) -> tuple[Any, Any]:
        return self._order.between(key, epoch, *self._span(self._order.length, batch))


# Buckets
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Buckets:
    """Batches of examples of similar length, so that little is padded.

    As many examples as `pool` batches hold are sorted by length and cut into batches; the batches
    of a pool come in random order if the loader shuffles. Every example is still in one batch of
    each epoch, and the last, smaller batch has whatever is left.

    Args:
        lengths: The length of each example, as an array or a list.
        pool: How many batches are sorted together.

    >>> import numpy as np, trellis
    >>> words = [np.ones(n, "int32") for n in (5, 1, 4, 2)]
    >>> buckets = trellis.data.Buckets([len(word) for word in words])
    >>> loader = trellis.data.Loader(words, 2, batching=buckets, pad=0)
    >>> [batch.shape for batch in loader]
    [(2, 2), (2, 5)]
    """

    lengths: Any
    pool: int = 64

    def _plan(self, order: Order, batch_size: int, drop_last: bool, examples: int) -> Plan:
        """Used by the loader."""
        lengths = _checked_lengths(self.lengths, examples)
        if self.pool < 1:
            raise ArgumentError(f"pool must be at least 1, got {self.pool}.")
        return _Bucketed(order, batch_size, drop_last, lengths, self.pool)

    def _fingerprint(self) -> tuple[Any, ...]:
        """What distinguishes these batches from others."""
        return ("buckets", self.pool, _checksum(self.lengths))


class _Bucketed(Plain):
    def __init__(self, order: Order, batch_size: int, drop_last: bool, lengths: Any, pool: int):
        super().__init__(order, batch_size, drop_last)
        self._lengths, self._pool = lengths, pool

    def _examples(self, key: Words, epoch: int, batch: int) -> tuple[Any, Any]:
        whole = self._order.length // self._size
        if batch == whole:  # the rest
            return super()._examples(key, epoch, batch)
        number, inside = divmod(batch, self._pool)
        first = number * self._pool
        batches = min(self._pool, whole - first)
        begin, end = first * self._size, (first + batches) * self._size
        indices, occurrences = self._order.between(key, epoch, begin, end)
        by_length = np.argsort(self._lengths[indices], kind="stable")
        if self._order.is_random:
            pool_key = fold_in_words(epoch_key(key, FOR_POOLS, epoch), number)
            inside = int(permuted(pool_key, batches, inside, inside + 1)[0])
        chosen = by_length[inside * self._size : (inside + 1) * self._size]
        return indices[chosen], occurrences[chosen]


# Packing
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packing:
    """Rows of one length, filled with several sequences one after another.

    A batch is a dict: `"data"` has the packed arrays, of shape (rows, `length`), in the structure
    of one example; `"segments"` numbers the sequences of a row from 1, and is 0 where it is padded;
    `"positions"` counts from the beginning of each sequence.

    With `split` a sequence that does not fit goes on in the next row, and only the last row is
    padded. Without, each is whole: the sequences of a pool are fitted into as few rows as a best
    fit finds.

    Args:
        lengths: The length of each example, as an array or a list.
        length: The length of a row.
        split: Whether sequences are cut at the end of a row.
        pad: What the end of a row is filled up with.
        pool: How many sequences are fitted together, without `split`.

    >>> import numpy as np, trellis
    >>> texts = [np.array([1, 1, 1]), np.array([2, 2]), np.array([3, 3, 3])]
    >>> packing = trellis.data.Packing([3, 2, 3], length=4)
    >>> batch = next(iter(trellis.data.Loader(texts, 2, batching=packing)))
    >>> batch["data"].tolist()
    [[1, 1, 1, 2], [2, 3, 3, 3]]
    >>> batch["segments"].tolist()
    [[1, 1, 1, 2], [1, 2, 2, 2]]
    """

    lengths: Any
    length: int
    split: bool = True
    pad: float = 0
    pool: int = 256

    def _plan(self, order: Order, batch_size: int, drop_last: bool, examples: int) -> Plan:
        """Used by the loader."""
        check_arguments(Packing, self.__dict__)
        lengths = _checked_lengths(self.lengths, examples)
        if self.length < 1 or self.pool < 1:
            raise ArgumentError(
                f"length and pool must be at least 1, got {self.length} and {self.pool}."
            )
        longest = int(np.argmax(lengths))
        if not self.split and lengths[longest] > self.length:
            raise ArgumentError(
                f"Example {longest} has length {lengths[longest]}, which does not fit into a row "
                f"of {self.length}. Write split=True to cut it, or a larger length."
            )
        return _Packed(order, batch_size, drop_last, lengths, self)

    def _fingerprint(self) -> tuple[Any, ...]:
        """What distinguishes these batches from others."""
        return ("packing", self.length, self.split, self.pool, _checksum(self.lengths))


class _Packed(_Cut):
    def __init__(
        self, order: Order, batch_size: int, drop_last: bool, lengths: Any, options: Packing
    ):
        super().__init__(batch_size, drop_last)
        self._order, self._lengths, self._options = order, lengths, options
        self._known: tuple[Any, Any] = (None, None)

    def count(self, key: Words, epoch: int) -> int:
        return self._count(self._layout(key, epoch).rows)

    def rows(self, key: Words, epoch: int, batch: int) -> int:
        begin, end = self._span(self._layout(key, epoch).rows, batch)
        return end - begin

    def fill(
        self,
        key: Words,
        epoch: int,
        batch: int,
        begin: int,
        end: int,
        *,
        batch_of: Make,
        all_of: Make,
    ) -> Any:
        layout = self._layout(key, epoch)
        first, _ = self._span(layout.rows, batch)
        pieces = layout.pieces_of(first + begin, first + end)
        needed = np.unique(pieces["example"])
        found = dict(zip(needed.tolist(), all_of(needed, needed)))
        for index, example in found.items():
            self._check(index, example)
        return _packed(pieces, found, first + begin, end - begin, self._options)

    def _check(self, index: int, example: Any) -> None:
        for x in tree.leaves(example):
            if len(np.shape(x)) != 1 or len(x) != self._lengths[index]:
                raise ShapeError(
                    f"Example {index} should be a sequence of length {self._lengths[index]}, as "
                    f"lengths says, or several of them; it has an array of shape {np.shape(x)}."
                )

    def _layout(self, key: Words, epoch: int) -> "_Layout":
        """Where the sequences of an epoch go; that of the last one asked for is kept."""
        known = self._known
        if known[0] == (key, epoch):
            found: _Layout = known[1]
            return found
        indices, _ = self._order.between(key, epoch, 0, self._order.length)
        if self._options.split:
            layout = _split(indices, self._lengths[indices], self._options.length)
        else:
            pool_key = epoch_key(key, FOR_POOLS, epoch) if self._order.is_random else None
            layout = _fitted(indices, self._lengths[indices], self._options, pool_key)
        self._known = ((key, epoch), layout)
        return layout


_PIECE = np.dtype(
    [
        ("example", np.int64),
        ("start", np.int64),
        ("size", np.int64),
        ("row", np.int64),
        ("column", np.int64),
    ]
)


@dataclass
class _Layout:
    """The pieces of sequences, sorted by row and column."""

    pieces: Any
    rows: int

    def pieces_of(self, begin: int, end: int) -> Any:
        first, last = np.searchsorted(self.pieces["row"], [begin, end])
        return self.pieces[first:last]


def _split(indices: Any, lengths: Any, row: int) -> _Layout:
    """One sequence after the other, cut where a row ends."""
    ends = np.cumsum(lengths)
    total = int(ends[-1])
    starts = ends - lengths
    cuts = np.union1d(starts[lengths > 0], np.arange(0, total, row))
    which = np.searchsorted(ends, cuts, side="right")
    pieces = np.empty(len(cuts), _PIECE)
    pieces["example"] = indices[which]
    pieces["start"] = cuts - starts[which]
    pieces["size"] = np.append(cuts[1:], total) - cuts
    pieces["row"], pieces["column"] = cuts // row, cuts % row
    return _Layout(pieces, -(-total // row))


def _fitted(indices: Any, lengths: Any, options: Packing, key: Words | None) -> _Layout:
    """Whole sequences: the longest of a pool first, each into the fullest row that has room."""
    pieces = np.zeros(len(indices), _PIECE)
    pieces["example"], pieces["size"] = indices, lengths
    first_row = 0
    for number, begin in enumerate(range(0, len(indices), options.pool)):
        pool = pieces[begin : begin + options.pool]
        room: list[tuple[int, int]] = []  # what is left of each row, and the row; sorted
        rows = 0
        for i in np.argsort(-pool["size"], kind="stable").tolist():
            size = int(pool["size"][i])
            place = bisect_left(room, (size, -1))
            if place == len(room):
                left, row = options.length, rows
                rows += 1
            else:
                left, row = room.pop(place)
            pool["row"][i], pool["column"][i] = row, options.length - left
            insort(room, (left - size, row))
        if key is not None and rows:
            pool["row"] = permuted(fold_in_words(key, number), rows, 0, rows)[pool["row"]]
        pool["row"] += first_row
        first_row += rows
    pieces = pieces[pieces["size"] > 0]
    return _Layout(pieces[np.lexsort((pieces["column"], pieces["row"]))], first_row)


def _packed(pieces: Any, found: dict[int, Any], first: int, rows: int, options: Packing) -> Any:
    sample = next(iter(found.values()))
    flat = {index: tree.flatten(example)[0] for index, example in found.items()}
    leaves, structure = tree.flatten(sample)
    kinds = [
        np.result_type(*[np.asarray(x[i]).dtype for x in flat.values()]) for i in range(len(leaves))
    ]
    out = [np.full((rows, options.length), options.pad, kind) for kind in kinds]
    segments = np.zeros((rows, options.length), np.int32)
    positions = np.zeros((rows, options.length), np.int32)
    for example, start, size, row, column in pieces.tolist():
        place = (row - first, slice(column, column + size))
        for x, leaf in zip(out, flat[example]):
            x[place] = leaf[start : start + size]
        segments[place] = 1 + int(segments[row - first].max())
        positions[place] = np.arange(start, start + size)
    return {"data": tree.unflatten(structure, out), "segments": segments, "positions": positions}


# Helpers
# ---------------------------------------------------------------------------------------------


def _checked_lengths(lengths: Any, examples: int) -> Any:
    found = np.asarray(lengths)
    if found.shape != (examples,) or not np.issubdtype(found.dtype, np.integer):
        raise ArgumentTypeError(
            f"lengths needs one integer for each of the {examples} examples, got {found.dtype} of "
            f"shape {found.shape}."
        )
    found = found.astype(np.int64)
    if (found < 0).any() or not found.any():
        raise ArgumentError("lengths must not be negative, and not all of them zero.")
    return found


def _checksum(numbers: Any) -> int:
    return zlib.crc32(np.asarray(numbers).astype(np.int64).tobytes())
