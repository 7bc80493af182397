"""Which learning rate to begin with: a short run in which it grows from step to step."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._core.errors import ArgumentError
from .._core.kinds import check_arguments
from ._callbacks.base import Callback
from ._curves import Picture, drawn
from ._evaluate import check_model
from ._fit import fit
from ._names import LossName, OptimizerLike, OptimizerName, as_loss, as_optimizer
from ._rates import rate_of
from ._run_parts import check_parts

if TYPE_CHECKING:
    from ..nn.module.module import Module


@dataclass
class RateFinding:
    """What `find_learning_rate` saw: the losses at growing rates, and the rate that it suggests.

    >>> RateFinding([0.1, 1.0], [2.0, 1.0], [2.0, 1.0], 0.1).suggestion
    0.1
    """

    rates: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    smoothed: list[float] = field(default_factory=list)
    suggestion: float = math.nan

    def plot(self, path: str | os.PathLike[str] | None = None, /) -> Picture:
        """The losses over the rates as a picture, which notebooks show; written to a `.svg` or
        `.png` file too, if one is named."""
        curves = {
            "loss": dict(zip(self.rates, self.losses, strict=True)),
            "smoothed": dict(zip(self.rates, self.smoothed, strict=True)),
        }
        title = f"Suggested learning rate: {self.suggestion:.2g}"
        return drawn(path, curves, title, "learning rate", "loss", log_x=True)

    def _repr_html_(self) -> str:
        """What notebooks show: the picture."""
        return self.plot().svg


def find_learning_rate(
    model: "Module",
    loss: Callable[..., Any] | LossName,
    data: object,
    /,
    *,
    optimizer: "OptimizerLike | OptimizerName" = "adam",
    lowest: float = 1e-7,
    highest: float = 1.0,
    steps: int = 100,
    smoothing: float = 0.9,
    batch_size: int | None = None,
    compile: bool = True,
    mixed_precision: str | None = None,
    seed: int = 0,
) -> RateFinding:
    """The losses of a short run in which the learning rate grows from `lowest` to `highest`, and a
    rate to begin with: where the smoothed loss falls fastest over a tenth of them (Smith, 2015).

    The run ends early when the loss is four times the smallest one. Model, optimizer and loader
    are afterwards what they were; the rate of the optimizer must be a number. Of groups the rates
    are those of the one with the largest; the others stay in proportion.

    Args:
        model: The model.
        loss: A function of (output, target), or the name of one.
        data: As for `fit`; they begin anew where they are shorter than `steps`.
        optimizer: An optimizer, or the name of one; its own rate does not matter.
        lowest: The rate of the first step.
        highest: The rate of the last step.
        steps: How many steps there are.
        smoothing: How much of the mean of the losses stays at each step.
        batch_size: How many examples a batch has, if the data are arrays.
        compile: Whether the step is compiled.
        mixed_precision: As for `fit`.
        seed: The seed of the order of the data and of all draws.

    >>> import numpy as np, trellis
    >>> x = np.linspace(-1, 1, 64, dtype="float32").reshape(-1, 1)
    >>> trellis.seed(0)
    >>> model = trellis.nn.Linear(1, 1)
    >>> found = trellis.train.find_learning_rate(model, "mse_loss", (x, 3 * x), optimizer="sgd")
    >>> 0.01 < found.suggestion < 1, len(found.losses)
    (True, 100)
    """
    check_arguments(find_learning_rate, locals())
    check_model("find_learning_rate", model)
    if not 0 < lowest < highest or steps < 2 or not 0 <= smoothing < 1:
        raise ArgumentError(
            "find_learning_rate() expects 0 < lowest < highest, at least 2 steps and a smoothing "
            f"from 0 to below 1, got {lowest}, {highest}, {steps} and {smoothing}."
        )
    loss, chosen = as_loss(loss), as_optimizer(optimizer)
    check_parts(loss, chosen)
    kept = chosen.state
    chosen.state = type(kept)()
    place = (data.epoch, data.position) if hasattr(data, "go_to") else None  # type: ignore[attr-defined]
    sweep = _Sweep(lowest, highest, steps, smoothing)
    variables: list[Any] = []
    if model.built:
        variables = [model.v, model.buffers]
    try:
        fit(
            model, loss, data, optimizer=chosen, batch_size=batch_size, compile=compile,
            mixed_precision=mixed_precision, seed=seed, callbacks=sweep, progress=False,
            steps_per_epoch=steps, allow_nan=True,
        )  # fmt: skip
    finally:
        first = variables or sweep.first
        if first:
            model.v = first[0]
            if len(first[1]):
                model.buffers = first[1]
        chosen.state = kept
        if place is not None:
            data.go_to(*place)  # type: ignore[attr-defined]
    return sweep.finding()


class _Sweep(Callback):
    """Rates that grow by the same factor from step to step."""

    changes_rate = True

    def __init__(self, lowest: float, highest: float, steps: int, smoothing: float):
        self._lowest, self._growth = lowest, (highest / lowest) ** (1 / (steps - 1))
        self._smoothing, self._average, self._best = smoothing, 0.0, math.inf
        self._own = math.nan
        self.first: list[Any] = []
        self._seen = RateFinding()

    def on_begin(self, run: Any) -> None:
        self.first = [run.v, run.buffers]
        self._own = rate_of(run.optimizer, run.state)
        if not self._own > 0:
            raise ArgumentError(
                "find_learning_rate() needs an optimizer whose learning rate is a number above 0 "
                f"(no schedule), got {run.optimizer!r}."
            )
        run.rate_factor = self._lowest / self._own

    def on_step(self, run: Any) -> None:
        seen, loss = self._seen, run.loss
        count = len(seen.losses) + 1
        self._average = self._smoothing * self._average + (1 - self._smoothing) * loss
        smoothed = self._average / (1 - self._smoothing**count)
        if not math.isfinite(loss) or (count > 1 and smoothed > 4 * self._best):
            run.stop()
            return
        self._best = min(self._best, smoothed)
        seen.rates.append(self._rate(count - 1))
        seen.losses.append(loss)
        seen.smoothed.append(smoothed)
        run.rate_factor = self._rate(count) / self._own

    def _rate(self, step: int) -> float:
        return float(self._lowest * self._growth**step)

    def finding(self) -> RateFinding:
        """What was seen, with the rate where the loss falls fastest."""
        seen, count = self._seen, len(self._seen.losses)
        # One batch differs from the next, and the mean of the first few from the mean of many: a
        # fall counts over a tenth of the sweep, and once the mean has settled.
        half = max(1, count // 20)
        settled = min(round(1 / (1 - self._smoothing)), count // 4)
        middles = range(settled + half, count - half)
        falls = [seen.smoothed[i + half] - seen.smoothed[i - half] for i in middles]
        if falls:
            seen.suggestion = seen.rates[middles[falls.index(min(falls))]]
        return seen
