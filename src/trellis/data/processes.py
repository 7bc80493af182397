"""Batches made by worker processes.

Processes are started by a fork server, or afresh where the system has none: forking a process in
which a framework runs threads may stop for ever. A worker knows the source and the plan, so that a
task is a few integers. The n-th batch comes from worker n modulo their number, and results are
received in order; no thread of this process takes part. Large arrays come through memory that is
shared with the worker, in a file without a name: nothing is left behind, however the processes end.

A worker ends when its connection is closed: by `close`, when the loader is freed, or when this
process dies.
"""

import mmap
import os
import signal
import tempfile
import weakref
from collections import deque
from collections.abc import Iterator
from multiprocessing import get_all_start_methods, get_context
from multiprocessing import reduction as handles
from typing import Any

import numpy as np

from .._core import tree
from .._core.errors import ArgumentTypeError, DataError
from .making import Maker, Task

_LEAST = 1 << 14  # bytes: smaller batches are quicker through the connection itself
_ALIGNED = 64
_PATIENCE = 1.0  # seconds that a worker has to end by itself
_SHARED_FOLDER = "/dev/shm"  # files that are only in memory, where there is such a folder


class Processes:
    """Worker processes, started with the first batch and kept until they are closed."""

    def __init__(self, make: Maker, count: int, depth: int):
        self._make, self._count, self._depth = make, count, depth
        self._workers: list[_Worker] = []
        self._finish: Any = None
        self._user: object = None

    def made(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Any]]:
        waiting: deque[tuple[int, Task]] = deque()
        mine = object()

        def claim() -> list[_Worker]:
            """The workers; if another iteration has used them since, what is waiting is asked for
            again."""
            workers = self._started()
            if self._user is not mine:
                for worker in workers:
                    worker.drain()
                self._user = mine
                for number, task in waiting:
                    workers[number % self._count].send(task)
            return workers

        def first() -> tuple[Task, Any]:
            workers = claim()
            number, task = waiting.popleft()
            return task, workers[number % self._count].received(task)

        try:
            for number, task in enumerate(tasks):
                # Examples of a stream travel too: then a worker must have nothing else to send, or
                # both could wait for each other.
                limit = self._count * (self._depth if task.examples is None else 1)
                if len(waiting) == limit:
                    yield first()
                claim()[number % self._count].send(task)
                waiting.append((number, task))
            while waiting:
                yield first()
        except _Ended:
            self.close()
            raise

    def _started(self) -> "list[_Worker]":
        if not self._workers:
            self._finish = weakref.finalize(self, _end, self._workers)
            try:
                # All of them first, so that the processes start at the same time.
                for _ in range(self._count):
                    self._workers.append(_Worker(self._depth))
                for worker in self._workers:
                    worker.learn(self._make)
            except BaseException:
                self.close()
                raise
        return self._workers

    def close(self) -> None:
        """End the processes; a later batch starts new ones."""
        if self._finish is not None:
            self._finish()
        self._workers, self._finish, self._user = [], None, None


def _end(workers: "list[_Worker]") -> None:
    for worker in workers:
        worker.connection.close()
    for worker in workers:
        worker.end()


class _Ended(DataError):
    """A worker process is not there any more."""


def _ended(doing: str, why: str) -> _Ended:
    return _Ended(
        f"A worker process ended while it {doing} ({why}). A program that starts processes "
        'has its statements below `if __name__ == "__main__":`, as each process imports it.'
    )


