"""One row per op and corner: what goes in, what comes out, and whether it has a gradient."""

from . import (
    casting,
    control,
    creation,
    elementwise,
    fft,
    functional,
    indexing,
    linalg,
    manipulation,
    products,
    reduction,
    searching,
    sets,
    sorting,
)
from .case import Case as Case

_rooms = (
    control,
    creation,
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
    sets,
    sorting,
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
