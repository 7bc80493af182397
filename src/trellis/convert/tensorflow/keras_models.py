"""Keras models on TensorFlow: the graph of their call, with the paths of their variables."""

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from ..._core.errors import ArgumentError
from ..._core.printable import printable
from .._private import layers_of, statistics_of
from ..finish import finish
from ..module import ConvertedModule
from .reader import parameter_names, read

if TYPE_CHECKING:
    import keras

# What TensorFlow takes for the name of a scope: the first, and those inside it.
_FIRST, _INNER = re.compile(r"[A-Za-z0-9.][\w.\\/>-]*", re.A), re.compile(r"[\w.\\/>-]*", re.A)


def from_keras_on_tensorflow(
    model: "keras.Model",
    example: tuple[Any, ...],
    inputs: list[Any],
    *,
    to: str,
    dynamic: Mapping[str, Mapping[int, str]] | None,
    train: bool,
    verify: bool,
) -> ConvertedModule:
    """A Keras model by the graph of its call; `inputs` are those that the model declares."""
    _check_scopes(model)
    names = _names(model, example, inputs)
    axes = _open_axes(names, inputs) if dynamic is None else dict(dynamic)
    unknown = set(axes) - set(names)
    if unknown:
        raise ArgumentError(
            f"from_keras() got dynamic axes for {sorted(unknown)}; the inputs are {names}."
        )
    specs = [_spec(x, axes.get(name, {})) for name, x in zip(names, example)]
    options = {"training": train} if "training" in inspect.signature(model.call).parameters else {}

    def call(*xs: tf.Tensor) -> Any:
        return model(*xs, **options)

    concrete = tf.function(call, autograph=False).get_concrete_function(*specs)
    reading = read(
        concrete, (example, {}), to, model.name, _variable_names(model), axes, argument_names=names
    )
    reading.source = "Keras"
    trained = {id(v) for v in model.trainable_weights}
    others = {_path(v) for v in model.variables if id(v) not in trained}
    reading.frozen = tuple([chain for chain in reading.variables if chain in others])
    return finish(reading, to=to, with_verification=verify)


def _check_scopes(model: "keras.Model") -> None:
    """Raise for names that TensorFlow refuses. It would do so itself, but Keras then stays inside
    the scope, and everything made afterwards carries the name."""
    for layer in layers_of(model):
        allowed = _FIRST if layer is model else _INNER
        if not allowed.fullmatch(layer.name):
            raise ArgumentError(
                f"from_keras() got a layer called {printable(layer.name, 80)}, which TensorFlow "
                "does not take for a scope name: letters, digits and _ . / > - only. Rename it."
            )


def _variable_names(model: "keras.Model") -> dict[int, tuple[str, bool]]:
    """The handle of each variable with its path, and whether it is a buffer."""
    trained = {id(v) for v in model.trainable_weights}
    statistics = {id(v) for v in statistics_of(model)}
    found = {}
    for v in model.variables:
        native = getattr(v, "value", v)
        native = native if hasattr(native, "handle") else v
        path = _path(v)
        # A frozen layer's weights are still weights: only statistics are buffers.
        found[id(native.handle)] = (path, id(v) not in trained and id(v) in statistics)
    return found


def _path(v: Any) -> str:
    return getattr(v, "path", None) or v.name.partition(":")[0]  # type: ignore[no-any-return]


def _names(model: "keras.Model", example: tuple[Any, ...], inputs: list[Any]) -> list[str]:
    """What the arguments are called."""
    if inputs and len(example) == 1:
        return ["x" if len(inputs) == 1 else "inputs"]
    return list(parameter_names(model.call, len(example)))


def _open_axes(names: list[str], inputs: list[Any]) -> dict[str, dict[int, str]]:
    """The batch, and what a model with one input has open itself."""
    axes: dict[str, dict[int, str]] = {name: {0: "batch"} for name in names}
    if len(inputs) == 1 and len(names) == 1:
        for axis, size in enumerate(inputs[0].shape):
            if size is None and axis > 0:
                axes[names[0]][axis] = f"axis_{axis}"
    return axes


def _spec(x: object, open_axes: Mapping[int, str]) -> Any:
    if isinstance(x, Mapping):
        return {key: _spec(item, open_axes) for key, item in x.items()}
    if isinstance(x, (tuple, list)):
        return [_spec(item, open_axes) for item in x]
    x = np.asarray(x)
    sizes: list[Any] = list(x.shape)
    for axis in open_axes:
        if axis < len(sizes):
            sizes[axis] = None
    return tf.TensorSpec(sizes, x.dtype)
