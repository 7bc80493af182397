"""`fit`, `evaluate` and `predict`."""

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.compilation import compile as compiled
from .._array.interchange import to_numpy
from .._array.manipulation import concat
from .._core import tree
from .._core.container import Container
from .._core.dispatch import load
from .._core.errors import ArgumentError, ArgumentTypeError, DistributedError, NonFiniteError
from .._core.kinds import check_arguments, shown
from .._core.threefry import Words, fold_in_words
from .._core.typing import Array
from .._random.stream import key_words, next_key
from ..distributed import is_initialized
from ..distributed import size as number_of_ranks
from ._callbacks import Callback, as_callbacks
from ._data import (
    ArraySource,
    LoaderSource,
    Source,
    as_batch,
    as_source,
    batch_size_of,
    is_arrays,
    target_of,
)
from ._epoch import Statistics, as_metrics
from ._history import History
from ._modes import evaluation_mode, training_mode
from ._precision import checked_precision, first_scale
from ._progress import Progress
from ._step import Parts, evaluation_step, no_scale, training_step
from ._trainable import trained_by
from .checkpoint import load_checkpoint, read_checkpoint, read_extra, save_checkpoint

if TYPE_CHECKING:
    from ..data.placing import Target
    from ..nn.module.module import Module

_REFRESH_SECONDS = 0.2
_CHECK_EVERY = 128  # steps: reading a loss waits for it


