"""One row per op and corner: what goes in, what comes out, and whether it has a gradient."""

from . import (
    casting,
    control,
    creation,
    diagonals,
    elementwise,
    fft,
    functional,
    indexing,
    linalg,
    manipulation,
    products,
    reduction,
    searching,
    segments,
    sets,
    signals,
    sorting,
    statistics,
)
from .case import Case as Case

_rooms = (
    control,
    creation,
    diagonals,
    casting,
    elementwise,
    fft,
    functional,
    indexing,
    linalg,
    products,
    manipulation,
    reduction,
    searching,
    segments,
    sets,
    signals,
    sorting,
    statistics,
)


def all_cases() -> list[tuple[str, Case]]:
    """The cases of all packages, each with its own name."""
    rows = [row for room in _rooms for row in room.CASES]
    seen: dict[str, int] = {}
    named = []
    for row in rows:
        name = row.op if not row.about else f"{row.op}: {row.about}"
        seen[name] = seen.get(name, 0) + 1
        assert seen[name] == 1, f"two rows are called {name}: say what is special with about="
        named.append((name, row))
    return named
