"""A run of `fit`: the loop, and the state between two steps."""

import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._array.interchange import to_numpy
from .._core.dispatch import load
from .._core.errors import ArgumentError, NonFiniteError
from .._core.kinds import length_of
from .._core.threefry import fold_in_words
from .._core.typing import Array
from ._accumulation import AccumulatedStep
from ._callbacks import Callback
from ._data import (
    LoaderSource,
    as_batch,
    as_source,
    batch_size_of,
    is_arrays,
    target_of,
)
from ._epoch import Statistics
from ._evaluate import CHECK_EVERY, build
from ._finiteness import LastStep
from ._precision import SMALLEST, checked_precision, first_scale
from ._progress import Progress
from ._rates import with_rate
from ._run_parts import check_rates, clipping_of, first_state
from ._run_state import RunState
from ._step import Parts, evaluation_step, no_scale, training_step
from ._stretches import Stretches
from ._timing import NoClock
from ._trainable import trained_by
from ._weights import weighting_of, with_examples

if TYPE_CHECKING:
    pass

_REFRESH_SECONDS = 0.2


class Run(RunState):
    """A run in progress: from the data to the losses."""

    # Beginning
    # ---------------------------------------------------------------------------------------

    def prepare(
        self,
        data: object,
        validation: object,
        batch_size: int | None,
        shuffle: bool | None,
        drop_last: bool,
        is_cast: bool,
        sharding: Any = None,
    ) -> None:
        model = self.model
        if self.sample_weight is not None:
            data = with_examples(data, self.sample_weight)
        source = as_source(data, batch_size, shuffle, drop_last, fold_in_words(self._words, 0))
        self._data = source
        self._loader = source if isinstance(source, LoaderSource) else None
        if self._loader is not None:
            self._position = self._loader.loader.position
        self._source = source
        if self.steps_per_epoch is not None:
            self._source = Stretches(source, self.steps_per_epoch)
            if self._position:
                raise ArgumentError(
                    "steps_per_epoch begins at the first batch of an epoch of a Loader, and this "
                    f"one is at batch {self._position}: call loader.go_to(epoch, 0) first."
                )
        self._validation = None
        if validation is not None:
            size = batch_size if is_arrays(validation) else None
            self._validation = as_source(validation, size, False, False, (0, 0))
        if not model.built:
            build(model, source, self._loss, has_weights=self.sample_weight is not None)
        self.optimizer = trained_by(model, self.optimizer, self.trainable)
        self._target = target_of(model.v, is_cast, source, sharding)
        backend = self._target.backend
        self._xp = load(backend)
        precision = checked_precision(self._precision, backend)
        self._parts = Parts(
            model,
            self._loss,
            self.optimizer,
            self._metrics,
            backend,
            precision,
            self.allow_unused,
            weighting_of(self.class_weight, self.sample_weight),
            clipping_of(self.clip_norm, self.clip_value),
        )
        self._train_step = self._step_of_parts()
        if getattr(self.optimizer, "measure_every", None) is not None:
            from ._curvature import Curvature  # few runs need it

            self._curvature = Curvature(self._parts, is_compiled=self._is_compiled)
        self._test_step = evaluation_step(
            model, self._loss, self._metrics, is_compiled=self._is_compiled
        )
        self.buffers = model.buffers
        self.v, self.state = first_state(self.optimizer, model.v)
        self._scale = first_scale(backend) if precision == "float16" else no_scale()
        if any([callback.changes_rate for callback in self.callbacks]):
            check_rates(self.optimizer)
            self._scale = with_rate(self._scale, 1.0, backend, self._target.device)
        if any([callback.names_modules for callback in self.callbacks]):
            self._last = LastStep(model, self._loss, precision)

    def _step_of_parts(self) -> Any:
        """The step of one process."""
        if self.accumulate < 1:
            raise ArgumentError(f"accumulate must be at least 1, got {self.accumulate}.")
        timers = [each.clock for each in self.callbacks if each.clock is not None]
        self._clock = timers[0] if timers else NoClock()
        if self.accumulate > 1 and timers:
            raise ArgumentError("A StepTimer measures updates of one batch: leave out accumulate.")
        if self.accumulate > 1:
            self._sums = AccumulatedStep(
                self._parts, self.accumulate, self._target.device, is_compiled=self._is_compiled
            )
            return None
        if timers:
            from ._timed_step import TimedStep

            return TimedStep(self._parts, timers[0], is_compiled=self._is_compiled)
        return training_step(self._parts, is_compiled=self._is_compiled)

    # The loop
    # ----------------------------------------------------------------------------------------

    def train(
        self, epochs: int, is_shown: bool, path: str | os.PathLike[str] | None, every: int | None
    ) -> None:
        per_epoch = length_of(self._source)
        if per_epoch is not None:
            per_epoch = -(-per_epoch // self.accumulate)
        self._checked = len(self.history.losses)
        bar = Progress(
            is_shown, None if per_epoch is None else per_epoch * epochs, self.step, "training"
        )
        self._file = None if path is None else Path(path)
        for callback in self.callbacks:
            callback.on_begin(self)
        try:
            while self.epoch < epochs and not self.is_stopped:
                bar.describe(f"epoch {self.epoch + 1}/{epochs}")
                self._one_epoch(bar, path, every)
                if self.is_stopped and self._position:
                    break
                self.epoch += 1
                self._end_epoch(bar)
                if path is not None:
                    self.save(path)
            if path is not None and self._position:
                self.save(path)
        finally:
            bar.close()

    def _one_epoch(
        self, bar: Progress, path: str | os.PathLike[str] | None, every: int | None
    ) -> None:
        self._shown = time.monotonic()
        self._watchers = [c for c in self.callbacks if type(c).on_step is not Callback.on_step]
        batches = self._source.batches(self.epoch, self._target, self._position)
        for batch in self._clock.iterate("data", batches):
            if self._one_step(batch):
                self._after_step(bar, path, every)
                if self.is_stopped:
                    return
        if self._sums is not None and self._sums.sizes:
            # What is left of the epoch is an update too.
            self._update_of_sums()
            self._after_step(bar, path, every)
            if self.is_stopped:
                return
        self._position = 0

    def _after_step(
        self, bar: Progress, path: str | os.PathLike[str] | None, every: int | None
    ) -> None:
        bar.advance()
        if bar.is_shown and time.monotonic() - self._shown > _REFRESH_SECONDS:
            # Reading a loss waits for it: now and then, not at every step.
            self._collect()
            bar.show({**self._rate_shown(), **self._glance()})
            self._shown = time.monotonic()
        is_saved = path is not None and every is not None and self.step % every == 0
        if self._watchers or is_saved or self.step % CHECK_EVERY == 0:
            self._check_losses()
        if self.validate_every is not None and self.step % self.validate_every == 0:
            self._check_losses()
            self._validate()
        if self._watchers:
            self.hand_over()
            with self._clock.measure("callbacks"):
                for callback in self._watchers:
                    callback.on_step(self)
            self._agree()
        if path is not None and is_saved:
            self.save(path)

    def _rate_shown(self) -> dict[str, float]:
        return {f"lr {name}".rstrip(): rate for name, rate in self.learning_rates.items()}

    def _glance(self) -> dict[str, float]:
        """The loss of the last step, and the metrics of the epoch so far."""
        return {**self._statistics.glance(), "loss": self.history.final_loss}

    def _one_step(self, batch: object) -> bool:
        """Run one batch; whether it ended in an update."""
        inputs, targets = self._as_batch(batch)
        draws = fold_in_words(fold_in_words(self._words, 1), self.step)
        if self._sums is not None:
            draws = fold_in_words(draws, len(self._sums.sizes))
        key = self._xp.random.make_key(*draws, self._target.device)
        if self._last is not None:
            self._last.note(self.v, self.buffers, key, inputs, targets)
        if self._curvature is not None and self.step % self._curvature.every == 0:
            if self._sums is None or not self._sums.sizes:
                self._measure_curvature(key, inputs, targets)
        if self._sums is not None:
            size = batch_size_of(batch)
            self.buffers, values = self._sums.add(
                self.v, self.buffers, self._scale, key, size, inputs, targets
            )
            self._pending.append((size, values))
            if self._sums.is_due:
                self._update_of_sums()
                return True
            return False
        self.v, self.buffers, self.state, self._scale, values = self._train_step(
            self.v, self.buffers, self.state, self._scale, key, inputs, targets
        )
        self.step += 1
        self._position += 1
        self._pending.append((batch_size_of(batch), values))
        return True

    def _measure_curvature(self, key: Any, inputs: Any, targets: Any) -> None:
        assert self._curvature is not None
        draws = fold_in_words(fold_in_words(self._words, 2), self.step)
        own = self._xp.random.make_key(*draws, self._target.device)
        given = (self.v, self.buffers, key, inputs, targets)
        self.state = self._curvature.measured(self.state, own, *given)

    def _update_of_sums(self) -> None:
        assert self._sums is not None
        self._position += len(self._sums.sizes)
        self._updates.append(len(self._sums.sizes))
        self.v, self.state, self._scale = self._sums.update(self.v, self.state, self._scale)
        self.step += 1

    def _as_batch(self, batch: object) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return as_batch(batch, self._loss, has_weights=self.sample_weight is not None)

    def _collect(self) -> None:
        """Read the values of the steps since the last time."""
        losses = []
        for size, values in self._pending:
            losses.append((_number(values["loss"]), size))
            self._note(values, size)
        self._pending.clear()
        if self._sums is None:
            self.history.losses += [loss for loss, _ in losses]
        else:
            # One for each update: the mean over its examples. An update may wait for batches.
            self._losses += losses
            for count in self._updates:
                own, self._losses = self._losses[:count], self._losses[count:]
                total = sum([size for _, size in own])
                self.history.losses.append(sum([loss * size for loss, size in own]) / total)
            self._updates.clear()

    def _note(self, values: dict[str, Any], size: Any) -> None:
        """Add the statistics of a step."""
        self._statistics.add(values, size)

    def _check_losses(self) -> None:
        """Raise if one is not finite; on all ranks at the same step, so that none waits."""
        self._collect()
        losses, first = self.history.losses, self._checked
        self._checked = len(losses)
        if self.allow_nan:
            return
        if self._parts.precision == "float16":
            self._check_scale()
            return
        for i in range(first, len(losses)):
            if not math.isfinite(losses[i]):
                advice = (
                    f"The one before was {losses[i - 1]}: a smaller learning rate helps, or "
                    "optimizer.after(optim.clip_by_global_norm(1.0))."
                    if i
                    else "Look for nan or inf in the data, and for log, sqrt and division in the "
                    "model and the loss."
                )
                where = "" if self._last is None else f" {self._last.culprit()}"
                raise NonFiniteError(
                    f"The loss of step {i + 1} is {losses[i]}.{where} {advice} To go on all the "
                    "same, write fit(..., allow_nan=True)."
                )

    def _check_scale(self) -> None:
        """Raise if no step is taken any more, though the loss is not scaled up at all."""
        value, good, skipped = _scale_of(self._scale)
        if value > SMALLEST or good:
            self._stuck = None
            return
        before, self._stuck = self._stuck, (self.step, skipped)
        if before is None or before[0] == self.step:
            return
        if skipped - before[1] == self.step - before[0]:
            raise NonFiniteError(
                f"The gradients of step {self.step} and of those before it are not finite in "
                f"float16, and the loss scale cannot fall below {SMALLEST:g}; the loss is "
                f"{self.history.final_loss}. If that is finite, its gradients are too large: "
                'divide the loss, or write mixed_precision="bfloat16", which has the range of '
                "float32. To go on all the same, write fit(..., allow_nan=True)."
            )

    def _scale_shown(self) -> dict[str, float]:
        """For the history of an epoch: the loss scale at its end, and the steps it skipped."""
        if self._parts.precision != "float16":
            return {}
        value, _, skipped = _scale_of(self._scale)
        earlier = sum(self.history.metrics.get("skipped_steps", []))
        return {"loss_scale": value, "skipped_steps": skipped - earlier}

    def _end_epoch(self, bar: Progress) -> None:
        self._check_losses()
        found = self._joined(self._statistics).compute()
        self._statistics = Statistics(self._metrics)
        if self._validation is not None:
            validated = self._validate()
            found.update({f"validation_{name}": value for name, value in validated.items()})
        found.update(self._scale_shown())
        self.history.add(found)
        self.history.epoch_steps.append(self.step)
        bar.show({**self._rate_shown(), **found})
        self.hand_over()
        with self._clock.measure("callbacks"):
            for callback in self.callbacks:
                callback.on_epoch(self)
        self._agree()

    def _validate(self) -> dict[str, float]:
        """The values on the validation data after this step; recorded once."""
        if self._validation is None:
            raise ArgumentError("validate_every needs validation data: fit(validation_data=...).")
        if self._validated_at is None or self._validated_at[0] != self.step:
            self.hand_over()
            with self._clock.measure("validation"):
                values = self.evaluate()
            self._validated_at = self.step, values
            self.history.validations.append({"step": self.step, **values})
            for callback in self.callbacks:
                callback.on_validation(self, values)
        return self._validated_at[1]


def _scale_of(scale: Any) -> tuple[float, int, int]:
    """The value of the loss scale, its good steps, and the steps skipped so far."""
    return _number(scale.value), int(_number(scale.good_steps)), int(_number(scale.skipped))


def _number(x: Array | float) -> float:
    return float(to_numpy(x)) if hasattr(x, "dtype") else float(x)
