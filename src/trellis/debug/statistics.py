"""Statistics of the arrays that pass one place of a model, over all calls."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Statistics:
    """What was seen of one module's outputs, or of the gradients by them.

    `mean`, `rms`, `largest` (in absolute value) and `zeros` (the share of zeros) are over all
    finite elements of all calls; `nonfinite` counts the others. `dead` are the units, along the
    last axis, that were 0 in every example.

    >>> import numpy as np
    >>> seen = Statistics()
    >>> is_finite = seen.add(np.array([[1.0, 0.0], [3.0, 0.0]]))
    >>> seen.mean, seen.largest, seen.zeros, seen.dead
    (1.0, 3.0, 0.5, [1])
    """

    calls: int = 0
    elements: int = 0
    nonfinite: int = 0
    largest: float = 0.0
    _sum: float = field(default=0.0, init=False)
    _squares: float = field(default=0.0, init=False)
    _zeros: int = field(default=0, init=False)
    _is_alive: Any = field(default=None, init=False, repr=False)

    def add(self, x: np.ndarray) -> bool:
        """Count one more array; returns whether all of it is finite."""
        wide = np.asarray(x).astype("float64")  # bfloat16 too, and squares without overflow
        is_finite = np.isfinite(wide)
        finite = wide if is_finite.all() else wide[is_finite]
        self.elements += wide.size
        self.nonfinite += wide.size - finite.size
        self._sum += float(finite.sum())
        self._squares += float((finite * finite).sum())
        self._zeros += int((finite == 0).sum())
        self.largest = max(self.largest, float(np.abs(finite).max(initial=0.0)))
        self._add_units(wide)
        return finite.size == wide.size

    def _add_units(self, x: np.ndarray) -> None:
        if x.ndim == 0:
            return
        alive = (x != 0).any(axis=tuple(range(x.ndim - 1)))
        if self._is_alive is None:
            self._is_alive = alive
        elif len(self._is_alive) == len(alive):
            self._is_alive = self._is_alive | alive
        else:  # a length that differs from call to call is no axis of units
            self._is_alive = np.ones(0, bool)

    @property
    def mean(self) -> float:
        """The mean of the finite elements; nan if there are none."""
        count = self.elements - self.nonfinite
        return self._sum / count if count else math.nan

    @property
    def rms(self) -> float:
        """The root of the mean of their squares; nan if there are none."""
        count = self.elements - self.nonfinite
        return math.sqrt(self._squares / count) if count else math.nan

    @property
    def zeros(self) -> float:
        """The share of them that is 0; nan if there are none."""
        count = self.elements - self.nonfinite
        return self._zeros / count if count else math.nan

    @property
    def dead(self) -> list[int]:
        """The units along the last axis that were 0 in every example of every call."""
        if self._is_alive is None:
            return []
        return [int(i) for i in np.flatnonzero(~self._is_alive)]

    @property
    def units(self) -> int:
        """The length of the last axis."""
        return 0 if self._is_alive is None else len(self._is_alive)
