"""Errors of a command: one sentence, not a traceback."""

import sys
from collections.abc import Callable


def told(command: str, run: Callable[[], None]) -> int:
    """Run it; the exit code is 1 after an error that the user can fix."""
    from .._core.printable import printable_lines
    from ..errors import TrellisError

    try:
        run()
    except (TrellisError, OSError, ImportError) as error:
        print(f"trellis {command}: {printable_lines(error)}", file=sys.stderr)
        return 1
    return 0
