"""The state of a run of `fit` between two steps, and what callbacks see of it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._array.interchange import to_numpy
from .._core.container import Container
from .._core.dispatch import load
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.threefry import Words, fold_in_words
from .._random.stream import key_words, next_key
from ._accumulation import AccumulatedStep
from ._callbacks import Callback
from ._data import ArraySource, LoaderSource, Source
from ._epoch import Statistics, as_metrics
from ._evaluate import evaluated
from ._finiteness import LastStep
from ._history import History
from ._rates import RATE, rate_of, rates_of, with_rate
from ._resume import load_run, snapshot
from ._run_parts import check_parts
from ._stretches import Stretches
from ._timing import Clock, NoClock
from ._trainable import keeps_average
from .checkpoint import save_checkpoint

if TYPE_CHECKING:
    from ..data.placing import Target
    from ..nn.module.module import Module
    from ._curvature import Curvature


class RunState:
    """What a run carries from step to step, and what callbacks see of it."""

    callbacks: list[Callback]
    v: Any
    buffers: Any
    state: Any
    _scale: Container
    _target: "Target"
    _source: Any
    _data: Source
    _loader: LoaderSource | None
    _validation: Source | None
    _test_step: Any
    _sums: AccumulatedStep | None = None
    _curvature: "Curvature | None" = None
    is_synchronized = False
    allow_unused = False
    allow_nan = False
    class_weight: Any = None
    sample_weight: Any = None
    accumulate = 1
    clip_norm: float | None = None
    clip_value: float | None = None
    steps_per_epoch: int | None = None
    validate_every: int | None = None
    trainable: str | Sequence[str] | None = None
    _checked = 0
    _stuck: tuple[int, int] | None = None
    is_restored = False
    _file: Path | None = None  # the checkpoint that the run itself writes
    _validated_at: tuple[int, dict[str, float]] | None = None
    # What the callbacks of this run need of it.
    _clock: Clock | NoClock = NoClock()
    _last: LastStep | None = None

    def __init__(
        self,
        model: "Module",
        loss: Any,
        optimizer: Any,
        metrics: Any,
        is_compiled: bool,
        precision: str | None,
        seed: Any,
    ):
        check_parts(loss, optimizer)
        self.model, self.optimizer, self.history = model, optimizer, History()
        self.step, self.epoch, self.is_stopped = 0, 0, False
        self._loss, self._metrics = loss, as_metrics(metrics)
        self._is_compiled, self._precision = is_compiled, precision
        words = key_words(next_key(load("numpy")) if seed is None else seed)
        if words is None:
            raise ArgumentTypeError("fit() needs a seed whose value is known; it cannot be traced.")
        self._words: Words = words
        self._position = 0
        self._pending: list[tuple[Any, Any]] = []
        self._updates: list[int] = []
        self._losses: list[tuple[float, int]] = []
        self._statistics = Statistics(self._metrics)

    # What callbacks use
    # ------------------------------------------------------------------------------

    @property
    def loss(self) -> float:
        """The loss of the last step."""
        self._collect()
        return self.history.final_loss

    @property
    def is_first_rank(self) -> bool:
        """Whether this is the only process, or the first of several: the one that writes files."""
        return True

    @property
    def has_validation(self) -> bool:
        """Whether there are validation data."""
        return self._validation is not None

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next step: that of the optimizer, or the largest of its groups,
        times `rate_factor`; nan if it is no number."""
        return rate_of(self.optimizer, self.state) * self.rate_factor

    @property
    def learning_rates(self) -> dict[str, float]:
        """The learning rates of the next step: of the pattern of each group; {"": rate} without
        groups; {} if they are no numbers."""
        factor = self.rate_factor
        return {name: x * factor for name, x in rates_of(self.optimizer, self.state).items()}

    @property
    def rate_factor(self) -> float:
        """What steps are multiplied by; a callback with `changes_rate = True` may set it."""
        return float(to_numpy(self._scale[RATE])) if RATE in self._scale else 1.0

    @rate_factor.setter
    def rate_factor(self, factor: float) -> None:
        if RATE not in self._scale:
            raise ArgumentError(
                "The learning rate of a compiled step is built in. A callback that changes "
                "run.rate_factor says so: class Mine(trellis.train.Callback): changes_rate = True."
            )
        self._scale = with_rate(self._scale, factor, self._target.backend, self._target.device)

    def evaluate(self, v: Any = None) -> dict[str, float]:
        """The loss and the metrics on the validation data, of the variables of the run or of
        others."""
        if self._validation is None:
            raise ArgumentError("This run has no validation data: fit(..., validation_data=...).")
        mine, self.v = self.v, self.shown if v is None else v
        try:
            return self._joined(self._validated(self._validation)).compute()
        finally:
            self.v = mine

    @property
    def shown(self) -> Any:
        """The variables to evaluate and to keep: those that are trained, or the average that the
        optimizer keeps."""
        if keeps_average(self.optimizer):
            return self.optimizer.averaged(self.v, self.state)
        return self.v

    def stop(self) -> None:
        """End the run after this step."""
        self.is_stopped = True

    # What the loop defines

    def _collect(self) -> None:
        """Read the values of the steps since the last time."""
        raise NotImplementedError

    def _validated(self, source: Source) -> Statistics:
        return evaluated(
            self.model,
            self._loss,
            self._test_step,
            source.batches(0, self._target),
            (self.v, self.buffers),
            Statistics(self._metrics),
        )

    def _joined(self, statistics: Statistics) -> Statistics:
        """Those of all processes."""
        return statistics

    def _agree(self) -> None:
        """Called after callbacks: where there are several processes, all stop or none."""

    # Between steps
    # -------------------------------------------------------------------------------------

    def hand_over(self) -> None:
        """Store the state of the run on the model and the optimizer."""
        self._collect()
        v, state = self.v, self.state
        if keeps_average(self.optimizer):
            v, state = self.optimizer.finished(v, state)
        self.model.v, self.optimizer.state = v, state
        if len(self.buffers):
            self.model.buffers = self.buffers
        if self._loader is not None:
            self._loader.go_to(*self._data_place())

    def _data_place(self) -> tuple[int, int]:
        """The epoch and the position in the data."""
        source = getattr(self._source, "source", self._source)  # that of all ranks
        for each in (self._source, source):
            if isinstance(each, Stretches):
                return each.place(self.epoch, self._position)
        return self.epoch, self._position

    # Checkpoints
    # -------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint from which `fit` resumes; with several processes all call this."""
        found = self.snapshot()
        if found is not None:
            save_checkpoint(path, found[0], extra=found[1])

    def snapshot(self) -> tuple[Container, dict[str, Any]] | None:
        """What `save` writes: the state, and what JSON holds of it. None on ranks that write
        nothing. Later steps do not change it."""
        self._collect()
        return snapshot(self)

    def data_state(self) -> dict[str, int] | None:
        """The state of the loader, if there is one."""
        if self._loader is None:
            return None
        return self._loader.state_at(*self._data_place())

    def resume(self, path: str | os.PathLike[str]) -> None:
        """Continue from a checkpoint, if there is one."""
        if Path(path).exists():
            load_run(self, path)

    def set_words(self, words: Words) -> None:
        """The seed of the run, which gives the order of the data too."""
        self._words = words
        if isinstance(self._data, ArraySource):
            self._data.key = fold_in_words(words, 0)
