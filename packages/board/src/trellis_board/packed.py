"""The latest cells of a board as a few long columns: small to send, and quick to read in a browser.

>>> pack([(7, 1, "success", 3, 0.5, 100.2), (7, 2, "failure", 3, None, 100.4)], [7, 8], [1, 2])
{'columns': [1, 2], 'outcomes': '05..', 'runs': [3, 2], 'times': [100, 2], 'durations': [50000, -1]}

`outcomes` has a sign for each column of each test, a point where there is no cell. The other
columns have a value for each cell that is there; `runs` and `times` have each value once for all
cells in a row that share it, with their number behind it. Durations are hundredths of a
millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, groupby

from .outcomes import SEVERITY

__all__ = ["pack"]

State = tuple[int, int, str, int, float | None, float]
"""Test, backend, outcome, run, seconds that it took, and when."""

_ZERO = ord("0")


def pack(cells: Iterable[State], tests: Iterable[int], columns: Sequence[int]) -> dict[str, object]:
    """Some cells, in the order of `tests` and `columns`; other cells are left out."""
    width = len(columns)
    line = {test: place * width for place, test in enumerate(tests)}
    place = {backend: i for i, backend in enumerate(columns)}
    size = len(line) * width
    outcomes = bytearray(b"." * size)
    found: list[State | None] = [None] * size
    for cell in cells:
        at = line[cell[0]] + place[cell[1]]
        outcomes[at] = _ZERO + SEVERITY[cell[2]]
        found[at] = cell
    present = [cell for cell in found if cell is not None]
    return {
        "columns": [*columns],
        "outcomes": outcomes.decode(),
        "runs": _in_a_row(cell[3] for cell in present),
        "times": _in_a_row(round(cell[5]) for cell in present),
        "durations": [-1 if cell[4] is None else round(cell[4] * 1e5) for cell in present],
    }


def _in_a_row(values: Iterable[int]) -> list[int]:
    counted = ((value, sum(1 for _ in same)) for value, same in groupby(values))
    return [*chain.from_iterable(counted)]
