"""Making the answers that take long before somebody asks for them.

A board of a million cells takes seconds to read. A server does that in a thread of its own, when it
starts and when a run was posted, so that the one who opens the page does not wait.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from .queries import UnknownNameError
from .store import StoreError

__all__ = ["Ready"]


class Ready:
    """Calls `make` with the names of projects that have changed, one at a time.

    The shards of a run come shortly after each other: it waits until none came for `pause`
    seconds, but not longer than ten such pauses.
    """

    def __init__(self, make: Callable[[str], None], pause: float = 2.0) -> None:
        self._make = make
        self._pause = pause
        self._asked: dict[str, tuple[float, float]] = {}  # first asked for, and due
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def soon(self, project: str) -> None:
        """Ask for a project. Returns at once."""
        now = time.monotonic()
        with self._changed:
            first, _ = self._asked.get(project, (now, now))
            self._asked[project] = first, min(now + self._pause, first + 10 * self._pause)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="board-ready")
                self._thread.start()

    def _run(self) -> None:
        while (project := self._next()) is not None:
            # Whoever asks for it is told what is wrong; here nobody listens.
            with contextlib.suppress(StoreError, UnknownNameError):
                self._make(project)

    def _next(self) -> str | None:
        """The project that is due first, when it is; None, and an end, if there is none."""
        with self._changed:
            while self._asked:
                project = min(self._asked, key=lambda name: self._asked[name][1])
                left = self._asked[project][1] - time.monotonic()
                if left <= 0:
                    del self._asked[project]
                    return project
                self._changed.wait(left)
            self._thread = None
            return None
