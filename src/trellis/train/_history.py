"""The history of a run: losses by step, metrics by epoch."""

import os
from dataclasses import dataclass, field
from typing import Any

from .._core.errors import ArgumentError
from ._curves import Picture, drawn


@dataclass
class History:
    """The history of a run. `losses` has the loss of every step; `metrics` one list per name, with
    the value of every epoch: "loss" (the mean over examples), the metrics of the call, and all of
    them again as "validation_..." if there were validation data.

    >>> history = History([2.0, 1.0], {"loss": [1.5]})
    >>> history.final_loss, history.metrics["loss"]
    (1.0, [1.5])
    """

    losses: list[float] = field(default_factory=list)
    metrics: dict[str, list[float]] = field(default_factory=dict)
    stopped_early: bool = False
    epoch_steps: list[int] = field(default_factory=list)
    validations: list[dict[str, float]] = field(default_factory=list)

    @property
    def final_loss(self) -> float:
        """The loss of the last step; nan if there was none."""
        return self.losses[-1] if self.losses else float("nan")

    def add(self, epoch: dict[str, float]) -> None:
        """Append the values of one epoch."""
        for name, value in epoch.items():
            self.metrics.setdefault(name, []).append(value)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "Loss",
        log_scale: bool = False,
        metric: str = "loss",
    ) -> Picture:
        """The losses of all steps and those on the validation data as a picture, which notebooks
        show; written to a `.svg` or `.png` file too, if one is named.

        Another `metric` is drawn by epochs, with its values on the validation data.
        """
        curves: dict[str, Any] = {}
        if metric == "loss":
            curves["loss"] = self.losses
        elif metric in self.metrics:
            curves[metric] = self._by_step(self.metrics[metric])
        else:
            raise ArgumentError(
                f"The history has no metric {metric!r}; it has {', '.join(self.metrics)}."
            )
        seen = {int(each["step"]): each[metric] for each in self.validations if metric in each}
        if seen:
            curves["validation"] = seen
        if title == "Loss" and metric != "loss":
            title = metric
        return drawn(path, curves, title, "step", metric, log_scale=log_scale)

    def _by_step(self, values: list[float]) -> dict[float, float]:
        """The values of epochs at the steps at which these ended."""
        if len(self.epoch_steps) == len(values):
            return dict(zip(self.epoch_steps, values, strict=True))
        return dict(enumerate(values, 1))  # made by hand, or of an older version

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, as JSON can hold them."""
        return {
            "losses": self.losses,
            "metrics": self.metrics,
            "stopped_early": self.stopped_early,
            "epoch_steps": self.epoch_steps,
            "validations": self.validations,
        }

    def _repr_html_(self) -> str:
        """What notebooks show: the losses as a picture, and the metrics of each epoch."""
        from .._core import html  # for notebooks only

        names = list(self.metrics)
        epochs = max([len(values) for values in self.metrics.values()] + [0])
        rows = [
            [i + 1, *[f"{x[i]:.6g}" if i < len(x) else "" for x in self.metrics.values()]]
            for i in range(epochs)
        ]
        return self.plot().svg + html.table(["epoch", *names], rows, repr(self)[1:-1])

    def __repr__(self) -> str:
        last = ", ".join(
            [f"{name}={values[-1]:.4g}" for name, values in self.metrics.items() if values]
        )
        return f"<History of {len(self.losses)} steps: {last or 'nothing yet'}>"
