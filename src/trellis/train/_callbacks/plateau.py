"""A smaller learning rate where a run does not get better."""

from typing import TYPE_CHECKING, Literal

from ..._core.errors import ArgumentError
from ..._core.kinds import check_arguments
from .monitor import Monitoring

if TYPE_CHECKING:
    from .._run_state import RunState


class ReduceOnPlateau(Monitoring):
    """Multiply the learning rate by `factor` when a metric has not improved for `patience` epochs.

    The steps of the optimizer are multiplied by a number that goes into the compiled step as an
    array, so that nothing is compiled again; a schedule of the optimizer goes on beside it. The
    number is in checkpoints.

    Args:
        factor: What the rate is multiplied by, between 0 and 1.
        patience: For how many epochs in a row the metric may fail to improve.
        monitor: An entry of `history.metrics`: "validation_loss" if there are validation data,
            else "loss".
        mode: Whether the metric is to become small ("min") or large ("max").
        min_delta: An improvement is more than this.
        cooldown: For how many epochs after a reduction nothing is counted.
        smallest: The rate is not reduced below this share of the optimizer's own.

    >>> import trellis
    >>> plateau = trellis.train.ReduceOnPlateau(factor=0.1, patience=3)
    """

    changes_rate = True

    def __init__(
        self,
        *,
        factor: float = 0.1,
        patience: int = 10,
        monitor: str | None = None,
        mode: Literal["min", "max"] = "min",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        smallest: float = 0.0,
    ):
        check_arguments(ReduceOnPlateau, locals())
        if not 0 < factor < 1:
            raise ArgumentError(f"factor must be between 0 and 1, got {factor}.")
        self._watch(monitor, mode, min_delta, patience)
        self.factor, self.cooldown, self.smallest = factor, cooldown, smallest
        self._resting = 0

    def on_begin(self, run: "RunState") -> None:
        self._forget()
        self._resting = 0
        for value in self._past(run):
            self._is_due(value)

    def on_epoch(self, run: "RunState") -> None:
        if self._is_due(self._latest(run)):
            run.rate_factor = max(run.rate_factor * self.factor, self.smallest)

    def _is_due(self, value: float) -> bool:
        self._note(value)
        if self._resting:
            self._resting -= 1
            self.waited = 0
        if self.waited < self.patience:
            return False
        self.waited, self._resting = 0, self.cooldown
        return True
