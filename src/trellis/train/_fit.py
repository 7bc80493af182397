"""`fit`."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .._core.errors import ArgumentError, DistributedError
from .._core.kinds import check_arguments
from .._core.typing import Array
from ..distributed import is_initialized
from ..distributed import size as number_of_ranks
from ._callbacks import EarlyStopping, as_callbacks
from ._evaluate import check_loss, check_model
from ._history import History
from ._modes import training_mode
from ._names import LossName, Metrics, OptimizerLike, OptimizerName, as_loss, as_optimizer
from ._rates import lent
from ._run import Run
from ._weights import Weights

if TYPE_CHECKING:
    from ..nn.module.module import Module


def fit(
    model: "Module",
    loss: Callable[..., Any] | LossName,
    data: object,
    /,
    *,
    optimizer: "OptimizerLike | OptimizerName",
    epochs: int = 1,
    batch_size: int | None = None,
    shuffle: bool | None = None,
    drop_last: bool = False,
    compile: bool = True,
    progress: bool = True,
    metrics: "Metrics" = None,
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
    class_weight: Weights | None = None,
    sample_weight: Array | Literal["last"] | None = None,
    accumulate: int = 1,
    clip_norm: float | None = None,
    clip_value: float | None = None,
    steps_per_epoch: int | None = None,
    validate_every: int | None = None,
    trainable: str | Sequence[str] | None = None,
    distributed: bool = False,
    synchronize_batch_norm: bool = False,
    sharding: Any = None,
) -> History:
    """Train a model, and return the history of the run.

    `loss(output, target)` is the number to make small; it and the optimizer may be names, such as
    "cross_entropy", "mse" and "adam" (with the default rate of its class). `data` are arrays
    `(inputs, targets)`, cut into batches of `batch_size` and reshuffled for every epoch, the same
    way on every framework; or a `trellis.data.Loader`; or an iterable of batches (a list, a torch
    DataLoader, a tf.data.Dataset), or a function that returns one. A batch `(x1, x2, y)` calls
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

    `class_weight` (a dict, or a list with one number for each class) and `sample_weight` (an array
    with one for each example, or "last": batches are `(x, y, weights)`) multiply the losses of
    examples before their mean is taken. `accumulate` batches make one update, that of the joined
    batch; what is left of an epoch makes one too. `clip_value` cuts the elements of the gradients,
    `clip_norm` shortens them to a norm over all. `steps_per_epoch` batches are an epoch, whatever
    the data are: they go on across epochs, and begin anew when they are through. After every
    `validate_every` updates the validation data are looked at, and at the end of every epoch.

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
    loss = as_loss(loss)
    check_loss("fit", loss)
    check_arguments(fit, locals())
    check_model("fit", model)
    if distributed and sharding is not None:
        raise ArgumentError(
            "sharding spreads a batch over the devices of one process, distributed=True over "
            "processes with one device each: choose one of them."
        )
    kind = _distributed_run() if distributed else Run
    for name, every in (("validate_every", validate_every), ("checkpoint_every", checkpoint_every)):
        if every is not None and every < 1:
            raise ArgumentError(f"{name} must be at least 1, got {every}.")
    run = kind(model, loss, as_optimizer(optimizer), metrics, compile, mixed_precision, seed)
    run.is_synchronized = synchronize_batch_norm
    run.allow_unused, run.allow_nan = allow_unused, allow_nan
    run.class_weight, run.sample_weight = class_weight, sample_weight
    run.accumulate, run.clip_norm, run.clip_value = accumulate, clip_norm, clip_value
    run.steps_per_epoch, run.validate_every = steps_per_epoch, validate_every
    run.trainable = trainable
    run.callbacks = as_callbacks(callbacks, early_stopping, EarlyStopping)
    if checkpoint is None and (resume or checkpoint_every is not None):
        raise ArgumentError(
            "resume and checkpoint_every need the name of a file: fit(..., checkpoint=path)."
        )
    with lent(run.optimizer):
        run.prepare(data, validation_data, batch_size, shuffle, drop_last, cast_data, sharding)
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


def _distributed_run() -> type[Run]:
    """The run of one rank of several; that of a single process is like any other."""
    if not is_initialized():
        raise DistributedError(
            "fit(distributed=True) needs a group of processes: call trellis.distributed.init() "
            "before the model is made, and start the program with `trellis run -n 4 program.py`."
        )
    from ._distributed import DistributedRun

    return DistributedRun if number_of_ranks() > 1 else Run
