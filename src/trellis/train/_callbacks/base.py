"""Callbacks of a training run."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..._core.errors import ArgumentTypeError
from .._timing import Clock

if TYPE_CHECKING:
    from .._run_state import RunState


class Callback:
    """The base class of callbacks; override the methods that you need.

    `run` has `model`, `optimizer`, `history`, `step` (updates so far), `epoch` (from 1), `loss` (of
    the last step), `learning_rate`, `has_validation`, `evaluate(v)` on the validation data,
    `save(path)` and `stop()`. The model holds the current variables whenever a callback is called.
    With several processes the callbacks of all ranks are called.

    A subclass with `changes_rate = True` may set `run.rate_factor`, by which steps are multiplied.
    One with `has_state = True` gives arrays and numbers in `state`, which are in checkpoints, and
    takes them back in `load_state`.
    """

    changes_rate = False
    has_state = False
    names_modules = False
    clock: Clock | None = None

    def state(self, run: "RunState") -> Any:
        """A pytree of arrays and numbers to be in checkpoints; of the same structure always."""
        raise NotImplementedError(f"{type(self).__name__} has a state and does not define state().")

    def load_state(self, state: Any) -> None:
        """Continue from what `state` gave."""
        raise NotImplementedError(f"{type(self).__name__} does not define load_state().")

    def on_begin(self, run: "RunState") -> None:
        """Before the first step."""

    def on_step(self, run: "RunState") -> None:
        """After every update."""

    def on_validation(self, run: "RunState", values: dict[str, float]) -> None:
        """After every look at the validation data: the loss and the metrics."""

    def on_epoch(self, run: "RunState") -> None:
        """After every epoch, its metrics and validation included."""

    def on_end(self, run: "RunState") -> None:
        """After the last epoch, or after `run.stop()`; not after an error."""


class _OnEpoch(Callback):
    def __init__(self, fn: Callable[[Any], None]):
        self._fn = fn

    def on_epoch(self, run: "RunState") -> None:
        self._fn(run)


def as_callbacks(
    callbacks: object, early_stopping: Any, default: Callable[..., Callback]
) -> list[Callback]:
    """Callbacks; a plain function is called after every epoch, a number is the patience of early
    stopping, whose class is `default`."""
    given = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    if isinstance(early_stopping, bool):
        given += [default()] if early_stopping else []
    elif isinstance(early_stopping, int):
        given.append(default(patience=early_stopping))
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
