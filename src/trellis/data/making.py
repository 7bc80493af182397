"""Makes the batch of a task: reads examples, maps them and joins them; in any thread or process."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._core import tree
from .._core.dispatch import current_backend, using_backend
from .._core.dtypes import default_dtype, using_default_dtype
from .._core.errors import DataError
from .._core.threefry import MASK, Words, fold_in_words, threefry
from .._core.typing import Array, Backend, Device
from .._random.stream import stream
from .batching import Plan
from .collating import Pad, collated
from .order import FOR_EXAMPLES, epoch_key
from .sources import Arrays


class Task(NamedTuple):
    """Rows of a batch; those of a stream come with their examples."""

    key: Words
    epoch: int
    batch: int
    begin: int
    end: int
    examples: list[tuple[int, Any]] | None = None


class Maker:
    """From a task to a batch of NumPy arrays."""

    def __init__(
        self,
        source: Any,
        plan: Plan | None,
        map: Callable[[Any], Any] | None,
        collate: Callable[[list[Any]], Any] | None,
        pad: Pad,
        is_batched: bool,
    ):
        self._source, self._plan = source, plan
        self._map, self._collate, self._pad = map, collate, pad
        # Threads and processes do not know the defaults of the caller.
        self._backend, self._float_type = current_backend(), str(default_dtype())
        self._is_batched = is_batched
        self._is_whole = (
            map is None and collate is None and not is_batched and isinstance(source, Arrays)
        )

    def __call__(self, task: Task) -> Any:
        if task.begin < task.end:
            return self._rows(task, task.begin, task.end)
        # A rank without rows still gets arrays of the right types, with no rows.
        return without_rows(self._rows(task, 0, 1))

    def _rows(self, task: Task, begin: int, end: int) -> Any:
        if task.examples is not None:
            numbers = [number for number, _ in task.examples]
            examples = [example for _, example in task.examples]
            return self._joined(self._mapped(task, numbers, numbers, examples))

        def all_of(indices: Any, occurrences: Any) -> list[Any]:
            numbers = indices.tolist()
            return self._mapped(task, numbers, occurrences.tolist(), self._read(task, numbers))

        def batch_of(indices: Any, occurrences: Any) -> Any:
            if self._is_whole:
                return self._source.take(indices)
            return self._joined(all_of(indices, occurrences))

        assert self._plan is not None, "only streams have none"
        return self._plan.fill(
            task.key, task.epoch, task.batch, begin, end, batch_of=batch_of, all_of=all_of
        )

    def _read(self, task: Task, indices: list[int]) -> list[Any]:
        source = self._source
        if hasattr(source, "__getitems__"):  # torch's name for a dataset that reads several at once
            try:
                return list(source.__getitems__(indices))
            except Exception:  # one by one, to find out which
                pass
        found = []
        for index in indices:
            try:
                found.append(source[index])
            except Exception as error:
                raise _failed(task, index, "read", error) from error
        return found

    def _mapped(
        self, task: Task, indices: list[int], occurrences: list[int], examples: list[Any]
    ) -> list[Any]:
        if self._map is None:
            return examples
        draws = _Draws(epoch_key(task.key, FOR_EXAMPLES, task.epoch))
        found = []
        with draws, using_backend(self._backend), using_default_dtype(self._float_type):
            for index, occurrence, example in zip(indices, occurrences, examples):
                draws.begin(occurrence)
                try:
                    found.append(self._map(example))
                except Exception as error:
                    raise _failed(task, index, "mapped", error) from error
        return found

    def _joined(self, examples: list[Any]) -> Any:
        if self._is_batched:
            return examples[0]
        if self._collate is not None:
            return self._collate(examples)
        return collated(examples, self._pad, self._float_type)


class _Draws(stream):
    """Keys for draws while examples are mapped. They depend on the key of the epoch and on the
    example, not on what was mapped before it or in which process."""

    def __init__(self, key: Words):
        super().__init__(0)
        self._epoch_key, self._example = key, 0

    def begin(self, example: int) -> None:
        self._example, self._count = example, 0

    def _next(self, xp: Backend, device: Device | None) -> Words | Array:
        count = self._count
        self._count = count + 1
        number = self._example
        return fold_in_words(threefry(self._epoch_key, (number >> 32, number & MASK)), count)


def without_rows(batch: Any) -> Any:
    """A batch like this one, with no rows."""
    if isinstance(batch, list) and batch and isinstance(batch[0], (str, bytes)):
        return []
    if isinstance(batch, dict):
        return {name: without_rows(x) for name, x in batch.items()}
    if type(batch) in (list, tuple):
        return type(batch)([without_rows(x) for x in batch])
    return tree.map(lambda x: x[:0], batch)


def _failed(task: Task, index: int, what: str, error: Exception) -> DataError:
    return DataError(
        f"Example {index} of the data, in batch {task.batch} of epoch {task.epoch}, could not be "
        f"{what}: {type(error).__name__}: {error}"
    )