def fit(
    model: "Module",
    loss: Callable[..., Any],
    data: object,
    /,
    *,
    optimizer: Any,
    epochs: int = 1,
    batch_size: int | None = None,
    shuffle: bool | None = None,
    drop_last: bool = False,
    compile: bool = True,
    progress: bool = True,
    metrics: Any = None,
    validation_data: object = None,
    callbacks: Any = (),
    early_stopping: Any = None,
    seed: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
    mixed_precision: str | None = None,
    cast_data: bool = True,
    allow_unused: bool = False,
    allow_nan: bool = False,
    trainable: str | Sequence[str] | None = None,
    distributed: bool = False,
    synchronize_batch_norm: bool = False,
    sharding: Any = None,
) -> History:
    """Train a model, and return the history of the run.

    `loss(output, target)` is the number to make small. `data` are arrays `(inputs, targets)`, cut
    into batches of `batch_size` and reshuffled for every epoch, the same way on every framework;
    or a `trellis.data.Loader`; or an iterable of batches (a list, a torch DataLoader, a
    tf.data.Dataset), or a function that returns one. A batch `(x1, x2, y)` calls
    `loss(model(x1, x2), y)`; one that is not a tuple calls `loss(model(x))`. Batches are moved to
    the framework and device of the model's variables; with `cast_data` their floats are cast to the
    dtype of the variables (and for JAX without 64-bit types, integers to 32 bits).

    With `compile` a whole step (forward, gradients, update, buffers, random draws) is one compiled
    function; on NumPy it just runs. `metrics` are names ("accuracy", ...), a `Metric`, functions of
    (output, target), or a dict of them; all are exact over the epoch. A function is called once,
    with the outputs and targets of the whole epoch, unless it is a loss of this library or
    `train.Mean(fn)`, a mean over examples. `early_stopping` is a number of epochs or an
    `EarlyStopping`. `seed` fixes the order of the data and all draws; without one it comes from
    `trellis.seed`. `mixed_precision="bfloat16"` (or "float16") computes in 16 bits and keeps the
    variables as they are. A loss that depends on no variable raises, unless `allow_unused`. A loss
    that becomes nan or infinite ends the run with a `NonFiniteError` that names the step, unless
    `allow_nan`; the losses are looked at after every epoch, every 128 steps and before a checkpoint
    is written. (float16 skips such steps itself.)

    `checkpoint` names a file that is written after every epoch, or after every `checkpoint_every`
    steps; with `resume=True` the run resumes from it if it exists, on whichever framework it was
    written. At the end, and when the run is interrupted, `model.v`, `model.buffers` and
    `optimizer.state` hold where it is. A Loader is where it is too, and a checkpoint holds its
    state; `fit` begins at the position of the Loader.

    `trainable` names what is trained, by patterns of key paths such as "head/*" (`optim.groups` has
    their rules): the rest costs no gradient and has no state. Without it, everything is, but for
    what is frozen in the source of a converted model, and what adapters lie on (`nn.lora`).

    A model is trained in training mode, and has its mode of before afterwards: `model.eval()` does
    not last through `fit`. In a model that is in training mode, modules that were set to evaluation
    stay so: `model.encoder.eval()` trains on without its dropout and with fixed statistics.

    With `distributed` all processes of `trellis.distributed` train one model: every rank makes the
    same call with the same data, `batch_size` is that of the joined batch, and the loss is a mean
    over examples. Each rank computes on its share; gradients, losses and metrics are joined exactly
    (docs/distributed.md). Only rank 0 shows progress and writes checkpoints; callbacks run on all.
    `synchronize_batch_norm` takes the statistics of batch norms over the joined batch. `sharding`,
    on JAX, is how a batch is spread over the devices of one process (`distributed.shard`).

    The same, written by hand:

        def step(v, buffers, state, key, x, y):
            def loss_of(v):
                with trellis.random.stream(key):
                    output, new_buffers = model.apply(v, buffers, x)
                return loss(output, y), new_buffers
            (value, buffers), grads = trellis.value_and_grad(loss_of, has_aux=True)(v)
            v, state = optimizer.update(v, grads, state)
            return v, buffers, state, value

        step = trellis.compile(step)
        v, buffers, state = model.v, model.buffers, optimizer.init(model.v)
        for i, (x, y) in enumerate(batches):
            key = trellis.random.fold_in(trellis.random.key(0, backend=trellis.backend_of(x)), i)
            v, buffers, state, value = step(v, buffers, state, key, x, y)
        model.v, model.buffers = v, buffers

    >>> import numpy as np, trellis
    >>> x = np.linspace(-1, 1, 32, dtype="float32").reshape(-1, 1)
    >>> trellis.seed(0)
    >>> model = trellis.nn.Linear(1, 1)
    >>> history = trellis.train.fit(
    ...     model, lambda out, y: trellis.mean((out - y) ** 2), (x, 3 * x + 1),
    ...     optimizer=trellis.optim.Adam(lr=0.1), epochs=100, progress=False,
    ... )
    >>> history.final_loss < 1e-3
    True
    """
    _check_loss("fit", loss)
    check_arguments(fit, locals())
    _check_model("fit", model)
    if distributed and sharding is not None:
        raise ArgumentError(
            "sharding spreads a batch over the devices of one process, distributed=True over "
            "processes with one device each: choose one of them."
        )
    kind = _distributed_run() if distributed else Run
    run = kind(model, loss, optimizer, metrics, compile, mixed_precision, seed)
    run.is_synchronized = synchronize_batch_norm
    run.allow_unused, run.allow_nan = allow_unused, allow_nan
    run.trainable = trainable
    run.prepare(data, validation_data, batch_size, shuffle, drop_last, cast_data, sharding)
    run.callbacks = as_callbacks(callbacks, early_stopping)
    if checkpoint is None and (resume or checkpoint_every is not None):
        raise ArgumentError(
            "resume and checkpoint_every need the name of a file: fit(..., checkpoint=path)."
        )
    if resume and checkpoint is not None:
        run.resume(checkpoint)
    with training_mode(model):
        try:
            run.train(epochs, progress, checkpoint, checkpoint_every)
        finally:
            run.hand_over()
    for callback in run.callbacks:
        callback.on_end(run)
    return run.history


def _distributed_run() -> type["Run"]:
    """The run of one rank of several; that of a single process is like any other."""
    if not is_initialized():
        raise DistributedError(
            "fit(distributed=True) needs a group of processes: call trellis.distributed.init() "
            "before the model is made, and start the program with `trellis run -n 4 program.py`."
        )
    from ._distributed import DistributedRun

    return DistributedRun if number_of_ranks() > 1 else Run


def _check_loss(function: str, loss: object) -> None:
    if not callable(loss) and hasattr(loss, "dtype"):
        raise ArgumentTypeError(
            f"{function}() expects a function for loss, got {shown(loss)}. Inputs and targets are "
            f"one argument, after the loss: {function}(model, loss, (x, y), ...)."
        )


def _check_model(function: str, model: object) -> None:
    if not (hasattr(model, "apply") and hasattr(model, "built")):
        raise ArgumentTypeError(
            f"{function}() expects a trellis.Module as its model, got {shown(model)}."
        )


