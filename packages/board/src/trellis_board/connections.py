"""An end to waiting: uvicorn's connections, with a time for headers and a bound on their number.

A client that sends half a header, or never reads its answer, holds a connection for as long as it
likes; a thousand of them use up the files that a process may open. A proxy would put an end to
that, but not everybody has one.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["bounded_protocol"]

_LEAST_READ = 20_000  # bytes of an answer that a client takes in `patience` seconds


def bounded_protocol(most: int = 500, patience: float = 10.0) -> type[asyncio.Protocol]:
    """The class for ``uvicorn.Config(http=...)``.

    The headers of a request must be there `patience` seconds after the connection, or after the
    answer before. A client that takes nothing of its answer for that long is cut off. Of more than
    `most` connections, the one that has waited longest for its headers gives way to the new one:
    whoever sends a request at once is served. If none is waiting, the new one is closed.

    500 leaves half of the 1,024 files that a process may usually open to the store.
    """
    open_ones: set[BoundedProtocol] = set()
    # From the one that has waited longest to the newest.
    waiting: OrderedDict[BoundedProtocol, None] = OrderedDict()

    class BoundedProtocol(H11Protocol):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.deadline: asyncio.TimerHandle | None = None
            self.unsent = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(open_ones) >= most:
                crowded_out = next(iter(waiting), self)
                crowded_out.leave()
                if crowded_out is self:
                    return
            open_ones.add(self)
            self.wait_for_headers()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.has_request():  # its body has a limit of its own
                waiting.pop(self, None)
                self.stop_clock()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self.has_request():  # with pipelining, the next one has begun
                self.wait_for_headers()

        def pause_writing(self) -> None:
            super().pause_writing()
            self.start_clock()

        def resume_writing(self) -> None:
            super().resume_writing()
            if self.has_request():
                self.stop_clock()

        def connection_lost(self, exc: Exception | None) -> None:
            self.forget()
            super().connection_lost(exc)

        def has_request(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def wait_for_headers(self) -> None:
            if not self.transport.is_closing():
                waiting[self] = None
                self.start_clock()

        def start_clock(self) -> None:
            self.stop_clock()
            self.unsent = self.transport.get_write_buffer_size()
            self.deadline = self.loop.call_later(patience, self.time_is_up)

        def stop_clock(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()

        def time_is_up(self) -> None:
            taken = self.unsent - self.transport.get_write_buffer_size()
            if self.unsent and taken >= min(self.unsent, _LEAST_READ):
                self.start_clock()
            else:
                self.leave()

        def leave(self) -> None:
            self.forget()
            # Not `close`, which would wait for what is still to be sent.
            self.transport.abort()

        def forget(self) -> None:
            self.stop_clock()
            waiting.pop(self, None)
            open_ones.discard(self)

    return BoundedProtocol
