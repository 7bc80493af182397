"""Counting what a running test really compared.

A comparison helper calls `note` after its comparison has succeeded:

>>> from trellis_board import comparisons
>>> comparisons.note([1.0], [1.0])       # no test is being recorded: nothing happens

The pytest plugin wraps each test in `recording`. A pass is trusted when

1. at least one comparison was made, and
2. if arrays were compared, the backend of the test's cell was *seen*, by any of:
   an operand of a comparison is an array of that backend; an operand is a NumPy view of such an
   array's memory; a helper said so (`note(..., origin=x)` or `converted(x)`); or the code that made
   the comparison held an array of that backend in a local variable, also inside of an object. The
   last two are there because many tests convert to NumPy before they compare, which is honest work.

`arrays` tells which backend an object belongs to.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import FrameType

from .arrays import KNOWN_BACKENDS, backends_in, holds, holds_openly

__all__ = ["Tally", "asserted", "converted", "note", "recording"]

_MAX_FRAMES = 12

NOTHING_COMPARED = (
    "passed without making any comparison. Counted are asserts and checks that can fail in test "
    "modules, conftest.py and modules in folders of tests, pytest.raises and the like, and the "
    "assert functions of testing modules; the setting board_helpers names further modules"
)


class Tally:
    """What one test compared so far, for a cell of the backend called `backend`."""

    __slots__ = ("count", "evidence", "family", "looked", "seen")

    def __init__(self, backend: str) -> None:
        self.family = family_of(backend)
        self.count = 0
        self.seen: frozenset[str] = frozenset()
        self.evidence = False
        self.looked = False

    def add(self, operands: tuple[object, ...], frame: FrameType | None) -> None:
        """Count one comparison of `operands`, made by the code in `frame`."""
        self.count += 1
        if self.evidence or self.family is None:
            return
        self.seen |= backends_in(operands)
        # Only where arrays of others were compared is there something to find an excuse for.
        look = holds if self.seen else holds_openly
        if self.family in self.seen or _held_in_locals(frame, self.family, look):
            self.evidence = True

    def why_hollow(self) -> str | None:
        """Why a pass cannot be trusted, or None if it can."""
        if self.count == 0:
            return NOTHING_COMPARED
        if self.seen and not self.evidence and self.family is not None:
            compared = ", ".join(sorted(self.seen))
            return (
                f"passed, but compared only arrays of {compared}; "
                f"no array of {self.family} was seen. Compare the {self.family} result itself, "
                "or tell the board with trellis_board.comparisons.converted(result) "
                "before converting it."
            )
        return None


@cache
def family_of(backend: str) -> str | None:
    """The backend whose arrays a column is about: "torch-cpu" and "torch 2.6" are torch."""
    name = backend.lower()
    if name in KNOWN_BACKENDS:
        return name
    first = re.split(r"[^a-z0-9]", name, maxsplit=1)[0]
    return first if first in KNOWN_BACKENDS else None


# One global and no context variable: threads that a test starts count for that test.
_current: Tally | None = None


@contextmanager
def recording(tally: Tally) -> Iterator[Tally]:
    """Let every comparison inside the block count for `tally`; blocks may be nested."""
    outer = start(tally)
    try:
        yield tally
    finally:
        start(outer)


def start(tally: Tally | None) -> Tally | None:
    """Let comparisons count for `tally` from now on; returns what they counted for before."""
    global _current
    before, _current = _current, tally
    return before


def note(*operands: object, origin: object = None) -> None:
    """Say that a comparison of `operands` was made and held.

    `origin` is an array that an operand was converted from. Costs one global look-up when no test
    is being recorded.
    """
    if _current is not None:
        _current.add((*operands, origin), sys._getframe(1))


def asserted() -> None:
    """Say that an `assert` was passed; `rewriting` puts this call behind each one."""
    tally = _current
    if tally is None:
        return
    tally.count += 1
    # An assert hides its operands, so it cannot make a test hollow; one array is enough to clear
    # it.
    if tally.looked or tally.family is None:
        return
    tally.looked = True
    tally.evidence |= _held_in_locals(sys._getframe(1), tally.family, holds_openly)


def converted(original: object) -> None:
    """Say that `original` is about to be converted, so a later NumPy comparison is about it."""
    if _current is not None and _current.family in backends_in((original,)):
        _current.evidence = True


def _held_in_locals(
    frame: FrameType | None, family: str, look: Callable[[Mapping[str, object], str], bool]
) -> bool:
    """Whether a frame, or one that called it, up to pytest's own, holds an array of `family`."""
    for _ in range(_MAX_FRAMES):
        if frame is None or frame.f_globals.get("__name__", "").startswith("_pytest."):
            return False
        if look(frame.f_locals, family):
            return True
        frame = frame.f_back
    return False
