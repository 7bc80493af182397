"""A setting with a process-wide value that a thread or an async task can override for itself."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Setting(Generic[T]):
    """In the main program `set` counts for the whole process; in a thread or a task only there.

    >>> colour = Setting("colour", "green")
    >>> with colour.using("red"):
    ...     colour.get()
    'red'
    >>> colour.get()
    'green'
    """

    # torch.compile cannot read context variables. While nobody overrides the setting it reads plain
    # attributes, and guards them; the torch backend declares `_look_up` a constant of the compiled
    # function, and its argument is there to be guarded.

    def __init__(self, name: str, default: T):
        self._process_wide = default
        self._here: ContextVar[T | None] = ContextVar(name, default=None)
        self._overrides = 0
        self._latest: T | None = None
        self._lock = threading.Lock()

    def get(self) -> T:
        if self._overrides == 0:
            return self._process_wide
        return self._look_up(self._latest)

    def _look_up(self, latest: T | None) -> T:
        here = self._here.get()
        return self._process_wide if here is None else here

    def set(self, value: T) -> None:
        # A thread started later does not inherit context variables in Python 3.11, yet whoever sets
        # a default in the main program expects worker threads to follow it.
        in_main_program = threading.current_thread() is threading.main_thread()
        if in_main_program and not _in_event_loop() and self._here.get() is None:
            self._process_wide = value
        else:
            self._override(value, 1)
            self._here.set(value)

    @contextmanager
    def using(self, value: T) -> Iterator[None]:
        before = self._here.get()
        token = self._here.set(value)
        self._override(value, 1)
        try:
            yield
        finally:
            self._override(before, -1)
            self._here.reset(token)

    def _override(self, latest: T | None, more: int) -> None:
        with self._lock:
            self._latest = latest
            self._overrides += more


def _in_event_loop() -> bool:
    # Whoever runs a loop has imported asyncio; importing it here would cost every user 40 ms.
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None
