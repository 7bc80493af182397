"""The average of the variables, evaluated beside them."""

from typing import TYPE_CHECKING, Any

from ..._core.errors import ArgumentError
from ..._core.kinds import check_arguments
from .base import Callback

if TYPE_CHECKING:
    from .._run_state import RunState


class AverageVariables(Callback):
    """Evaluate the moving average of the variables, which often does better than the last ones.

    After every look at the validation data `history.metrics` gets "average_loss" and the metrics
    of the average too ("average_accuracy", ...), by epochs. The average is in checkpoints, so a run
    that is resumed goes on with it.

    Args:
        decay: How much of the average stays at each step, in [0, 1); None: the mean of all.
        replace: Whether the model ends with the average. Early stopping decides where it restores
            the best epoch; to choose among averages, it watches "average_loss".

    >>> import numpy as np, trellis
    >>> data = np.ones((4, 1)), np.ones((4, 1))
    >>> history = trellis.train.fit(
    ...     trellis.nn.Linear(1, 1), "mse_loss", data, optimizer="adam", validation_data=data,
    ...     callbacks=trellis.train.AverageVariables(0.9), progress=False,
    ... )
    >>> sorted(history.metrics)
    ['average_loss', 'loss', 'validation_loss']
    """

    has_state = True

    def __init__(self, decay: float | None = 0.999, *, replace: bool = True):
        check_arguments(AverageVariables, locals())
        from ...optim import ParameterAverage

        self._average = ParameterAverage(decay)
        self.replace = replace
        self._state: Any = None
        self.v: Any = None

    def state(self, run: "RunState") -> Any:
        begun = self._average.init(run.v) if self._state is None else self._state
        return {"state": begun, "v": run.v if self.v is None else self.v}

    def load_state(self, state: Any) -> None:
        self._state, self.v = state["state"], state["v"]

    def on_begin(self, run: "RunState") -> None:
        if not run.step:
            self._state = self.v = None
        elif self._state is None:
            raise ArgumentError(
                "AverageVariables joined a run that had begun without it: its average would be of "
                "other steps. Resume with the callbacks of the beginning."
            )

    def on_step(self, run: "RunState") -> None:
        state = self._average.init(run.v) if self._state is None else self._state
        self.v, self._state = self._average.update(run.v, state)

    def on_epoch(self, run: "RunState") -> None:
        if run.has_validation:
            run.history.add({f"average_{k}": x for k, x in run.evaluate(self.v).items()})

    def on_end(self, run: "RunState") -> None:
        if self.replace and self.v is not None and not run.is_restored:
            run.model.v = self.v
