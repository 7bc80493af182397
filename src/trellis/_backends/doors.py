"""Private doors: what a backend uses of a framework that the framework does not promise.

They stand in the backend's `_private.py`, each with the public way that serves without it, and are
tried when the backend loads. `TRELLIS_SHUT_DOORS` keeps some of them shut, for tests: names such as
`torch.foreach`, a backend's name, or `all`, with commas between them.
"""

import os
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# The doors of the backends that are loaded, and whether each one is open.
known: dict[str, bool] = {}


def opened(name: str, probe: Callable[[], T]) -> T | None:
    """What `probe` finds; None where it raises, or where the door is to stay shut.

    The probe runs in a thread of its own, where no trace, tape or mode of the caller is active.
    """
    shut = os.environ.get("TRELLIS_SHUT_DOORS", "").split(",")
    found: list[T] = []

    def run() -> None:
        try:
            found.append(probe())
        except Exception:  # another version: whatever it raises, the public way serves
            return

    if not {"all", name, name.partition(".")[0]} & set(shut):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    known[name] = bool(found)
    return found[0] if found else None
