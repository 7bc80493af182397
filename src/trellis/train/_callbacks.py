"""Callbacks of a training run, and early stopping."""

import math
from collections.abc import Callable, Iterable
from typing import Any

from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.kinds import check_arguments


class Callback:
    """The base class of callbacks; override the methods that you need.

    `run` has `model`, `optimizer`, `history`, `step` (updates so far), `epoch` (from 1), `loss` (of
    the last step) and `stop()`. The model holds the current variables whenever a callback is
    called.
    """

    def on_begin(self, run: Any) -> None:
        """Before the first step."""

    def on_step(self, run: Any) -> None:
        """After every update."""

    def on_epoch(self, run: Any) -> None:
        """After every epoch, its metrics and validation included."""

    def on_end(self, run: Any) -> None:
        """After the last epoch, or after `run.stop()`; not after an error."""


class EarlyStopping(Callback):
    """Stop when a metric has not improved for `patience` epochs.

    `monitor` names an entry of `history.metrics`: "validation_loss" if there are validation data,
    else "loss". An improvement is more than `min_delta`, downwards, or upwards with `mode="max"`.
    With `restore_best` the model ends with the variables and buffers of its best epoch.
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
        if mode not in ("min", "max"):
            raise ArgumentError(f'mode must be "min" or "max", got {mode!r}.')
        if patience < 1:
            raise ArgumentError(f"patience must be at least 1, got {patience}.")
        self.patience, self.monitor, self.mode = patience, monitor, mode
        self.min_delta, self.restore_best = min_delta, restore_best
        self.best = math.inf
        self.waited = 0
        self._state: Any = None

    def on_begin(self, run: Any) -> None:
        self.best, self.waited, self._state = math.inf, 0, None
        # A run that is resumed has a past.
        for value in run.history.metrics.get(self._name(run), []):
            self._note(value)

    def on_epoch(self, run: Any) -> None:
        name = self._name(run)
        if name not in run.history.metrics:
            raise ArgumentError(
                f"EarlyStopping watches {name!r}, which is not recorded; recorded are "
                f"{', '.join(run.history.metrics)}."
            )
        if self._note(run.history.metrics[name][-1]):
            self._state = (run.model.v, run.model.buffers)
        elif self.waited >= self.patience:
            run.history.stopped_early = True
            run.stop()

    def on_end(self, run: Any) -> None:
        if self.restore_best and self._state is not None:
            run.model.v = self._state[0]
            if len(self._state[1]):
                run.model.buffers = self._state[1]
        self._state = None

    def _name(self, run: Any) -> str:
        if self.monitor is not None:
            return self.monitor
        return "validation_loss" if run.has_validation else "loss"

    def _note(self, value: float) -> bool:
        value = value if self.mode == "min" else -value
        if value < self.best - self.min_delta:
            self.best, self.waited = value, 0
            return True
        self.waited += 1
        return False


class _OnEpoch(Callback):
    def __init__(self, fn: Callable[[Any], None]):
        self._fn = fn

    def on_epoch(self, run: Any) -> None:
        self._fn(run)


def as_callbacks(callbacks: Any, early_stopping: Any) -> list[Callback]:
    """Callbacks; a plain function is called after every epoch, a number is the patience of early
    stopping."""
    given = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    if isinstance(early_stopping, bool):
        given += [EarlyStopping()] if early_stopping else []
    elif isinstance(early_stopping, int):
        given.append(EarlyStopping(patience=early_stopping))
    elif early_stopping is not None:
        given.append(early_stopping)
    made: list[Callback] = []
    for callback in given:
        if isinstance(callback, Callback):
            made.append(callback)
        elif callable(callback):
            made.append(_OnEpoch(callback))
        else:
            raise ArgumentTypeError(
                "A callback is a trellis.train.Callback or a function of the run, got "
                f"{callback!r}."
            )
    return made
