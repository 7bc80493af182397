"""`evaluate` and `predict`."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .._array.compilation import compile as compiled
from .._array.manipulation import concat
from .._core import tree
from .._core.container import Container
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.kinds import check_arguments, shown
from ._data import LoaderSource, Source, as_batch, as_source, batch_size_of, target_of
from ._epoch import Statistics, as_metrics
from ._modes import evaluation_mode
from ._names import LossName, Metrics, as_loss
from ._step import evaluation_step

if TYPE_CHECKING:
    from ..nn.module.module import Module

CHECK_EVERY = 128  # steps: reading a loss waits for it


def evaluate(
    model: "Module",
    loss: Callable[..., Any] | LossName,
    data: object,
    /,
    *,
    batch_size: int | None = None,
    metrics: "Metrics" = None,
    compile: bool = True,
    cast_data: bool = True,
) -> dict[str, float]:
    """The mean loss over all examples and the metrics of a model, in evaluation mode; loss, data
    and metrics are those of `fit`.

    >>> import numpy as np, trellis
    >>> model = trellis.nn.Identity()
    >>> data = (np.ones(4), np.zeros(4))
    >>> trellis.train.evaluate(model, lambda out, y: trellis.mean(out - y), data)
    {'loss': 1.0}
    """
    fn: Any = as_loss(loss)
    check_loss("evaluate", fn)
    check_arguments(evaluate, locals())
    check_model("evaluate", model)
    source = as_source(data, batch_size, False, False, (0, 0))
    named = as_metrics(metrics)
    if not model.built:
        build(model, source, fn)
    target = target_of(model.v, cast_data, source)
    step = evaluation_step(model, fn, named, is_compiled=compile)
    batches = source.batches(0, target)
    variables = (model.v, model.buffers)
    return evaluated(model, fn, step, batches, variables, Statistics(named)).compute()


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
    check_model("predict", model)
    source = as_source(data, batch_size, False, False, (0, 0))
    if isinstance(source, LoaderSource) and source.loader.is_random:
        raise ArgumentError(
            "predict() gives outputs in the order of the data, and this Loader changes it: make "
            "one with shuffle=False and without weights."
        )
    target = target_of(model.v if model.built else None, cast_data, source)

    def forward(v: Container, buffers: Container, inputs: tuple[Any, ...]) -> Any:
        return model.apply(v, buffers, *inputs)[0]

    forward.made_by = "predict"  # type: ignore[attr-defined]  # for messages
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


def check_loss(function: str, loss: object) -> None:
    """Raise if there are data in the place of the loss."""
    if not callable(loss) and hasattr(loss, "dtype"):
        raise ArgumentTypeError(
            f"{function}() expects a function for loss, got {shown(loss)}. Inputs and targets are "
            f"one argument, after the loss: {function}(model, loss, (x, y), ...)."
        )


def check_model(function: str, model: object) -> None:
    """Raise if it is no model."""
    if not (hasattr(model, "apply") and hasattr(model, "built")):
        raise ArgumentTypeError(
            f"{function}() expects a trellis.Module as its model, got {shown(model)}."
        )


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
            if len(pending) == CHECK_EVERY:
                collect()
    collect()
    return statistics


def build(
    model: "Module", source: Source, loss: Callable[..., Any], *, has_weights: bool = False
) -> None:
    """Create the variables of a model that is built at its first call."""
    for batch in source.batches(0, target_of(None, False, source)):
        inputs, _ = as_batch(batch, loss, has_weights=has_weights)
        was_training = model.training
        model.eval()(*inputs)
        model.train(was_training)
        return