class Run:
    """A run in progress: what callbacks get to see, and the state between two steps."""

    callbacks: list[Callback]
    is_synchronized = False
    allow_unused = False
    allow_nan = False
    trainable: str | Sequence[str] | None = None
    _checked = 0

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
        if not callable(loss):
            raise ArgumentTypeError(f"loss is a function of (output, target), got {loss!r}.")
        if isinstance(optimizer, tuple):
            raise ArgumentTypeError(
                "optimizer is a pair of functions: give it a rate, "
                "trellis.optim.Optimizer(transformation, lr=0.01)."
            )
        if isinstance(optimizer, type):
            name = optimizer.__name__
            raise ArgumentTypeError(
                f"optimizer is the class {name}: pass an instance, optimizer=optim.{name}(1e-3)."
            )
        if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
            raise ArgumentTypeError(
                "optimizer is one of trellis.optim, for example trellis.optim.Adam(), got "
                f"{optimizer!r}."
            )
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
        self._statistics = Statistics(self._metrics)

    # What callbacks use
    # ------------------------------------------------------------------------------

    @property
    def loss(self) -> float:
        """The loss of the last step."""
        self._collect()
        return self.history.final_loss

    @property
    def has_validation(self) -> bool:
        return self._validation is not None

    def stop(self) -> None:
        """End the run after this step."""
        self.is_stopped = True

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
        self._source: Source = as_source(
            data, batch_size, shuffle, drop_last, fold_in_words(self._words, 0)
        )
        self._loader = self._source if isinstance(self._source, LoaderSource) else None
        if self._loader is not None:
            self._position = self._loader.loader.position
        self._validation: Source | None = None
        if validation is not None:
            size = batch_size if is_arrays(validation) else None
            self._validation = as_source(validation, size, False, False, (0, 0))
        if not model.built:
            _build(model, self._source, self._loss)
        self.optimizer = trained_by(model, self.optimizer, self.trainable)
        self._target: Target = target_of(model.v, is_cast, self._source, sharding)
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
        )
        self._train_step = training_step(self._parts, is_compiled=self._is_compiled)
        self._test_step = evaluation_step(
            model, self._loss, self._metrics, is_compiled=self._is_compiled
        )
        self.v, self.buffers = model.v, model.buffers
        self.state = _first_state(self.optimizer, model.v)
        self._scale = first_scale(backend) if precision == "float16" else no_scale()

    # The loop
    # ----------------------------------------------------------------------------------------

    def train(
        self, epochs: int, is_shown: bool, path: str | os.PathLike[str] | None, every: int | None
    ) -> None:
        per_epoch = _length(self._source)
        self._checked = len(self.history.losses)
        bar = Progress(
            is_shown, None if per_epoch is None else per_epoch * epochs, self.step, "training"
        )
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
        shown = time.monotonic()
        watchers = [c for c in self.callbacks if type(c).on_step is not Callback.on_step]
        for batch in self._source.batches(self.epoch, self._target, self._position):
            self._one_step(batch)
            bar.advance()
            if bar.is_shown and time.monotonic() - shown > _REFRESH_SECONDS:
                # Reading a loss waits for it: now and then, not at every step.
                self._collect()
                bar.show({"loss": self.history.final_loss})
                shown = time.monotonic()
            is_saved = path is not None and every is not None and self.step % every == 0
            if watchers or is_saved or self.step % _CHECK_EVERY == 0:
                self._check_losses()
            if watchers:
                self.hand_over()
                for callback in watchers:
                    callback.on_step(self)
                self._agree()
            if path is not None and is_saved:
                self.save(path)
            if self.is_stopped:
                return
        self._position = 0

    def _one_step(self, batch: object) -> None:
        inputs, targets = as_batch(batch, self._loss)
        draws = fold_in_words(fold_in_words(self._words, 1), self.step)
        key = self._xp.random.make_key(*draws, self._target.device)
        self.v, self.buffers, self.state, self._scale, values = self._train_step(
            self.v, self.buffers, self.state, self._scale, key, inputs, targets
        )
        self.step += 1
        self._position += 1
        self._pending.append((batch_size_of(batch), values))

    def _collect(self) -> None:
        """Read the values of the steps since the last time."""
        for size, values in self._pending:
            self.history.losses.append(_number(values["loss"]))
            self._note(values, size)
        self._pending.clear()

    def _note(self, values: dict[str, Any], size: Any) -> None:
        """Add the statistics of a step."""
        self._statistics.add(values, size)

    def _check_losses(self) -> None:
        """Raise if one is not finite; on all ranks at the same step, so that none waits."""
        self._collect()
        losses, first = self.history.losses, self._checked
        self._checked = len(losses)
        if self.allow_nan or self._parts.precision == "float16":
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
                raise NonFiniteError(
                    f"The loss of step {i + 1} is {losses[i]}. {advice} To go on all the same, "
                    "write fit(..., allow_nan=True)."
                )

    def _end_epoch(self, bar: Progress) -> None:
        self._check_losses()
        found = self._joined(self._statistics).compute()
        self._statistics = Statistics(self._metrics)
        if self._validation is not None:
            validated = self._joined(self._validated(self._validation)).compute()
            found.update({f"validation_{name}": value for name, value in validated.items()})
        self.history.add(found)
        bar.show(found)
        self.hand_over()
        for callback in self.callbacks:
            callback.on_epoch(self)
        self._agree()

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

    def hand_over(self) -> None:
        """Store the state of the run on the model and the optimizer."""
        self._collect()
        self.model.v = self.v
        if len(self.buffers):
            self.model.buffers = self.buffers
        self.optimizer.state = self.state
        if self._loader is not None:
            self._loader.go_to(self.epoch, self._position)

    # Checkpoints
    # -------------------------------------------------------------------------------------

    def _state(self) -> Container:
        key = self._xp.random.make_key(*self._words, self._target.device)
        return Container(
            v=self.v,
            buffers=self.buffers,
            optimizer=self.state,
            scale=self._scale,
            key=key,
            step=self.step,
            metrics=self._statistics.packed(),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        self._collect()
        extra = {
            "epoch": self.epoch,
            "position": self._position,
            "metrics": list(self._metrics),
            "history": self.history.as_dict(),
            "data": self._data_state(),
        }
        save_checkpoint(path, self._state(), extra=extra)

    def _data_state(self) -> dict[str, int] | None:
        """The state of the loader, if there is one."""
        if self._loader is None:
            return None
        return self._loader.state_at(self.epoch, self._position)

    def resume(self, path: str | os.PathLike[str]) -> None:
        if Path(path).exists():
            self.load(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        extra, like = read_extra(path), self._state()
        if not isinstance(extra, dict) or "position" not in extra:
            raise ArgumentError(
                f"{os.fspath(path)} was not written by fit(); read it with load_checkpoint()."
            )
        if "metrics" in extra:
            # How much of them there is depends on the batches so far.
            like.metrics = read_checkpoint(path).metrics
        else:
            del like["metrics"]
            extra = _of_today(extra)
        state = load_checkpoint(path, like)
        if extra["position"] and extra["metrics"] != list(self._metrics):
            raise ArgumentError(
                f"{os.fspath(path)} was written in the middle of an epoch with the metrics "
                f"{extra['metrics']}, this call has {list(self._metrics)}: they could not be exact "
                "over the epoch. Pass the same ones."
            )
        if extra["position"] and extra["metrics"] and "metrics" not in state:
            raise ArgumentError(
                f"{os.fspath(path)} was written in the middle of an epoch by Trellis 0.2, which "
                "kept sums of the means of batches: the metrics could not be exact over the epoch. "
                "Resume from the end of an epoch, or without metrics."
            )
        if (extra.get("data") is None) != (self._loader is None):
            had = "other data" if extra.get("data") is None else "a trellis.data.Loader"
            raise ArgumentError(
                f"{os.fspath(path)} was written by a run with {had}: its batches cannot be "
                "continued with these data. Pass the data of that run."
            )
        if self._loader is not None:
            self._loader.load(extra["data"], extra["epoch"])
        self.v, self.buffers, self.state, self._scale = (
            state.v,
            state.buffers,
            state.optimizer,
            state.scale,
        )
        words = key_words(state.key)
        assert words is not None, "a key from a file has a value"
        self._words, self.step = words, state.step
        self.epoch, self._position = extra["epoch"], extra["position"]
        if extra["position"]:
            packed = state.metrics if "metrics" in state else [extra["loss"]]
            self._statistics.merge_packed(packed, self._target.backend)
        self.history = History(**extra["history"])
        if isinstance(self._source, ArraySource):
            self._source.key = fold_in_words(words, 0)


def _of_today(extra: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint of Trellis 0.2 says, in the words of today."""
    sums, count = extra["sums"], extra["count"]
    loss = {"mean": np.asarray(sums["loss"] / count), "count": np.asarray(count)} if count else None
    return {**extra, "metrics": [name for name in sums if name != "loss"], "loss": loss}


def evaluate(
    model: "Module",
    loss: Callable[..., Any],
    data: object,
    /,
    *,
    batch_size: int | None = None,
    metrics: Any = None,
    compile: bool = True,
    cast_data: bool = True,
) -> dict[str, float]:
    """The mean loss over all examples and the metrics of a model, in evaluation mode; data and
    metrics are those of `fit`.

    >>> import numpy as np, trellis
    >>> model = trellis.nn.Identity()
    >>> data = (np.ones(4), np.zeros(4))
    >>> trellis.train.evaluate(model, lambda out, y: trellis.mean(out - y), data)
    {'loss': 1.0}
    """
    _check_loss("evaluate", loss)
    check_arguments(evaluate, locals())
    _check_model("evaluate", model)
    source = as_source(data, batch_size, False, False, (0, 0))
    named = as_metrics(metrics)
    if not model.built:
        _build(model, source, loss)
    target = target_of(model.v, cast_data, source)
    step = evaluation_step(model, loss, named, is_compiled=compile)
    batches = source.batches(0, target)
    variables = (model.v, model.buffers)
    return evaluated(model, loss, step, batches, variables, Statistics(named)).compute()


def predict(
    model: "Module",
    data: object,
    /,
    *,
    batch_size: int | None = None,
    compile: bool = True,
    cast_data: bool = True,
) -> Any:
    """The outputs of a model, in evaluation mode, for one array or a tuple of its arguments.

    >>> import numpy as np, trellis
    >>> trellis.train.predict(trellis.nn.Identity(), np.arange(5.0), batch_size=2)
    array([0., 1., 2., 3., 4.])
    """
    check_arguments(predict, locals())
    _check_model("predict", model)
    source = as_source(data, batch_size, False, False, (0, 0))
    if isinstance(source, LoaderSource) and source.loader.is_random:
        raise ArgumentError(
            "predict() gives outputs in the order of the data, and this Loader changes it: make "
            "one with shuffle=False and without weights."
        )
    target = target_of(model.v if model.built else None, cast_data, source)

    def forward(v: Container, buffers: Container, inputs: tuple[Any, ...]) -> Any:
        return model.apply(v, buffers, *inputs)[0]

    call = compiled(forward) if compile else forward
    outputs = []
    with evaluation_mode(model):
        for batch in source.batches(0, target):
            inputs = batch if isinstance(batch, tuple) else (batch,)
            if not model.built:
                model(*inputs)
            outputs.append(call(model.v, model.buffers, inputs))
    return (
        tree.map(lambda *parts: concat(list(parts)), *outputs) if len(outputs) > 1 else outputs[0]
    )


# Helpers
# ---------------------------------------------------------------------------------------------


def evaluated(
    model: "Module",
    loss: Callable[..., Any],
    step: Callable[..., Any],
    batches: Iterable[Any],
    variables: tuple[Container, Container],
    statistics: Statistics,
) -> Statistics:
    """The statistics of these batches."""
    pending: list[tuple[int, Any]] = []

    def collect() -> None:
        for size, values in pending:
            statistics.add(values, size)
        pending.clear()

    with evaluation_mode(model):
        for batch in batches:
            inputs, targets = as_batch(batch, loss)
            pending.append((batch_size_of(batch), step(*variables, inputs, targets)))
            if len(pending) == _CHECK_EVERY:
                collect()
    collect()
    return statistics


def _build(model: "Module", source: Source, loss: Callable[..., Any]) -> None:
    """Create the variables of a model that is built at its first call."""
    for batch in source.batches(0, target_of(None, False, source)):
        inputs, _ = as_batch(batch, loss)
        was_training = model.training
        model.eval()(*inputs)
        model.train(was_training)
        return


def _first_state(optimizer: Any, v: Container) -> Any:
    """The optimizer's own state if it matches, so that a second `fit` continues; else a new one."""
    state = getattr(optimizer, "state", None)
    fresh = optimizer.init(v)
    if state is None or len(tree.leaves(state)) == 0:
        return fresh
    if tree.structure(state) != tree.structure(fresh):
        raise ArgumentError(
            "The state of this optimizer belongs to other variables. Make a new optimizer for "
            "another model."
        )
    return state


def _length(source: Source) -> int | None:
    try:
        return len(source)
    except TypeError:
        return None


def _number(x: Array | float) -> float:
    return float(to_numpy(x)) if hasattr(x, "dtype") else float(x)
