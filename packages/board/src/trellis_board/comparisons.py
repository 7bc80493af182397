"""Counting what a running test really compared.

A comparison helper calls `note` after its comparison has succeeded:

>>> from trellis_board import comparisons
>>> comparisons.note([1.0], [1.0])       # no test is being recorded: nothing happens

The pytest plugin wraps each test in `recording`. A pass is trusted when

1. at least one comparison was made, and
2. if arrays were compared, the backend of the test's cell was *seen*, by any of:
   an operand of a comparison is an array of that backend; an operand is a NumPy view of such an
   array's memory; a helper said so (`note(..., origin=x)` or `converted(x)`); or the code that made
   the comparison held an array of that backend in a local variable. The last two are there because
   many tests convert to NumPy before they compare, which is honest work.

The backend of an array is told by the module of its type, so no framework is ever imported here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Tally", "backend_of_type", "converted", "note", "recording"]

# Root module of an array type -> the backend it belongs to. A backend that is absent here (a
# device, a database, "any") has no arrays we would recognise, and rule 2 does not apply to it.
_BACKEND_OF_ROOT = {
    "numpy": "numpy",
    "autograd": "numpy",
    "jax": "jax",
    "jaxlib": "jax",
    "torch": "torch",
    "tensorflow": "tensorflow",
    "cupy": "cupy",
    "dask": "dask",
    "mlx": "mlx",
    "paddle": "paddle",
    "sparse": "sparse",
    "ndonnx": "ndonnx",
}
_KNOWN_BACKENDS = frozenset(_BACKEND_OF_ROOT.values())
_MAX_FRAMES = 12
_MAX_LEAVES = 64


class Tally:
    """What one test compared so far, for a cell of the backend called `backend`."""

    def __init__(self, backend: str) -> None:
        # "torch-cpu" and "torch_compiled" are torch as far as arrays are concerned.
        family = re.split(r"[^a-z0-9]", backend.lower(), maxsplit=1)[0]
        self.family = family if family in _KNOWN_BACKENDS else None
        self.count = 0
        self.seen: set[str] = set()
        self.evidence = False

    def add(self, operands: tuple[object, ...], frame: FrameType | None) -> None:
        """Count one comparison of `operands`, made by the code in `frame`."""
        self.count += 1
        if self.evidence or self.family is None:
            return
        self.seen |= backends_in(operands)
        if self.family in self.seen or _held_in_locals(frame, self.family):
            self.evidence = True

    def why_hollow(self) -> str | None:
        """Why a pass cannot be trusted, or None if it can."""
        if self.count == 0:
            return "passed without making any comparison"
        if self.seen and not self.evidence and self.family is not None:
            compared = ", ".join(sorted(self.seen))
            return (
                f"passed, but compared only arrays of {compared}; "
                f"no array of {self.family} was seen. Compare the {self.family} result itself, "
                "or tell the board with trellis_board.comparisons.converted(result) "
                "before converting it."
            )
        return None


# One global and no context variable: threads that a test starts count for that test.
_current: Tally | None = None


@contextmanager
def recording(tally: Tally) -> Iterator[Tally]:
    """Let every comparison inside the block count for `tally`; blocks may be nested."""
    global _current
    outer, _current = _current, tally
    try:
        yield tally
    finally:
        _current = outer


def note(*operands: object, origin: object = None) -> None:
    """Say that a comparison of `operands` was made and held.

    `origin` is an array that an operand was converted from. Costs one global look-up when no test
    is being recorded.
    """
    if _current is not None:
        _current.add((*operands, origin), sys._getframe(1))


def converted(original: object) -> None:
    """Say that `original` is about to be converted, so a later NumPy comparison is about it."""
    if _current is not None and _current.family in backends_in((original,)):
        _current.evidence = True


def backend_of_type(cls: type) -> str | None:
    """The backend whose arrays `cls` describes, or None if it is no array type.

    >>> backend_of_type(float) is None
    True
    """
    try:
        return _backend_by_type[cls]
    except KeyError:
        found = None
        if hasattr(cls, "shape") and hasattr(cls, "dtype"):
            roots = (base.__module__.partition(".")[0] for base in cls.__mro__)
            found = next((_BACKEND_OF_ROOT[r] for r in roots if r in _BACKEND_OF_ROOT), None)
        _backend_by_type[cls] = found
        return found


_backend_by_type: dict[type, str | None] = {}


def backends_in(values: object) -> set[str]:
    """The backends of all arrays in a nest of tuples, lists and dicts (a bounded look)."""
    found: set[str] = set()
    queue: list[object] = [values]
    for _ in range(_MAX_LEAVES):
        if not queue:
            break
        value = queue.pop(0)
        if isinstance(value, dict):
            queue.extend(value.values())
        elif isinstance(value, (list, tuple)):
            queue.extend(value[:_MAX_LEAVES])
        elif (backend := backend_of_type(type(value))) is not None:
            found.add(backend)
            if backend == "numpy":
                found |= _owners_of_memory(value)
    return found


def _owners_of_memory(array: object) -> set[str]:
    """Backends that own the memory a NumPy array looks at: `tensor.numpy()` is such a view."""
    found: set[str] = set()
    owner = getattr(array, "base", None)
    for _ in range(8):
        if owner is None:
            break
        root = type(owner).__module__.partition(".")[0]
        if root in _BACKEND_OF_ROOT:
            found.add(_BACKEND_OF_ROOT[root])
        owner = getattr(owner, "base", None)
    return found


def _held_in_locals(frame: FrameType | None, family: str) -> bool:
    """Whether a frame, or one that called it, up to pytest's own, holds an array of `family`."""
    for _ in range(_MAX_FRAMES):
        if frame is None or frame.f_globals.get("__name__", "").startswith("_pytest."):
            return False
        if family in backends_in(list(frame.f_locals.values())):
            return True
        frame = frame.f_back
    return False
