"""Loggers that write through packages of others, which are imported when a run begins."""

import importlib
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..._core.errors import BackendNotInstalledError
from ..._core.kinds import check_arguments
from .loggers import Logger

if TYPE_CHECKING:
    from .._run_state import RunState


class TensorBoardLogger(Logger):
    """Event files for TensorBoard: metrics by epoch, and losses by step.

    Needs the package `tensorboard` (or `tensorboardX`).

    Args:
        folder: The folder of the run.
        every: After how many updates the loss of a step is written too; None: never.

    >>> import trellis
    >>> logger = trellis.train.TensorBoardLogger("runs/first", every=10)
    """

    def __init__(self, folder: str | os.PathLike[str], *, every: int | None = None):
        check_arguments(TensorBoardLogger, locals())
        self._set(every)
        self.folder = os.fspath(folder)
        self._writer: Any = None

    def on_begin(self, run: "RunState") -> None:
        if run.is_first_rank:
            self._writer = _event_writer(self.folder)

    def write(self, step: int, epoch: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def on_epoch(self, run: "RunState") -> None:
        super().on_epoch(run)
        if self._writer is not None:
            self._writer.flush()

    def on_end(self, run: "RunState") -> None:
        if self._writer is not None:
            self._writer.close()


class MLflowLogger(Logger):
    """A run of MLflow: metrics by step, and parameters of your own.

    Needs the package `mlflow` (or `mlflow-skinny`). An active run of MLflow is used, and stays
    open; otherwise one is begun and ended.

    Args:
        experiment: The name of the experiment; None: the active one.
        name: The name of the run.
        parameters: What MLflow records beside the metrics.
        tracking_uri: Where MLflow writes; None: as it is set.
        every: After how many updates the loss of a step is written too; None: never.

    >>> import trellis
    >>> logger = trellis.train.MLflowLogger("digits", parameters={"width": 64})
    """

    def __init__(
        self,
        experiment: str | None = None,
        *,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        tracking_uri: str | None = None,
        every: int | None = None,
    ):
        check_arguments(MLflowLogger, locals())
        self._set(every)
        self.experiment, self.name, self.tracking_uri = experiment, name, tracking_uri
        self.parameters = dict(parameters or {})
        self._mlflow: Any = None
        self._is_ours = False

    def on_begin(self, run: "RunState") -> None:
        if not run.is_first_rank:
            return
        self._mlflow = _package("mlflow", "mlflow-skinny")
        if self.tracking_uri is not None:
            self._mlflow.set_tracking_uri(self.tracking_uri)
        if self.experiment is not None:
            self._mlflow.set_experiment(self.experiment)
        self._is_ours = self._mlflow.active_run() is None
        if self._is_ours:
            self._mlflow.start_run(run_name=self.name)
        if self.parameters:
            self._mlflow.log_params(self.parameters)

    def write(self, step: int, epoch: int, values: dict[str, float]) -> None:
        # MLflow takes no stars, which the patterns of parameter groups have.
        named = {re.sub(r"[^\w\-./ :]", "_", name): value for name, value in values.items()}
        self._mlflow.log_metrics(named, step=step)

    def on_end(self, run: "RunState") -> None:
        if self._mlflow is not None and self._is_ours:
            self._mlflow.end_run()


class WandbLogger(Logger):
    """A run of Weights & Biases: metrics by step, and a configuration of your own.

    Needs the package `wandb`. An open run is used, and stays open; otherwise one is begun and
    finished.

    Args:
        project: The name of the project.
        name: The name of the run.
        config: What is recorded beside the metrics.
        mode: "offline" writes files only, which `wandb sync` uploads; None: as wandb decides.
        folder: Where the files are written; None: as wandb decides.
        every: After how many updates the loss of a step is written too; None: never.

    >>> import trellis
    >>> logger = trellis.train.WandbLogger("digits", mode="offline", config={"width": 64})
    """

    def __init__(
        self,
        project: str | None = None,
        *,
        name: str | None = None,
        config: Mapping[str, Any] | None = None,
        mode: Literal["online", "offline", "disabled"] | None = None,
        folder: str | os.PathLike[str] | None = None,
        every: int | None = None,
    ):
        check_arguments(WandbLogger, locals())
        self._set(every)
        self.project, self.name, self.mode, self.folder = project, name, mode, folder
        self.config = dict(config or {})
        self._run: Any = None
        self._is_ours = False

    def on_begin(self, run: "RunState") -> None:
        if not run.is_first_rank:
            return
        wandb = _package("wandb", "wandb")
        self._is_ours = wandb.run is None
        self._run = wandb.run
        if self._is_ours:
            folder = None if self.folder is None else os.fspath(self.folder)
            self._run = wandb.init(
                project=self.project, name=self.name, config=self.config, mode=self.mode, dir=folder
            )

    def write(self, step: int, epoch: int, values: dict[str, float]) -> None:
        self._run.log({**values, "epoch": epoch}, step=step)

    def on_end(self, run: "RunState") -> None:
        if self._run is not None and self._is_ours:
            self._run.finish()


def _event_writer(folder: str) -> Any:
    """A writer of event files, with add_scalar, flush and close."""
    try:
        writer: Any = importlib.import_module("tensorboard.summary").Writer
        return writer(folder)
    except ImportError:
        try:
            return importlib.import_module("tensorboardX").SummaryWriter(folder)
        except ImportError:
            raise BackendNotInstalledError(
                "TensorBoardLogger needs TensorBoard. Run: pip install tensorboard"
            ) from None


def _package(name: str, installed: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise BackendNotInstalledError(
            f"This logger needs {name}, which is not installed. Run: pip install {installed}"
        ) from None
