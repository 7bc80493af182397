"""Files with the numbers of a run: CSV and JSON lines."""

import csv
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._core.errors import ArgumentError
from ..._core.files import replace_file
from ..._core.kinds import check_arguments
from .base import Callback

if TYPE_CHECKING:
    from .._run_state import RunState


class Logger(Callback):
    """What loggers share: when they write, and what.

    After every epoch the metrics; with `every` also the loss and the learning rate after so many
    updates. Only the first rank writes.
    """

    every: int | None = None

    def _set(self, every: int | None) -> None:
        if every is not None and every < 1:
            raise ArgumentError(
                f"{type(self).__name__}() expects every of at least 1, got {every}."
            )
        self.every = every

    def write(self, step: int, epoch: int, values: dict[str, float]) -> None:
        """Record the values at a step."""
        raise NotImplementedError(f"{type(self).__name__} does not define write().")

    def on_step(self, run: "RunState") -> None:
        if self.every is not None and run.step % self.every == 0 and run.is_first_rank:
            self.write(run.step, run.epoch + 1, {"step_loss": run.loss, **rate_of_run(run)})

    def on_epoch(self, run: "RunState") -> None:
        if run.is_first_rank:
            last = {name: values[-1] for name, values in run.history.metrics.items()}
            self.write(run.step, run.epoch, {**last, **rate_of_run(run)})


def rate_of_run(run: "RunState") -> dict[str, float]:
    """The learning rate, or that of each group, if it is a number."""
    return {f"learning_rate {name}".rstrip(): rate for name, rate in run.learning_rates.items()}


class CSVLogger(Logger):
    """A table of the metrics, one row for each epoch. A run that is resumed goes on in it: rows of
    epochs after the checkpoint are written again.

    Args:
        path: The file.

    >>> import pathlib, tempfile, numpy as np, trellis
    >>> data = np.ones((4, 1)), np.ones((4, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = trellis.train.fit(
    ...         trellis.nn.Linear(1, 1), "mse_loss", data, optimizer="adam", epochs=2,
    ...         progress=False, callbacks=trellis.train.CSVLogger(f"{folder}/run.csv"),
    ...     )
    ...     pathlib.Path(f"{folder}/run.csv").read_text().splitlines()[0]
    'epoch,step,loss,learning_rate'
    """

    def __init__(self, path: str | os.PathLike[str]):
        check_arguments(CSVLogger, locals())
        self.path = Path(path)
        self._columns: list[str] | None = None

    def on_begin(self, run: "RunState") -> None:
        self._columns = None
        if not run.is_first_rank:
            return
        kept: list[str] = []
        if run.epoch and self.path.exists():
            lines = self.path.read_text().splitlines(keepends=True)
            rows = [line for line in lines[1:] if int(line.split(",")[0]) <= run.epoch]
            kept = lines[:1] + rows if lines else []
        if kept:
            self._columns = next(csv.reader(kept[:1]))
        replace_file(self.path, ["".join(kept).encode()])

    def write(self, step: int, epoch: int, values: dict[str, float]) -> None:
        row: dict[str, Any] = {"epoch": epoch, "step": step, **values}
        is_new = self._columns is None
        columns = list(row) if self._columns is None else self._columns
        self._columns = columns
        with open(self.path, "a", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)


class JSONLinesLogger(Logger):
    """One object of JSON on each line: after every epoch, and after every `every` updates. A run
    that is resumed goes on in it: lines of steps after the checkpoint are written again.

    Args:
        path: The file.
        every: After how many updates the loss of a step is written too; None: never.

    >>> import trellis
    >>> logger = trellis.train.JSONLinesLogger("run.jsonl", every=10)
    """

    def __init__(self, path: str | os.PathLike[str], *, every: int | None = None):
        check_arguments(JSONLinesLogger, locals())
        self._set(every)
        self.path = Path(path)

    def on_begin(self, run: "RunState") -> None:
        if run.is_first_rank:
            lines = self.path.read_text().splitlines() if run.step and self.path.exists() else []
            kept = [line for line in lines if json.loads(line)["step"] <= run.step]
            replace_file(self.path, ["".join([f"{line}\n" for line in kept]).encode()])

    def write(self, step: int, epoch: int, values: dict[str, float]) -> None:
        # JSON has no nan: what is not finite is null.
        shown = {name: x if math.isfinite(x) else None for name, x in values.items()}
        with open(self.path, "a") as file:
            file.write(json.dumps({"step": step, "epoch": epoch, **shown}) + "\n")
