"""A smaller learning rate where a run does not get better."""

from typing import TYPE_CHECKING, Any, Literal

from ..._core.errors import ArgumentError
from ..._core.kinds import check_arguments
from .monitor import Counting, Monitoring

if TYPE_CHECKING:
    from .._run_state import RunState


class Plateau(Counting):
    """A factor of the learning rate that falls when a value has not improved, for loops by hand;
    `ReduceOnPlateau` is the same for `fit`.

    Args:
        factor: What the rate is multiplied by, between 0 and 1.
        patience: After how many values in a row without an improvement; 0 is 1.
        mode: Whether the value is to become small ("min") or large ("max").
        min_delta: An improvement is more than this.
        cooldown: For how many values after a reduction nothing is counted.
        smallest: The factor does not fall below this.

    >>> import trellis
    >>> plateau = trellis.train.Plateau(factor=0.5, patience=2)
    >>> [plateau.update(loss) for loss in (1.0, 0.5, 0.6, 0.5, 0.4)]
    [1.0, 1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self,
        *,
        factor: float = 0.1,
        patience: int = 10,
        mode: Literal["min", "max"] = "min",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        smallest: float = 0.0,
    ):
        check_arguments(Plateau, locals())
        if not 0 < factor < 1:
            raise ArgumentError(f"factor must be between 0 and 1, got {factor}.")
        self._count(mode, min_delta, patience, least=0)
        self.factor, self.cooldown, self.smallest = factor, cooldown, smallest
        self._resting, self._product = 0, 1.0

    def update(self, value: float, /) -> float:
        """Count one more value; what the learning rate is multiplied by from now on."""
        self._product = self.reduced(self._product, value)
        return self._product

    def reduced(self, factor: float, value: float, /) -> float:
        """The same for a factor that is kept elsewhere."""
        self._note(value)
        if self._resting:
            self._resting -= 1
            self.waited = 0
        if self.waited < max(self.patience, 1):
            return factor
        self.waited, self._resting = 0, self.cooldown
        return max(factor * self.factor, self.smallest)


class ReduceOnPlateau(Monitoring):
    """Multiply the learning rate by `factor` when a metric has not improved for `patience` epochs.

    The steps of the optimizer are multiplied by a number that goes into the compiled step as an
    array, so that nothing is compiled again; a schedule of the optimizer goes on beside it. The
    number is in checkpoints.

    Args:
        factor: What the rate is multiplied by, between 0 and 1.
        patience: After how many epochs in a row without an improvement; 0 is 1. (torch waits for
            one more than its patience says.)
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
        self._options: dict[str, Any] = {
            "factor": factor, "patience": patience, "mode": mode, "min_delta": min_delta,
            "cooldown": cooldown, "smallest": smallest,
        }  # fmt: skip
        self._plateau = Plateau(**self._options)
        self._watch(monitor, mode, min_delta, patience, least=0)
        self.factor, self.cooldown, self.smallest = factor, cooldown, smallest

    def on_begin(self, run: "RunState") -> None:
        self._plateau = Plateau(**self._options)
        for value in self._past(run):
            self._plateau.update(value)

    def on_epoch(self, run: "RunState") -> None:
        new = self._plateau.reduced(run.rate_factor, self._latest(run))
        if new != run.rate_factor:
            run.rate_factor = new
