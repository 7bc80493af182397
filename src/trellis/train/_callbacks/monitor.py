"""A metric that a callback watches, and whether it became better."""

import math
from typing import TYPE_CHECKING, Literal

from ..._core.errors import ArgumentError
from .base import Callback

if TYPE_CHECKING:
    from .._run_state import RunState

Mode = Literal["min", "max"]


class Counting:
    """The best value so far, and how many came after it."""

    mode: str
    min_delta: float
    patience: int

    def _count(self, mode: str, min_delta: float, patience: int, least: int = 1) -> None:
        if mode not in ("min", "max"):
            raise ArgumentError(f'mode must be "min" or "max", got {mode!r}.')
        if patience < least:
            raise ArgumentError(f"patience must be at least {least}, got {patience}.")
        self.mode, self.min_delta, self.patience = mode, min_delta, patience
        self._forget()

    def _forget(self) -> None:
        self.best, self.waited = math.inf, 0

    def _note(self, value: float) -> bool:
        """Count one more value; whether it is the best so far."""
        value = value if self.mode == "min" else -value
        if value < self.best - self.min_delta:
            self.best, self.waited = value, 0
            return True
        self.waited += 1
        return False


class Monitoring(Counting, Callback):
    """The part that early stopping, plateaus and the best checkpoint share."""

    monitor: str | None

    def _watch(
        self, monitor: str | None, mode: str, min_delta: float, patience: int, least: int = 1
    ) -> None:
        self.monitor = monitor
        self._count(mode, min_delta, patience, least)

    def _name(self, run: "RunState") -> str:
        if self.monitor is not None:
            return self.monitor
        return "validation_loss" if run.has_validation else "loss"

    def _past(self, run: "RunState") -> list[float]:
        """The values of a run that is resumed."""
        found: list[float] = run.history.metrics.get(self._name(run), [])
        return found

    def _latest(self, run: "RunState") -> float:
        name = self._name(run)
        if name not in run.history.metrics:
            raise ArgumentError(
                f"{type(self).__name__} watches {name!r}, which is not recorded; recorded are "
                f"{', '.join(run.history.metrics)}.{_order(name)}"
            )
        value: float = run.history.metrics[name][-1]
        return value


def _order(name: str) -> str:
    if not name.startswith("average_"):
        return ""
    return " AverageVariables records averages, and stands before this one in the callbacks."
