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

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from .arrays import backends_in, family_of, holds, holds_openly
from .callers import ITSELF, is_of_a_test

__all__ = ["Tally", "asserted", "called", "converted", "each", "note", "recording"]

Value = TypeVar("Value")

_MAX_FRAMES = 12

NOTHING_COMPARED = (
    "passed without making any comparison. Counted are asserts and checks that can fail in test "
    "modules, conftest.py and modules in folders of tests, pytest.raises and the like, and the "
    "assert functions of testing modules; the setting board_helpers names further modules"
)


class Tally:
    """What one test compared so far, for a cell of the backend called `backend`."""

    __slots__ = ("calls", "count", "evidence", "family", "foreign", "looked", "seen", "vain")

    def __init__(self, backend: str) -> None:
        self.family = family_of(backend)
        self.count = 0
        self.calls: Counter[str] = Counter()
        """The comparison functions that were called, by name; the rest of `count` are asserts."""
        self.foreign: Counter[str] = Counter()
        """Comparisons that the library made for itself, and where."""
        self.vain: Counter[str] = Counter()
        """Comparisons of an array with itself, and where."""
        self.seen: frozenset[str] = frozenset()
        self.evidence = False
        self.looked = False

    def add(self, operands: tuple[object, ...], frame: FrameType | None) -> None:
        """Count one comparison of `operands`, made by the code in `frame`."""
        self.count += 1
        if self.family is None and not self.looked:
            self.looked = True
            self.seen = frozenset(backends_in(operands))
        if self.evidence or self.family is None:
            return
        self.seen |= backends_in(operands)
        # Only where arrays of others were compared is there something to find an excuse for.
        look = holds if self.seen else holds_openly
        if self.family in self.seen or _held_in_locals(frame, self.family, look):
            self.evidence = True

    def why_hollow(self, more: Sequence[str] = ()) -> str | None:
        """Why a pass cannot be trusted, or None if it can; `more` is known of the test's text."""
        if self.count == 0:
            found = [f"{_times(self.foreign)}: those are checks of the library's own"]
            vain = [f"{_times(self.vain)}: that cannot fail"]
            return "\n".join(
                [
                    NOTHING_COMPARED,
                    *(found if self.foreign else []),
                    *(vain if self.vain else []),
                    *more,
                ]
            )
        if self.seen and not self.evidence and self.family is not None:
            compared = ", ".join(sorted(self.seen))
            return (
                f"passed, but compared only arrays of {compared}; "
                f"no array of {self.family} was seen. Compare the {self.family} result itself, "
                "or tell the board with trellis_board.comparisons.converted(result) "
                f"before converting it.\nCompared were: {self.told()}"
            )
        return None

    def told(self) -> str:
        """What was compared, in words."""
        asserts = self.count - self.calls.total()
        words = [f"{asserts} assert{'' if asserts == 1 else 's'}"] if asserts > 0 else []
        return ", ".join([*words, *([_times(self.calls)] if self.calls else [])])


def _times(calls: Counter[str]) -> str:
    shown = [f"{name}{f' ({n} times)' if n > 1 else ''}" for name, n in calls.most_common(5)]
    return ", ".join([*shown, *(["and others"] if len(calls) > 5 else [])])


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


def called(name: str, *operands: object) -> None:
    """Say that a comparison function was called; this counts if it was called for a test."""
    tally = _current
    if tally is None:
        return
    frame = sys._getframe(2)  # behind the function that was put around it
    if not is_of_a_test(frame, name):
        tally.foreign[f"{name} in {frame.f_globals.get('__name__', '?')}"] += 1
    elif what := _compared_with_itself(frame, operands):
        tally.vain[f"{name} in line {frame.f_lineno} compares {what} with itself"] += 1
    else:
        tally.calls[f"{name} of {_kinds(operands)}" if operands else name] += 1
        tally.add(operands, frame)


def _compared_with_itself(frame: FrameType, operands: tuple[object, ...]) -> str | None:
    """What the code in `frame` calls an array that it compares with itself.

    NumPy's own tests do that to try the functions that compare.
    """
    lines: Mapping[int, str] = frame.f_globals.get(ITSELF, {})
    what = lines.get(frame.f_lineno)
    if what is None or len(operands) < 2 or operands[0] is not operands[1]:
        return None
    is_numpys = str(frame.f_globals.get("__name__", "")).partition(".")[0] == "numpy"
    return what if backends_in(operands[:1]) and not is_numpys else None


def _kinds(operands: tuple[object, ...]) -> str:
    """The types of the first operands, with the root of their modules."""
    kinds = []
    for operand in operands[:2]:
        cls = type(operand)
        root = cls.__module__.partition(".")[0]
        kinds.append(cls.__name__ if root == "builtins" else f"{root}.{cls.__name__}")
    return " and ".join(dict.fromkeys(kinds))


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


def each(value: Value) -> Value:
    """Say that `value` is one of those that an ``assert all(...)`` looks at, and give it back."""
    tally = _current
    if tally is not None:
        tally.count += 1
        if not (tally.looked or tally.family is None):
            tally.looked = True
            tally.evidence |= _held_in_locals(sys._getframe(1), tally.family, holds_openly)
    return value


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
