"""Private functions of a framework, which may change in any version: looking them up safely.

A backend uses them in its `_private.py` only. Each has a public fallback, and is tested with a
small call when the backend is loaded. For tests, `TRELLIS_SHUT_DOORS` turns some of them off: names
such as `torch.foreach`, the name of a backend, or `all`, separated by commas.
"""

import os
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# The private functions of the loaded backends, and whether each one is used.
known: dict[str, bool] = {}


def opened(name: str, probe: Callable[[], T]) -> T | None:
    """The result of `probe`; None if it raises or if the name is turned off.

    The probe runs in its own thread, where no trace, tape or mode of the caller is active.
    """
    shut = os.environ.get("TRELLIS_SHUT_DOORS", "").split(",")
    found: list[T] = []

    def run() -> None:
        try:
            found.append(probe())
        except Exception:  # in another version it may raise anything: the fallback is used
            return

    if not {"all", name, name.partition(".")[0]} & set(shut):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    known[name] = bool(found)
    return found[0] if found else None


def require(*answers: bool) -> None:
    """For probes: raise unless all answers are as expected."""
    if not all(answers):
        raise NotImplementedError
