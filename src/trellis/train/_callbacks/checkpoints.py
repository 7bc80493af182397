"""Checkpoints of a run: the last ones, and the best."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..._core.errors import ArgumentError
from ..._core.kinds import check_arguments
from ..checkpoint import save_checkpoint
from .monitor import Monitoring

if TYPE_CHECKING:
    from .._run_state import RunState

BEST = "best.safetensors"


class Checkpoints(Monitoring):
    """Keep checkpoints of the last epochs in a folder, and that of the best.

    The files are `step-00000120.safetensors` and `best.safetensors`. Each is the whole state of
    the run: `fit(..., checkpoint=path, resume=True)` continues from any of them, and
    `load_checkpoint` reads it. Writing is atomic: a crash leaves the files of before. In the
    background it costs the run only what it takes to look at the arrays; an error is raised at the
    next checkpoint, or at the end. Files that another run has left in the folder stay, but for
    those of the same names.

    Args:
        folder: Where they are written; it is created.
        every: After so many updates; None: after every epoch.
        keep_last: How many of the last ones are kept; the file that `fit(checkpoint=...)` writes is
            never removed.
        keep_best: Whether the best one is kept too, beside them; it is looked for after every
            epoch.
        monitor: What the best is: an entry of `history.metrics`, "validation_loss" if there are
            validation data, else "loss".
        mode: Whether the metric is to become small ("min") or large ("max").
        background: Whether a thread writes them.

    >>> import pathlib, tempfile, numpy as np, trellis
    >>> data = np.ones((4, 1)), np.ones((4, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = trellis.train.fit(
    ...         trellis.nn.Linear(1, 1), "mse_loss", data, optimizer="adam", epochs=5,
    ...         progress=False, callbacks=trellis.train.Checkpoints(folder, keep_last=2),
    ...     )
    ...     sorted([path.name for path in pathlib.Path(folder).iterdir()])
    ['best.safetensors', 'step-00000004.safetensors', 'step-00000005.safetensors']
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        every: int | None = None,
        keep_last: int = 1,
        keep_best: bool = True,
        monitor: str | None = None,
        mode: Literal["min", "max"] = "min",
        background: bool = True,
    ):
        check_arguments(Checkpoints, locals())
        if keep_last < 0 or (every is not None and every < 1):
            raise ArgumentError(
                f"Checkpoints() expects keep_last from 0 and every from 1, got {keep_last} and "
                f"{every}."
            )
        self._watch(monitor, mode, 0.0, 1)
        self.folder, self.every = Path(folder), every
        self.keep_last, self.keep_best, self.background = keep_last, keep_best, background
        self._kept: list[Path] = []
        self._writer: ThreadPoolExecutor | None = None
        self._writing: list[Future[None]] = []

    def on_begin(self, run: "RunState") -> None:
        # Files of later steps are of another run: they are neither counted nor removed. Nor is the
        # one that `fit` writes after every epoch, perhaps while another one is written here.
        self._kept = [
            path
            for path in self._found()
            if _step_of(path) <= run.step and run.step and not _is_same(path, run._file)
        ]
        self._forget()
        for value in self._past(run):
            self._note(value)

    def on_step(self, run: "RunState") -> None:
        if self.every is not None and run.step % self.every == 0 and self.keep_last:
            self._save(run, [_name_of(run.step)])

    def on_epoch(self, run: "RunState") -> None:
        names = [_name_of(run.step)] if self.every is None and self.keep_last else []
        if self.keep_best and self._note(self._latest(run)):
            names.append(BEST)
        if names:
            self._save(run, names)

    def on_end(self, run: "RunState") -> None:
        self._wait()
        if self._writer is not None:
            self._writer.shutdown()
            self._writer = None

    def _save(self, run: "RunState", names: list[str]) -> None:
        found = run.snapshot()
        self._wait()
        if found is None:  # another rank writes
            return
        if not self.background:
            self._write(found[0], found[1], names)
            return
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, "trellis-checkpoints")
        self._writing.append(self._writer.submit(self._write, found[0], found[1], names))

    def _wait(self) -> None:
        """Until the last one is written: no two are under way, and its error is seen."""
        while self._writing:
            self._writing.pop().result()

    def _write(self, state: Any, extra: Any, names: list[str]) -> None:
        for name in names:
            save_checkpoint(self.folder / name, state, extra=extra)
            path = self.folder / name
            if name != BEST and path not in self._kept:
                self._kept.append(path)
        while len(self._kept) > self.keep_last:
            self._kept.pop(0).unlink(missing_ok=True)

    def _found(self) -> list[Path]:
        """The files of steps in the folder, the oldest first."""
        paths = [path for path in self.folder.glob("step-*.safetensors") if _step_of(path) >= 0]
        return sorted(paths, key=_step_of)


def _is_same(path: Path, other: Path | None) -> bool:
    return other is not None and path.resolve() == other.resolve()


def _name_of(step: int) -> str:
    return f"step-{step:08d}.safetensors"


def _step_of(path: Path) -> int:
    digits = path.stem.removeprefix("step-")
    return int(digits) if digits.isdecimal() else -1
