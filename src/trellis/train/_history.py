"""The history of a run: losses by step, metrics by epoch."""

import os
from dataclasses import dataclass, field
from typing import Any

from ._curves import draw_curves, svg_of_curves


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

    @property
    def final_loss(self) -> float:
        """The loss of the last step; nan if there was none."""
        return self.losses[-1] if self.losses else float("nan")

    def add(self, epoch: dict[str, float]) -> None:
        """Append the values of one epoch."""
        for name, value in epoch.items():
            self.metrics.setdefault(name, []).append(value)

    def plot(
        self, path: str | os.PathLike[str], *, title: str = "Loss", log_scale: bool = False
    ) -> None:
        """Draw the losses to a `.svg` or `.png` file."""
        draw_curves(path, {"loss": self.losses}, title=title, log_scale=log_scale)

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, as JSON can hold them."""
        return {"losses": self.losses, "metrics": self.metrics, "stopped_early": self.stopped_early}

    def _repr_html_(self) -> str:
        """What notebooks show: the losses as a picture, and the metrics of each epoch."""
        from .._core import html  # for notebooks only

        names = list(self.metrics)
        epochs = max([len(values) for values in self.metrics.values()] + [0])
        rows = [
            [i + 1, *[f"{x[i]:.6g}" if i < len(x) else "" for x in self.metrics.values()]]
            for i in range(epochs)
        ]
        picture = svg_of_curves({"loss": self.losses}, "Loss", "step", "loss", False)
        return picture + html.table(["epoch", *names], rows, repr(self)[1:-1])

    def __repr__(self) -> str:
        last = ", ".join(
            [f"{name}={values[-1]:.4g}" for name, values in self.metrics.items() if values]
        )
        return f"<History of {len(self.losses)} steps: {last or 'nothing yet'}>"
