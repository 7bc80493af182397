"""Where the time of a step goes."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

T = TypeVar("T")

_END = object()


class NoClock:
    """Where nobody asks."""

    def iterate(self, name: str, items: Iterable[T]) -> Iterable[T]:
        """The items."""
        return items

    def measure(self, name: str) -> AbstractContextManager[None]:
        """A block that is not measured."""
        return nullcontext()


class Clock:
    """Spans of time: (name, begin, length), in seconds since the clock was made."""

    def __init__(self, now: Callable[[], float] = time.perf_counter):
        self._now, self._start = now, now()
        self.spans: list[tuple[str, float, float]] = []

    def iterate(self, name: str, items: Iterable[T]) -> Iterator[T]:
        """The items; the time until each of them comes is measured."""
        iterator = iter(items)
        while True:
            begin = self._now()
            item = next(iterator, _END)
            if item is _END:
                return
            self._add(name, begin)
            yield item  # type: ignore[misc]

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure a block."""
        begin = self._now()
        try:
            yield
        finally:
            self._add(name, begin)

    def split(self, first: str, second: str, length: float) -> None:
        """Make two spans of the last one: the first is so long, or the whole of it."""
        _, begin, whole = self.spans.pop()
        length = min(length, whole)
        self.spans += [(first, begin, length), (second, begin + length, whole - length)]

    def _add(self, name: str, begin: float) -> None:
        self.spans.append((name, begin - self._start, self._now() - begin))
