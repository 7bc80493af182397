"""A rank that fails tells its launcher at once.

Engines wait for each other when a process ends: one that leaves with an error would wait for peers
that wait for it. The launcher hears of the error before that, and ends them all.
"""

import contextlib
import os
import sys
from typing import Any

VARIABLE = "TRELLIS_REPORT_FD"  # where `trellis run` listens
_LONGEST = 400

_installed: list[int] = []


def report_failures() -> None:
    """Under `trellis run`: report an uncaught error to the launcher, besides printing it."""
    if VARIABLE not in os.environ or _installed:
        return
    descriptor = int(os.environ[VARIABLE])
    _installed.append(descriptor)
    shown = sys.excepthook

    def hook(kind: Any, error: Any, traceback: Any) -> None:
        shown(kind, error, traceback)
        sys.stderr.flush()
        first = f"{kind.__name__}: {error}".splitlines()[0][:_LONGEST]
        with contextlib.suppress(OSError):
            os.write(descriptor, f"failed {first}\n".encode(errors="replace"))

    sys.excepthook = hook
