"""Callbacks that end a run."""

from typing import TYPE_CHECKING, Any

from ..._core.kinds import check_arguments
from .average import AverageVariables
from .base import Callback
from .monitor import Monitoring

if TYPE_CHECKING:
    from .._run_state import RunState


class EarlyStopping(Monitoring):
    """Stop when a metric has not improved for `patience` epochs.

    `monitor` names an entry of `history.metrics`: "validation_loss" if there are validation data,
    else "loss". An improvement is more than `min_delta`, downwards, or upwards with `mode="max"`.
    With `restore_best` the model ends with the variables and buffers of its best epoch; where it
    watches "average_loss", of `AverageVariables`, with the average of that epoch.
    """

    def __init__(
        self,
        *,
        patience: int = 5,
        monitor: str | None = None,
        mode: str = "min",
        min_delta: float = 0.0,
        restore_best: bool = True,
    ):
        check_arguments(EarlyStopping, locals())
        self._watch(monitor, mode, min_delta, patience)
        self.restore_best = restore_best
        self._state: Any = None

    def on_begin(self, run: "RunState") -> None:
        self._state = None
        self._forget()
        for value in self._past(run):
            self._note(value)

    def on_epoch(self, run: "RunState") -> None:
        if self._note(self._latest(run)):
            self._state = (self._watched(run), run.model.buffers)
        elif self.waited >= self.patience:
            run.history.stopped_early = True
            run.stop()

    def _watched(self, run: "RunState") -> Any:
        """The variables whose metric is watched: those of the run, or their average."""
        if self._name(run).startswith("average_"):
            for callback in run.callbacks:
                if isinstance(callback, AverageVariables) and callback.v is not None:
                    return callback.v
        return run.model.v

    def on_end(self, run: "RunState") -> None:
        if self.restore_best and self._state is not None:
            run.model.v = self._state[0]
            run.is_restored = True
            if len(self._state[1]):
                run.model.buffers = self._state[1]
        self._state = None


class StopOnNonFinite(Callback):
    """End the run at the first loss that is not finite, with an error that names the first module
    whose output is not.

    `fit` raises for such a loss anyway, a few steps later. This looks at each of them, which waits
    for every step, and keeps what went into it: the step is computed once more, without
    compilation, to find the module (or the variable, the part of the data, or the loss).

    >>> import numpy as np, trellis
    >>> from trellis import nn
    >>> class Root(trellis.Module):
    ...     def _forward(self, x):
    ...         return trellis.sqrt(x)
    >>> model = nn.Sequential(nn.Linear(1, 1, weight_initializer=nn.init.Ones()), Root(), nn.ReLU())
    >>> data = -np.ones((2, 1)), np.ones((2, 1))
    >>> try:
    ...     with np.errstate(all="ignore"):
    ...         trellis.train.fit(
    ...             model, "mse_loss", data, optimizer="adam", progress=False,
    ...             callbacks=trellis.train.StopOnNonFinite(),
    ...         )
    ... except trellis.errors.NonFiniteError as error:
    ...     print(str(error).split(". ")[1])
    The first module whose output is not finite is layers_v1 (Root)
    """

    names_modules = True

    def on_step(self, run: "RunState") -> None:
        """Nothing but that the loss is looked at."""
