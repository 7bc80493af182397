"""Keras models as modules, whichever backend Keras runs on."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.dispatch import current_backend
from .._core.errors import ArgumentError, ArgumentTypeError, NotSupportedError
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
    batch axis is dynamic, as are the dynamic axes of the model; `dynamic={}` fixes the sizes of
    `args`. `args` are examples of the inputs; without them, inputs are generated. `train` converts
    the model in training mode: dropout draws from `trellis.random.stream`, and batch norm
    updates its statistics, as buffers.

    >>> import keras
    >>> from trellis import convert
    >>> layers = [keras.layers.Input((4,)), keras.layers.Dense(2, activation="relu")]
    >>> model = convert.from_keras(keras.Sequential(layers), to="numpy")
    >>> [node.op.__name__ for node in model.graph.nodes]
    ['matmul', 'add', 'relu']
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
    from .tensorflow.keras_models import from_keras_on_tensorflow

    example = _example(model) if args is None else tuple(args)
    inputs = _inputs(model)
    return from_keras_on_tensorflow(
        model, example, inputs, to=to, dynamic=dynamic, train=train, verify=verify
    )


def _backend_of(model: Any) -> str:
    if not callable(model) or not hasattr(model, "weights"):
        raise ArgumentTypeError(
            f"from_keras() expects a Keras model or layer, got {type(model).__name__}."
        )
    if type(model).__module__.startswith("tf_keras"):
        return "tensorflow"
    import keras

    return str(keras.backend.backend()) if hasattr(keras.backend, "backend") else "tensorflow"


def _example(model: Any) -> tuple[Any, ...]:
    """Generated inputs for a model that knows their shapes."""
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
            f"from_keras() needs args: the model's input has dynamic axes besides the batch, "
            f"{tuple(spec.shape)}."
        )
    if "int" in spec.dtype:
        return draws.integers(0, 2, size=shape).astype(spec.dtype)
    return draws.normal(size=shape).astype(spec.dtype)


def _from_jax(
    model: Any, args: Any, to: str, dynamic: Any, train: bool, verify: bool
) -> ConvertedModule:
    """Keras on JAX: its stateless call is a function of weights and statistics."""
    from .jax.reader import from_stateful

    trained = [v.path for v in model.trainable_variables]
    others = [v.path for v in model.non_trainable_variables]

    def call(weights: Any, statistics: Any, *xs: Any) -> Any:
        values = [weights[path] for path in trained], [statistics[path] for path in others]
        out, new = model.stateless_call(*values, *xs, training=train)
        return out, dict(zip(others, new))

    now = {v.path: v.value for v in model.variables}
    return from_stateful(
        call,
        {path: now[path] for path in trained},
        {path: now[path] for path in others},
        _example(model) if args is None else tuple(args),
        name=model.name,
        to=to,
        dynamic=dynamic,
        verify=verify,
    )


def _from_torch(
    model: Any, args: Any, to: str, dynamic: Any, train: bool, verify: bool
) -> ConvertedModule:
    """Keras on torch: a model is a torch module."""
    import keras

    from .torch import from_torch

    example = _example(model) if args is None else tuple(args)
    tensors = keras.tree.map_structure(keras.ops.convert_to_tensor, example)
    return from_torch(model, tensors, to=to, dynamic=dynamic, train=train, verify=verify)