class _Worker:
    """A worker process as seen from here."""

    def __init__(self, depth: int):
        method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
        context: Any = get_context(method)
        self.connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs,), daemon=True, name="trellis-data"
        )
        try:
            self._process.start()
        except (EOFError, OSError) as error:
            # Python 3.14 asks a new process for a password, which one that ends never gives.
            self.connection.close()
            raise _ended("was started", repr(error)) from None
        finally:
            theirs.close()
        self._depth = depth
        self._asked = 0  # tasks without a result
        self._memory: _Memory | None = None

    def learn(self, make: Maker) -> None:
        try:
            self.connection.send(make)
        except OSError:
            raise self._ended("was started") from None
        except Exception as error:
            raise ArgumentTypeError(
                "Worker processes need a source and functions that can be pickled, and these "
                f"cannot: {error} Define functions and classes at the top of a file, not inside "
                'others and not as a lambda, or pass Loader(..., worker_kind="thread").'
            ) from error

    def send(self, task: Task) -> None:
        try:
            self.connection.send(task)
        except OSError:
            raise self._ended(f"got batch {task.batch}") from None
        self._asked += 1

    def received(self, task: Task) -> Any:
        answer = self._answer(f"made batch {task.batch} of epoch {task.epoch}")
        if isinstance(answer, _Failure):
            raise DataError(f"{answer.message}\n\n{answer.traceback}") from None
        batch, size = answer
        if self._memory is not None:
            batch = self._memory.read(batch)
        elif size >= _LEAST:
            self._share(size)
        return batch

    def drain(self) -> None:
        """Receive what an iteration that was given up had asked for."""
        while self._asked:
            self._answer("made a batch")

    def _answer(self, doing: str) -> Any:
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            raise self._ended(doing) from None
        self._asked -= 1
        return answer

    def _share(self, size: int) -> None:
        """Share memory with the worker, now that the size of a batch is known. Larger batches, and
        all where there is too little memory to share, come through the connection."""
        try:
            self._memory = _Memory.new(size + size // 4, self._depth)
        except OSError:
            return
        self.connection.send(("memory", self._memory.size, self._depth))
        handles.send_handle(self.connection, self._memory.handle, self._process.pid)
        self._memory.forget()

    def _ended(self, doing: str) -> _Ended:
        self._process.join(5)
        code = self._process.exitcode
        return _ended(
            doing, f"exit code {code}; -9 means that it was killed, often for want of memory"
        )

    def end(self) -> None:
        self._process.join(_PATIENCE)
        if self._process.is_alive():  # in a map that does not return
            self._process.kill()
            self._process.join()
        self._process.close()


# Shared memory
# ---------------------------------------------------------------------------------------------


class _There:
    """An array in shared memory."""

    def __init__(self, offset: int, shape: tuple[int, ...], dtype: Any):
        self.offset, self.shape, self.dtype = offset, shape, dtype


class _Memory:
    """Memory that two processes share: room for `count` batches of `size` bytes."""

    def __init__(self, handle: int, size: int, count: int):
        self.handle, self.size, self._count = handle, size, count
        self._map = mmap.mmap(handle, size * count)
        self._used = 0

    @classmethod
    def new(cls, size: int, count: int) -> "_Memory":
        folder = _SHARED_FOLDER if os.path.isdir(_SHARED_FOLDER) else None
        with tempfile.TemporaryFile(dir=folder) as file:
            # Memory is set aside now: a full folder is an error here, not a crash at the first use.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size * count)
            else:
                os.truncate(file.fileno(), size * count)
            return cls(os.dup(file.fileno()), size, count)

    def forget(self) -> None:
        """Close the handle; the memory stays as long as it is mapped."""
        os.close(self.handle)

    def write(self, batch: Any, skip: bool) -> Any:
        """Move the arrays of a batch into the next place, if they fit."""
        place = self._used % self._count * self.size
        self._used += 1
        if skip:
            return batch
        end = place + self.size

        def moved(x: Any) -> Any:
            nonlocal place
            if not isinstance(x, np.ndarray) or x.dtype.hasobject or place + x.nbytes > end:
                return x
            there = _There(place, x.shape, x.dtype)
            self._view(there)[...] = x
            place += -(-x.nbytes // _ALIGNED) * _ALIGNED
            return there

        return tree.map(moved, batch)

    def read(self, batch: Any) -> Any:
        """Copies of the arrays: their place is used again."""
        return tree.map(lambda x: np.array(self._view(x)) if isinstance(x, _There) else x, batch)

    def _view(self, there: _There) -> Any:
        size = int(np.prod(there.shape, dtype=np.int64)) * there.dtype.itemsize
        flat = np.frombuffer(self._map, np.uint8, size, there.offset)
        return (
            flat.view(there.dtype).reshape(there.shape)
            if size
            else np.empty(there.shape, there.dtype)
        )


# In the worker
# ---------------------------------------------------------------------------------------------


class _Failure:
    """An error of a worker, in words: the error itself may not be picklable."""

    def __init__(self, error: BaseException):
        from traceback import format_exception

        cause = error.__cause__ or error
        self.message = (
            str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        )
        self.traceback = "In the worker process:\n" + "".join(format_exception(cause))


def _work(connection: Any) -> None:
    """What a worker process does."""
    # An interrupt from the keyboard reaches all processes; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Several workers with all threads of a framework each would be in each other's way; and
    # TensorFlow announces itself in each process.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    make: Any = None
    failure: _Failure | None = None
    try:
        make = connection.recv()
    except EOFError:
        return
    except Exception as error:
        failure = _Failure(error)
    memory: _Memory | None = None
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        if isinstance(task, tuple) and task[0] == "memory":
            handle = handles.recv_handle(connection)
            memory = _Memory(handle, task[1], task[2])
            memory.forget()
            continue
        answer: Any = failure
        if failure is None:
            try:
                batch = tree.map(_on_host, make(task))
                size = sum([_size(x) for x in tree.leaves(batch)])
                if memory is not None:
                    batch = memory.write(batch, size < _LEAST)
                answer = (batch, size)
            except Exception as error:
                answer = _Failure(error)
        try:
            connection.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:  # a batch that cannot be pickled
            connection.send(_Failure(error))


def _size(x: Any) -> int:
    return -(-x.nbytes // _ALIGNED) * _ALIGNED if isinstance(x, np.ndarray) else 0


def _on_host(x: Any) -> Any:
    """Arrays of frameworks as NumPy arrays, which can be moved between processes."""
    if isinstance(x, np.ndarray) or not (hasattr(x, "dtype") and hasattr(x, "shape")):
        return x
    from .._array.interchange import to_numpy

    return to_numpy(x)
