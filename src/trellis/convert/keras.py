"""Keras models as modules, whichever backend Keras runs on."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.dispatch import current_backend
from .._core.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from .finish import finish
from .module import ConvertedModule


def from_keras(
    model: Any,
    args: Sequence[Any] | None = None,
    *,
    to: str | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    train: bool = False,
    verify: bool = True,
) -> ConvertedModule:
    """A Keras model as a module of any framework.

    Its weights become `v` under the paths that Keras gives them, statistics become buffers. The
    batch axis stays open, as do those that the model has open; `dynamic={}` fixes the sizes of
    `args`. `args` are examples of the inputs; without them, they are made up. `train` converts
    what the model does in training: dropout draws from `trellis.random.stream`, and batch norm
    updates its statistics, as buffers.
    """
    to = current_backend() if to is None else to
    backend = _backend_of(model)
    if backend == "jax":
        return _from_jax(model, args, to, dynamic, train, verify)
    if backend == "torch":
        return _from_torch(model, args, to, dynamic, train, verify)
    if backend != "tensorflow":
        raise NotSupportedError(
            f"from_keras() reads models of Keras on TensorFlow, JAX and torch, not on {backend}. "
            "Set KERAS_BACKEND and build the model again."
        )
    return _from_tensorflow(model, args, to, dynamic, train, verify)


def _backend_of(model: Any) -> str:
    if not callable(model) or not hasattr(model, "weights"):
        raise ArgumentTypeError(
            f"from_keras() expects a Keras model or layer, got {type(model).__name__}."
        )
    if type(model).__module__.startswith("tf_keras"):
        return "tensorflow"
    import keras

    return str(keras.backend.backend()) if hasattr(keras.backend, "backend") else "tensorflow"


def _from_tensorflow(
    model: Any,
    args: Sequence[Any] | None,
    to: str,
    dynamic: Mapping[str, Mapping[int, str]] | None,
    train: bool,
    verify: bool,
) -> ConvertedModule:
    import tensorflow as tf

    from .tensorflow.reader import parameter_names, read

    example = _example(model) if args is None else tuple(args)
    names = _names(model, example, parameter_names)
    axes = _open_axes(model, names, example) if dynamic is None else dict(dynamic)
    unknown = set(axes) - set(names)
    if unknown:
        raise ArgumentError(
            f"from_keras() got dynamic axes for {sorted(unknown)}; the inputs are {names}."
        )
    specs = [_spec(tf, x, axes.get(name, {})) for name, x in zip(names, example)]
    options = {"training": train} if _takes_training(model) else {}

    def call(*xs: Any) -> Any:
        return model(*xs, **options)

    concrete = tf.function(call, autograph=False).get_concrete_function(*specs)
    reading = read(
        concrete, (example, {}), to, model.name, _variable_names(model), axes, argument_names=names
    )
    reading.source = "Keras"
    return finish(reading, to=to, with_verification=verify)


def _variable_names(model: Any) -> dict[int, tuple[str, bool]]:
    """The handle of each variable with its path, and whether it is a buffer."""
    trained = {id(v) for v in model.trainable_weights}
    statistics = {id(v) for v in _non_trainable(model)}
    found = {}
    for v in model.variables:
        native = getattr(v, "value", v)
        native = native if hasattr(native, "handle") else v
        path = getattr(v, "path", None) or v.name.partition(":")[0]
        # A frozen layer's weights are still weights: only statistics are buffers.
        found[id(native.handle)] = (path, id(v) not in trained and id(v) in statistics)
    return found


def _non_trainable(model: Any) -> list[Any]:
    """Weights that no layer ever trains."""
    layers = list(model._flatten_layers()) if hasattr(model, "_flatten_layers") else [model]
    own = [v for layer in layers for v in getattr(layer, "_non_trainable_variables", [])]
    return own or list(model.non_trainable_weights)


def _takes_training(model: Any) -> bool:
    if hasattr(model, "_call_has_training_arg"):
        return bool(model._call_has_training_arg)
    return True


def _names(model: Any, example: tuple[Any, ...], parameter_names: Any) -> list[str]:
    """What the arguments are called: a single input after the layer that it came in by."""
    inputs = _inputs(model)
    if inputs and len(example) == 1:
        return ["x" if len(inputs) == 1 else "inputs"]
    return list(parameter_names(model.call, len(example)))


def _open_axes(model: Any, names: list[str], example: tuple[Any, ...]) -> dict[str, dict[int, str]]:
    """The batch, and what a model with one input has open itself."""
    axes: dict[str, dict[int, str]] = {name: {0: "batch"} for name in names}
    inputs = _inputs(model)
    if len(inputs) == 1 and len(names) == 1:
        for axis, size in enumerate(inputs[0].shape):
            if size is None and axis > 0:
                axes[names[0]][axis] = f"axis_{axis}"
    return axes


def _spec(tf: Any, x: Any, open_axes: Mapping[int, str]) -> Any:
    if isinstance(x, Mapping):
        return {key: _spec(tf, item, open_axes) for key, item in x.items()}
    if isinstance(x, (tuple, list)):
        return [_spec(tf, item, open_axes) for item in x]
    x = np.asarray(x)
    sizes: list[Any] = list(x.shape)
    for axis in open_axes:
        if axis < len(sizes):
            sizes[axis] = None
    return tf.TensorSpec(sizes, x.dtype)


def _example(model: Any) -> tuple[Any, ...]:
    """Inputs made up for a model that knows their shapes."""
    if not _inputs(model):
        raise ArgumentError(
            f"from_keras() needs args, an example of the inputs of {type(model).__name__}: it does "
            "not say their shapes itself."
        )
    functional = getattr(model, "_functional", None) or model
    given = getattr(functional, "input", None)
    given = _inputs(model)[0] if given is None else given
    return (_made_up(given, np.random.default_rng(0)),)


def _inputs(model: Any) -> list[Any]:
    """The inputs that a model declares; a sequential one keeps them in a model inside."""
    functional = getattr(model, "_functional", None) or model
    return list(getattr(functional, "inputs", None) or [])


def _made_up(spec: Any, draws: np.random.Generator) -> Any:
    if isinstance(spec, Mapping):
        return {key: _made_up(item, draws) for key, item in spec.items()}
    if isinstance(spec, (tuple, list)):
        return [_made_up(item, draws) for item in spec]
    shape = [2 if axis == 0 else size for axis, size in enumerate(spec.shape)]
    if None in shape:
        raise ArgumentError(
            f"from_keras() needs args: the model's input has open axes besides the batch, "
            f"{tuple(spec.shape)}."
        )
    if "int" in spec.dtype:
        return draws.integers(0, 2, size=shape).astype(spec.dtype)
    return draws.normal(size=shape).astype(spec.dtype)


def _from_jax(
    model: Any, args: Any, to: str, dynamic: Any, train: bool, verify: bool
) -> ConvertedModule:
    """Keras on JAX: its stateless call is a function of weights and statistics."""
    from .jax import from_jax

    example = _example(model) if args is None else tuple(args)
    trained = [v.path for v in model.trainable_variables]
    others = [v.path for v in model.non_trainable_variables]

    def call(weights: Any, statistics: Any, *xs: Any) -> Any:
        values = [weights[path] for path in trained], [statistics[path] for path in others]
        return model.stateless_call(*values, *xs, training=train)[0]

    arrays = [{v.path: v.value for v in model.variables if v.path in paths} for paths in (trained, others)]
    return from_jax(
        call, (*arrays, *example), variables=(0, 1), to=to, dynamic=dynamic, verify=verify
    )


def _from_torch(
    model: Any, args: Any, to: str, dynamic: Any, train: bool, verify: bool
) -> ConvertedModule:
    """Keras on torch: a model is a torch module."""
    from .torch import from_torch

    example = _example(model) if args is None else tuple(args)
    return from_torch(model, example, to=to, dynamic=dynamic, train=train, verify=verify)
