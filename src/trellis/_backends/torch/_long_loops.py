"""Loops of many steps under torch.compile, which unrolls them: that takes 0.1 to 0.3 s for a step.

A scan of `LONG` steps stays one loop of the graph, by torch's own operator, which runs at about the
speed of the loop without a compiler. (A shorter one is unrolled, which is faster when it runs.) It
has no derivative inside a compiled function, and its body may write to nothing outside, as draws
do. There such a scan ends the compilation, and the function runs without the compiler from then on.
"""

import logging
from collections.abc import Callable
from typing import Any

LONG = 256

# Whether loops may stay loops (changed while a function that has one is compiled again), and how
# many were traced so far.
loops_in_graph: dict[str, int] = {"are_kept": True, "count": 0}

_TOO_LONG = "steps are too many to unroll"
_LOG = logging.getLogger("trellis")


class TooLong(RuntimeError):
    """Ends a compilation."""


def leave_the_compiler(length: int) -> None:
    """Raise while a function is traced."""
    raise TooLong(f"A scan of {length} {_TOO_LONG}.")


def is_too_long(error: Exception) -> bool:
    """Whether a compilation was ended by `leave_the_compiler`."""
    text = str(error)
    return _TOO_LONG in text or TooLong.__name__ in text


def note_a_loop() -> None:
    """Count one more, while a function is traced."""
    loops_in_graph["count"] += 1


def unrolled(compiled: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The call of a function whose loops the compiler cannot keep."""
    loops_in_graph["are_kept"] = False
    try:
        return compiled(*args, **kwargs)
    finally:
        loops_in_graph["are_kept"] = True


def say_so(fn: Any) -> None:
    """One line for users, once for each function."""
    _LOG.warning(
        f"trellis: {getattr(fn, '__name__', repr(fn))}() has a scan of {LONG} steps or more inside "
        "a derivative, or with draws, which torch.compile would unroll for a minute or more. It "
        "runs without the compiler."
    )
