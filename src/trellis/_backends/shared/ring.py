"""Collectives over host arrays between processes of one machine, without a listening socket.

`trellis run` connects every rank with the next one by a pair of Unix sockets, before it starts
them. For a framework whose own engine would listen on all network interfaces.
"""

import atexit
import select
import socket
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..._core.errors import DistributedError
from .distributed import Place

_PIECE = 1 << 18  # bytes of a broadcast that are passed on at a time
_BUFFER = 1 << 20  # of a socket; the kernel may give less
_REDUCE: dict[str, Callable[..., Any]] = {"sum": np.add, "max": np.maximum, "min": np.minimum}
_HEADER = struct.Struct("<16sqqq")  # what, its detail, the length in bytes, how many calls before


class Ring:
    """Every rank sends to the next one and receives from the one before. Calls are numbered: ranks
    that make different ones raise instead of mixing their bytes.
    """

    def __init__(self, rank: int, size: int, descriptors: tuple[int, int]):
        self._rank, self._size = rank, size
        self.timeout = 0.0  # seconds of silence
        self._before, self._next = [socket.socket(fileno=each) for each in descriptors]
        self._calls, self._fault = 0, ""
        for each in (self._before, self._next):
            each.set_inheritable(False)  # what a rank starts is none of the ring's business
            each.setblocking(False)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)

    def all_reduce(self, x: Any, op: str) -> Any:
        """Bitwise the same on all ranks: each part is summed once and passed around."""
        sent, kind = _exact(x)
        found = sent.copy()
        parts = np.array_split(found, self._size)
        self._begin("all_reduce", list(_REDUCE).index(op), found.nbytes)
        for step in range(self._size - 1):
            mine = parts[(self._rank - step) % self._size]
            theirs = parts[(self._rank - step - 1) % self._size]
            arrived = np.empty_like(theirs)
            self._exchange(mine, arrived)
            _REDUCE[op](theirs, arrived, out=theirs)
        for step in range(self._size - 1):
            mine = parts[(self._rank + 1 - step) % self._size]
            self._exchange(mine, parts[(self._rank - step) % self._size])
        return found.astype(kind, copy=False)

    def broadcast(self, x: Any, root: int) -> Any:
        found = np.array(x, copy=True)
        self._begin("broadcast", root, found.nbytes)
        data = found.view(np.uint8)
        nothing = data[:0]
        takes, gives = self._rank != root, (self._rank + 1) % self._size != root
        ready = nothing  # arrived, and not yet passed on
        for begin in range(0, len(data), _PIECE):
            piece = data[begin : begin + _PIECE]
            if takes:
                self._exchange(ready if gives else nothing, piece)
                ready = piece
            else:
                self._exchange(piece, nothing)
        if takes and gives:
            self._exchange(ready, nothing)
        return found

    def all_gather(self, x: Any) -> Any:
        sent = np.ascontiguousarray(x)
        found = np.empty((self._size, *sent.shape), sent.dtype)
        found[self._rank] = sent
        self._begin("all_gather", 0, sent.nbytes)
        for step in range(self._size - 1):
            mine = found[(self._rank - step) % self._size]
            self._exchange(mine, found[(self._rank - step - 1) % self._size])
        return found

    def close(self) -> None:
        for each in (self._before, self._next):
            each.close()

    def _begin(self, what: str, detail: int, length: int) -> None:
        """Compare with the rank before: both must make the same call."""
        if self._fault:
            raise DistributedError(f"an earlier collective failed: {self._fault}")
        header = _HEADER.pack(what.encode(), detail, length, self._calls)
        self._calls += 1
        arrived = np.empty(_HEADER.size, np.uint8)
        self._exchange(np.frombuffer(header, np.uint8), arrived)
        if arrived.tobytes() != header:
            other, _, their_length, count = _HEADER.unpack(arrived.tobytes())
            raise self._failure(
                f"the rank before makes the call {other.rstrip(bytes(1)).decode()}() of "
                f"{their_length} bytes as its {count + 1}-th, this one {what}() of {length} bytes "
                f"as its {self._calls}-th"
            )

    def _exchange(self, given: Any, taken: Any) -> None:
        """Send one array and fill another, at the same time: both neighbours may be sending."""
        out = memoryview(given).cast("B") if given.size else memoryview(b"")
        into = memoryview(taken).cast("B") if taken.size else memoryview(b"")
        while out or into:
            waiting = select.poll()
            if into:
                waiting.register(self._before, select.POLLIN)
            if out:
                waiting.register(self._next, select.POLLOUT)
            ready = [descriptor for descriptor, _ in waiting.poll(1000 * self.timeout)]
            if not ready:
                raise self._failure(f"no answer within {self.timeout:g} seconds")
            try:
                if self._before.fileno() in ready:
                    count = self._before.recv_into(into)
                    if not count:
                        raise self._failure("the rank before this one has ended")
                    into = into[count:]
                if self._next.fileno() in ready:
                    out = out[self._next.send(out) :]
            except OSError as error:
                raise self._failure(f"a neighbour has ended: {error}") from error

    def _failure(self, why: str) -> DistributedError:
        """After this the ranks no longer agree where a message begins."""
        self._fault = why
        return DistributedError(why)


def _exact(x: Any) -> tuple[Any, Any]:
    """16-bit floats are added in 32 bits and rounded once."""
    is_short = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
    return np.ascontiguousarray(x, np.float32 if is_short else None), x.dtype


@lru_cache(None)
def _ring(rank: int, size: int, descriptors: tuple[int, int]) -> Ring:
    # Once: the sockets stay open until the process ends, and a later `init` uses the same ones.
    found = Ring(rank, size, descriptors)
    atexit.register(found.close)
    return found


def ring_of(place: Place) -> Ring | None:
    """The ring of this process, if its launcher has made one."""
    if place.ring is None:
        return None
    found = _ring(place.rank, place.size, place.ring)
    found.timeout = place.timeout
    return found
