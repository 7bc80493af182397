"""The loader: batches whose order is a function of a few integers."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal

import numpy as np

from .._core import tree
from .._core.dispatch import current_backend, load
from .._core.errors import ArgumentError, ArgumentTypeError, DataError
from .._core.kinds import check_arguments, shown
from .._core.threefry import Words, seed_words
from .._random.stream import key_words, next_key
from .batching import Buckets, Packing, Plain, Plan
from .making import Maker, Task, without_rows
from .order import InOrder, Order, Shuffled, Weighted
from .placing import Target
from .sharding import share
from .sources import Source, Stream, as_source
from .workers import NoWorkers, Threads, Workers

# From the number of rows of a batch to the first that is wanted and the one after the last.
Cut = Callable[[int], tuple[int, int]]
_STATE = ("epoch", "batch", "seed", "examples", "batch_size", "plan")


class Loader:
    """Batches of data, shuffled by a key, whose whole state is six integers.

    The n-th batch of an epoch depends only on the data, the seed and the options that say how
    batches are formed. It does not depend on workers, ranks or the framework. A run that was killed
    goes on exactly where its last stored `state` was, also with other numbers of those.

    `data` are one of

    - arrays, or a tuple or dict of them: an example is a row of each;
    - a list, `Lines`, `Images`, `MemoryMapped`, a torch Dataset, any object with `__len__` and
      `__getitem__`: examples are its elements;
    - a stream: an iterable, a function that returns one, a torch IterableDataset, a
      tf.data.Dataset. It is read in order; to go on in the middle of an epoch, what was used before
      is read again, unless the data have a method `skip`. It must give the same examples each time.

    Iterating gives what is left of the current epoch; then the next one is the current one. Draws
    in `map` that name no seed (`trellis.random_uniform(shape=2)`) depend on the seed, the epoch and
    the example alone.

    Args:
        data: What the examples are read from, as above.
        batch_size: The number of examples, or packed rows, of a batch over all ranks. None: the
            elements of `data` are batches already.
        shuffle: Whether each epoch has another order. A number shuffles only within blocks of so
            many examples, for streams, and for files that are read faster in order.
        seed: An integer or a key; without one it comes from `trellis.seed`.
        drop_last: Whether a smaller last batch is left out.
        weights: One number for each example: examples are drawn with replacement, each as often as
            its weight says.
        examples_per_epoch: How many examples are drawn with `weights`; as many as there are if
            None.
        batching: `Buckets` for batches of similar lengths, `Packing` for packed sequences.
        pad: What shorter arrays of a batch are filled up with; if None they raise.
        map: A function of one example, applied to each.
        collate: A function from the list of the examples of a batch to the batch, in place of
            stacking arrays.
        workers: How many threads or processes read, map and stack examples; 0: the caller.
        worker_kind: `"thread"`, or `"process"` for a `map` that is written in Python.
        prefetch: How many batches each worker is ahead.
        rank: Which share of each batch is given.
        ranks: Into how many shares each batch is cut.
        backend: The framework of the batches; the default backend if None.
        device: The device of the batches.

    >>> import numpy as np, trellis
    >>> x, y = np.arange(10.0), np.arange(10)
    >>> loader = trellis.data.Loader((x, y), 4, shuffle=True, seed=0)
    >>> len(loader), loader.batch(0)[1]
    (3, array([0, 8, 4, 5]))
    >>> batches = iter(loader)
    >>> _ = next(batches)
    >>> state = loader.state
    >>> again = trellis.data.Loader((x, y), 4, shuffle=True)
    >>> again.load_state(state)
    >>> bool((next(iter(again))[1] == next(batches)[1]).all())
    True
    """

    def __init__(
        self,
        data: Any,
        batch_size: int | None = 1,
        *,
        shuffle: bool | int = False,
        seed: Any = None,
        drop_last: bool = False,
        weights: Any = None,
        examples_per_epoch: int | None = None,
        batching: Any = None,
        pad: float | None = None,
        map: Callable[[Any], Any] | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
        workers: int = 0,
        worker_kind: Literal["thread", "process"] = "thread",
        prefetch: int = 2,
        rank: int = 0,
        ranks: int = 1,
        backend: str | None = None,
        device: Any = None,
    ):
        check_arguments(Loader.__init__, locals())
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("shuffle", shuffle, 0),
            ("examples_per_epoch", examples_per_epoch, 1),
            ("workers", workers, 0),
            ("prefetch", prefetch, 1),
            ("ranks", ranks, 1),
        ):
            if value is not None and value < least:
                raise ArgumentError(f"{name} must be at least {least}, got {value}.")
        if not 0 <= rank < ranks:
            raise ArgumentError(f"rank must be from 0 to {ranks - 1}, as ranks is {ranks}: {rank}.")
        words = key_words(next_key(load("numpy")) if seed is None else seed)
        if words is None:
            raise ArgumentTypeError("A loader needs a seed whose value is known, not a traced one.")
        self._key: Words = words
        self._epoch = self._batch = 0
        self._batch_size, self._rank, self._ranks = batch_size, rank, ranks
        # True, False, or the size of a block; 1 is equal to True.
        self._shuffle = bool(shuffle) if isinstance(shuffle, bool) or shuffle == 0 else int(shuffle)
        self._drop_last = drop_last
        self._is_weighted = weights is not None
        self._source = as_source(data)
        self._is_stream = isinstance(self._source, Stream)
        self._examples = -1 if self._is_stream else len(self._source)
        if self._examples == 0:
            raise ArgumentError("The data are empty.")
        self._plan = self._planned(weights, examples_per_epoch, batching)
        self._fingerprint = self._fingerprint_of(weights, examples_per_epoch, batching)
        target = load(backend if backend is not None else current_backend())
        self._target = Target(target.NAME, device, None, is_cast=True)
        self._make = Maker(
            None if self._is_stream else self._source,
            self._plan,
            map,
            collate,
            pad,
            is_batched=batch_size is None,
        )
        self._workers = _workers(self._make, workers, worker_kind, prefetch)

    # How batches are formed
    # ---------------------------------------------------------------------------------------

    def _planned(self, weights: Any, count: int | None, batching: Any) -> Plan | None:
        if weights is not None and self._shuffle:
            raise ArgumentError(
                "weights draws examples at random already: leave out shuffle, or weights."
            )
        if count is not None and weights is None:
            raise ArgumentError("examples_per_epoch is for weights, which is not given.")
        if self._is_stream:
            self._check_stream(weights, batching)
            return None
        order: Order = InOrder(self._examples)
        if weights is not None:
            order = Weighted(weights, self._examples, count)
        elif self._shuffle is not False:
            window = None if self._shuffle is True else self._shuffle
            order = Shuffled(self._examples, window)
        size = 1 if self._batch_size is None else self._batch_size
        if batching is not None:
            if not isinstance(batching, (Buckets, Packing)):
                raise ArgumentTypeError(
                    f"batching is data.Buckets or data.Packing, got {shown(batching)}."
                )
            if self._batch_size is None or weights is not None:
                raise ArgumentError("batching needs a batch_size, and no weights.")
            return batching._plan(order, size, self._drop_last, self._examples)
        if self._drop_last and size > order.length:
            raise ArgumentError(
                f"drop_last leaves nothing: batch_size is {size}, the data have {order.length} "
                "examples."
            )
        return Plain(order, size, self._drop_last)

    def _check_stream(self, weights: Any, batching: Any) -> None:
        if weights is not None or batching is not None:
            raise ArgumentError(
                "weights and batching need data with a length, whose examples can be read in any "
                "order; these are a stream."
            )
        if self._shuffle is True:
            raise ArgumentError(
                "A stream is read in order: say within how many examples it is shuffled, for "
                "example shuffle=10_000; they are kept in memory."
            )
        if self._batch_size is None and self._shuffle:
            raise ArgumentError("A stream of batches (batch_size=None) is not shuffled.")

    def _fingerprint_of(self, weights: Any, count: int | None, batching: Any) -> int:
        """A number that differs where batches are formed otherwise."""
        facts = [bool(self._drop_last), int(self._shuffle), type(self._shuffle) is bool, count]
        if weights is not None:
            facts.append(zlib.crc32(np.asarray(weights, np.float64).tobytes()))
        if batching is not None:
            facts.append(batching._fingerprint())
        return zlib.crc32(repr(facts).encode())

    # The state
    # ---------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The current epoch, from 0."""
        return self._epoch

    @property
    def position(self) -> int:
        """How many batches of the current epoch were given."""
        return self._batch

    @property
    def state(self) -> dict[str, int]:
        """Where the loader is: after the last batch that it gave, not after those made ahead.

        Six integers: `epoch`, `batch` and `seed` say which batch is next; `examples`, `batch_size`
        and `plan` are compared by `load_state`.
        """
        return self.state_at(self._epoch, self._batch)

    def state_at(self, epoch: int, batch: int) -> dict[str, int]:
        """The state before a batch of an epoch, for loops that count themselves.

        Args:
            epoch: The epoch, from 0.
            batch: The number of the batch, from 0.
        """
        values = (
            epoch,
            batch,
            self._key[0] << 32 | self._key[1],
            self._examples,
            0 if self._batch_size is None else self._batch_size,
            self._fingerprint,
        )
        return dict(zip(_STATE, values))

    def load_state(self, state: Mapping[str, int]) -> None:
        """Go to a state, also one that a loader with other workers, ranks or backend had.

        Args:
            state: What `state` gave, for the same data and the same way of forming batches.
        """
        if not isinstance(state, Mapping) or set(state) != set(_STATE):
            raise ArgumentError(
                f"A state has the entries {', '.join(_STATE)}, got "
                f"{', '.join(map(str, state)) if isinstance(state, Mapping) else shown(state)}."
            )
        for name, value in state.items():
            if not isinstance(value, int) or isinstance(value, bool):
                raise ArgumentTypeError(f"{name} of a state is an integer, got {shown(value)}.")
        mine = self.state
        for name, what in (
            ("examples", "data of another length"),
            ("batch_size", "another batch_size"),
            ("plan", "another shuffle, drop_last, weights or batching"),
        ):
            if state[name] != mine[name]:
                raise ArgumentError(
                    f"This state is of a loader with {what}: {name} is {state[name]} there and "
                    f"{mine[name]} here. Its batches cannot be continued exactly."
                )
        epoch, batch, seed = state["epoch"], state["batch"], state["seed"]
        if epoch < 0 or batch < 0 or not 0 <= seed < 2**64:
            raise ArgumentError(f"A state has no negative numbers, got {dict(state)}.")
        self._key = seed_words(seed)
        self.go_to(epoch, batch)

    def go_to(self, epoch: int, batch: int = 0) -> None:
        """Make a batch the next one.

        Args:
            epoch: The epoch, from 0.
            batch: The number of the batch, from 0; the number of batches means the next epoch.
        """
        check_arguments(Loader.go_to, locals())
        count = self._count(epoch)
        if epoch < 0 or batch < 0 or (count is not None and batch > count):
            raise ArgumentError(f"There is no batch {batch} in epoch {epoch}.")
        if batch == count:
            epoch, batch = epoch + 1, 0
        self._epoch, self._batch = epoch, batch

    # Batches
    # ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        count = self._count(self._epoch)
        if count is None:
            raise TypeError("The length of a stream is not known.")
        return count

    @property
    def is_random(self) -> bool:
        """Whether the order of the examples is not that of the data."""
        return self._is_weighted or self._shuffle is not False

    @property
    def ranks(self) -> int:
        """Into how many shares each batch is cut."""
        return self._ranks

    def __iter__(self) -> Iterator[Any]:
        epoch, first = self._epoch, self._batch
        count = self._count(epoch)
        number = first
        for _, batch in self.host_batches(epoch, first):
            if (self._epoch, self._batch) != (epoch, number):
                raise DataError(
                    "The loader was moved while it was iterated over, by another iteration or by "
                    "load_state(): finish or leave one loop before the next."
                )
            number += 1
            self._epoch, self._batch = (epoch + 1, 0) if number == count else (epoch, number)
            yield self._target(batch)
        if count is None:
            self._epoch, self._batch = epoch + 1, 0

    def batch(self, number: int, *, epoch: int | None = None) -> Any:
        """A batch of the current epoch, or of another, without moving the loader.

        Args:
            number: The number of the batch, from 0.
            epoch: The epoch, from 0; the current one if None.
        """
        check_arguments(Loader.batch, locals())
        epoch = self._epoch if epoch is None else epoch
        count = self._count(epoch)
        if number < 0 or (count is not None and number >= count):
            raise ArgumentError(f"There is no batch {number} in epoch {epoch}.")
        tasks = islice(self._tasks(epoch, number, self._share), 1)
        for task, total in tasks:
            return self._target(self._cut_out(self._make(task), total, self._share))
        raise ArgumentError(f"There is no batch {number} in epoch {epoch}: the stream is shorter.")

    def host_batches(
        self, epoch: int, first: int = 0, *, cut: Cut | None = None
    ) -> Iterator[tuple[int, Any]]:
        """The batches of an epoch from a number on, as NumPy arrays, with the number of rows that
        all ranks have together. The loader is not moved.

        Args:
            epoch: The epoch, from 0.
            first: The number of the first batch.
            cut: From the number of rows of a batch to the first row that is wanted and the one
                after the last; the share of the rank if None.
        """
        chosen = self._share if cut is None else cut
        totals: list[int] = []

        def tasks() -> Iterator[Task]:
            for task, total in self._tasks(epoch, first, chosen):
                totals.append(total)
                yield task

        for _, batch in self._workers.made(tasks()):
            total = totals.pop(0)
            if self._batch_size is None:
                total = _rows_of(batch)
            yield total, self._cut_out(batch, total, chosen)

    def _share(self, rows: int) -> tuple[int, int]:
        return share(rows, self._rank, self._ranks)

    def _cut_out(self, batch: Any, total: int, cut: Cut) -> Any:
        """The share of a batch that came as a whole; others were cut before they were read."""
        if self._batch_size is not None:
            return batch
        total = _rows_of(batch)
        begin, end = cut(total)
        if (begin, end) == (0, total):
            return batch
        if begin == end:
            return without_rows(batch)
        return tree.map(lambda x: x[begin:end] if len(getattr(x, "shape", ())) else x, batch)

    def _count(self, epoch: int) -> int | None:
        return None if self._plan is None else self._plan.count(self._key, epoch)

    def _tasks(self, epoch: int, first: int, cut: Cut) -> Iterator[tuple[Task, int]]:
        """What has to be made, and the rows of the whole batch."""
        key = self._key
        if self._plan is None:
            yield from self._stream_tasks(key, epoch, first, cut)
            return
        for number in range(first, self._plan.count(key, epoch)):
            rows = self._plan.rows(key, epoch, number)
            begin, end = cut(rows) if self._batch_size is not None else (0, rows)
            yield Task(key, epoch, number, begin, end), rows

    def _stream_tasks(
        self, key: Words, epoch: int, first: int, cut: Cut
    ) -> Iterator[tuple[Task, int]]:
        size = 1 if self._batch_size is None else self._batch_size
        examples = _in_windows(self._source, key, epoch, first * size, int(self._shuffle))
        number = first
        while True:
            batch = list(islice(examples, size))
            if not batch or (self._drop_last and len(batch) < size):
                return
            begin, end = cut(len(batch)) if self._batch_size is not None else (0, 1)
            chosen = batch[begin:end] or batch[:1]
            yield Task(key, epoch, number, begin, end, chosen), len(batch)
            number += 1

    # The end
    # ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """End worker processes; they end by themselves when the loader is not used any more."""
        self._workers.close()

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        examples = "a stream" if self._is_stream else f"{self._examples} examples"
        return (
            f"Loader({examples}, batch_size={self._batch_size}, at batch {self._batch} of epoch "
            f"{self._epoch})"
        )


def _workers(make: Maker, count: int, kind: str, depth: int) -> Workers:
    if count == 0:
        return NoWorkers(make)
    if kind == "thread":
        return Threads(make, count, depth)
    from .processes import Processes

    return Processes(make, count, depth)


def _rows_of(batch: Any) -> int:
    for x in tree.leaves(batch):
        if len(getattr(x, "shape", ())):
            return int(x.shape[0])
    return 1


def _in_windows(
    source: Source, key: Words, epoch: int, start: int, window: int
) -> Iterator[tuple[int, Any]]:
    """The examples of a stream with their numbers, from position `start` on; with a window, each
    block of so many is shuffled."""
    if not window:
        yield from enumerate(source.examples(start), start)
        return
    block, inside = divmod(start, window)
    stream = iter(source.examples(block * window))
    while True:
        found = list(islice(stream, window))
        if not found:
            return
        begin = block * window
        order, _ = (
            Shuffled(begin + len(found), window).between(
                key, epoch, begin + inside, begin + len(found)
            )
            if inside < len(found)
            else (np.empty(0, np.int64), None)
        )
        for number in order.tolist():
            yield number, found[number - begin]
        block, inside = block + 1, 0
