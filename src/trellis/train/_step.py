"""One training step and one evaluation step, as functions that can be compiled whole."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._array.compilation import compile as compiled
from .._core import tree
from .._core.container import Container
from .._core.dispatch import load
from .._core.errors import ArgumentError
from .._core.typing import Array, Nest
from .._gradients.transforms import stop_gradient
from .._random.stream import stream
from ._metrics import Metric
from ._precision import are_finite, cast_floats, choose, is_float, next_scale
from ._trainable import gradients_by
from ._weights import Weighting

if TYPE_CHECKING:
    from ..nn.module.module import Module


class Parts(NamedTuple):
    """What a training step is made of."""

    model: Any
    loss: Callable[..., Any]
    optimizer: Any
    metrics: dict[str, Metric]
    backend: str
    precision: str | None = None
    allow_unused: bool = False
    weighting: Weighting | None = None
    clipping: Any = None


def _raise_unreached(func: object, names: Sequence[str], on_leaves: object) -> None:
    """In training, a loss without any gradient is a mistake even where it uses the variables."""
    from .._gradients.unused import shown_names

    raise ArgumentError(
        "The loss does not depend on any variable of the model, so nothing would be trained: "
        f"{shown_names(names)}. Compute it from the output that it is given, loss(output, target), "
        "with operations that have a gradient (argmax, round and stop_gradient have none), and let "
        "the model use its variables. Where this is meant, write fit(..., allow_unused=True)."
    )


def forward_of(parts: Parts) -> Callable[..., Any]:
    """`forward(v, buffers, key, inputs, targets)`: the loss of a batch, as a step computes it."""
    model, loss, precision, weighting = parts.model, parts.loss, parts.precision, parts.weighting

    def forward(v: Container, buffers: Container, key: Array, inputs: tuple[Any, ...],
                targets: tuple[Any, ...]) -> Any:  # fmt: skip
        if precision is not None:
            v, inputs = cast_floats(v, precision), cast_floats(inputs, precision)
        with stream(key):
            output, _ = model.apply(v, buffers, *inputs)
        if precision is not None:
            output = cast_floats(output, "float32")
        return loss(output, *targets) if weighting is None else weighting(loss, output, targets)

    return forward


def halves(parts: Parts) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two halves of a step, as pure functions.

    `gradients(v, buffers, scale, key, inputs, targets, weight)` gives `(grads, buffers, values)`;
    `values` has the loss and the statistics of the metrics. With a `weight` the loss is multiplied
    by it before it is differentiated; the values are not. `update(v, state, scale, grads)` gives
    `(v, state, scale)`.
    """
    model, loss, optimizer, metrics, backend, precision, allow_unused, weighting, clipping = parts
    when_unreached = None if allow_unused else _raise_unreached
    xp = load(backend)
    is_scaled = precision == "float16"

    def gradients(v: Container, buffers: Container, scale: Container, key: Array,
                  inputs: tuple[Any, ...], targets: tuple[Any, ...],
                  weight: Array | None = None) -> Any:  # fmt: skip
        def loss_of(v: Container) -> Any:
            if precision is not None:
                v, given = cast_floats(v, precision), cast_floats(inputs, precision)
            else:
                given = inputs
            with stream(key):
                output, new_buffers = model.apply(v, buffers, *given)
            if precision is not None:
                output = cast_floats(output, "float32")
            if weighting is None:
                value, shown = loss(output, *targets), targets
            else:
                value, shown = weighting(loss, output, targets), targets[:1]
            # The metrics are of the same forward pass; no gradient goes through them.
            fixed = stop_gradient(output) if metrics else None
            values = {name: metric.measure(fixed, *shown) for name, metric in metrics.items()}
            values["loss"] = stop_gradient(value)
            if weight is not None:
                value = value * xp.astype(weight, value.dtype)
            return (value * scale.value if is_scaled else value), (new_buffers, values)

        (_, (new_buffers, values)), grads = gradients_by(optimizer, loss_of, when_unreached)(v)
        if is_scaled:
            grads = tree.map(lambda g: g / scale.value, grads)
        return grads, new_buffers, values

    def update(v: Container, state: Nest, scale: Container, grads: Container) -> Any:
        given = grads
        if clipping is not None:
            grads, _ = clipping.update(grads, clipping.init(grads))
        new_v, new_state = optimizer.update(v, grads, state)
        if "rate" in scale:
            new_v = _shortened(v, new_v, scale.rate, xp)
        if is_scaled:
            is_finite = are_finite(given, xp)
            new_v, new_state = choose(is_finite, new_v, v), choose(is_finite, new_state, state)
            scale = Container(**{**scale, **next_scale(scale, is_finite, xp)})
        return new_v, new_state, scale

    return gradients, update


def _shortened(v: Container, new_v: Container, factor: Array, xp: Any) -> Any:
    """The step times a factor: that of the learning rate, for every optimizer alike."""
    is_whole = factor == 1  # until then, the same bits as without a factor

    def part(x: Any, y: Any) -> Any:
        if not is_float(x):
            return y
        return xp.where(is_whole, y, x + xp.astype(factor, x.dtype) * (y - x))

    return tree.map(part, v, new_v)


def training_step(parts: Parts, *, is_compiled: bool) -> Callable[..., Any]:
    """A pure function `step(v, buffers, state, scale, key, inputs, targets)`.

    It gives `(v, buffers, state, scale, values)`; `values` has the loss and the statistics of the
    metrics. Everything that changes goes in and comes out, so it is one compiled function: forward,
    gradients, update, buffers, draws.
    """
    gradients, update = halves(parts)

    def step(v: Container, buffers: Container, state: Nest, scale: Container, key: Array,
             inputs: tuple[Any, ...], targets: tuple[Any, ...]) -> Any:  # fmt: skip
        grads, new_buffers, values = gradients(v, buffers, scale, key, inputs, targets)
        new_v, new_state, new_scale = update(v, state, scale, grads)
        return new_v, new_buffers, new_state, new_scale, values

    step.made_by = "fit"  # type: ignore[attr-defined]  # for messages
    return compiled(step) if is_compiled else step


def evaluation_step(
    model: "Module", loss: Callable[..., Any], metrics: dict[str, Metric], *, is_compiled: bool
) -> Callable[..., Any]:
    """A pure function `step(v, buffers, inputs, targets)` that gives the loss and the statistics of
    the metrics."""

    def step(
        v: Container, buffers: Container, inputs: tuple[Any, ...], targets: tuple[Any, ...]
    ) -> Any:
        output, _ = model.apply(v, buffers, *inputs)
        values = {name: metric.measure(output, *targets) for name, metric in metrics.items()}
        values["loss"] = loss(output, *targets)
        return values

    step.made_by = "evaluate"  # type: ignore[attr-defined]
    return compiled(step) if is_compiled else step


def no_scale() -> Container:
    """The loss scale where none is used."""
    return Container()
