"""Who makes the batches: the caller itself, threads, or processes. All give them in order."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from .making import Task

Make = Callable[[Task], Any]


class Workers(Protocol):
    """Makes batches ahead of time."""

    def made(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Any]]:
        """The batches of these tasks, in their order."""

    def close(self) -> None:
        """End what was started."""


class NoWorkers:
    """Each batch is made when it is asked for."""

    def __init__(self, make: Make):
        self._make = make

    def made(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Any]]:
        for task in tasks:
            yield task, self._make(task)

    def close(self) -> None:
        """Nothing was started."""


class Threads:
    """Batches made by threads of this process, `depth` of them ahead for each thread."""

    def __init__(self, make: Make, count: int, depth: int):
        self._make, self._count, self._depth = make, count, depth

    def made(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Any]]:
        with ThreadPoolExecutor(self._count, "trellis-data") as pool:
            waiting: deque[tuple[Task, Any]] = deque()
            try:
                for task in tasks:
                    waiting.append((task, pool.submit(self._make, task)))
                    if len(waiting) > self._count * self._depth:
                        first, future = waiting.popleft()
                        yield first, future.result()
                while waiting:
                    first, future = waiting.popleft()
                    yield first, future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """Its threads end with the iteration."""
