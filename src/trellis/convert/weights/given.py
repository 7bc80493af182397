"""The weights that users pass (modules, models, dicts, lists, files), as NumPy arrays."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._core.errors import ArgumentError, ArgumentTypeError
from ...nn import Module
from ...nn.module.track import as_record
from .._private import layers_of
from .files import read_safetensors


class Given(NamedTuple):
    """Arrays by name, with what is known about them."""

    arrays: dict[str, Any]
    addresses: Mapping[str, Any]  # their memory addresses: tied weights have two names
    epsilons: Mapping[str, float]  # of the norm that an array belongs to
    has_names: bool = True  # whether the names mean something


def check_model(model: object, function: str) -> None:
    if not isinstance(model, Module):
        raise ArgumentTypeError(
            f"{function}() expects a Trellis module first, got {type(model).__name__}."
        )
    if not model.built:
        raise ArgumentError(
            f"{type(model).__name__} has no variables yet: call build(), or the model once, before "
            f"{function}()."
        )


def given_by_torch(given: Any) -> Given:
    """From a state_dict, a module or a safetensors file."""
    epsilons = _epsilons_of_torch(given)
    if isinstance(given, (str, os.PathLike)):
        given = read_safetensors(given)
    if hasattr(given, "state_dict") and not isinstance(given, Mapping):
        given = given.state_dict()
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            "load_torch_weights() expects a state_dict, a torch module, or the path of a "
            f"safetensors file, got {type(given).__name__}."
        )
    nested = [name for name, x in given.items() if isinstance(x, Mapping)]
    if nested:
        raise ArgumentError(
            f"{nested[0]!r} holds a dict, not an array: this is a checkpoint, and its weights are "
            f"probably checkpoint[{nested[0]!r}]."
        )
    arrays = {name: as_record(x) for name, x in given.items() if hasattr(x, "dtype")}
    addresses = {name: _address(given[name]) for name in arrays if arrays[name].size}
    return Given(arrays, addresses, epsilons)


def _address(x: Any) -> Any:
    where = x.data_ptr() if hasattr(x, "data_ptr") else id(x)
    return where, tuple(x.shape)


def given_by_keras(given: Any) -> Given:
    """From a model or layer, its `get_weights()`, or a dict of arrays by path."""
    if isinstance(given, Mapping):
        return Given({name.removesuffix(":0"): as_record(x) for name, x in given.items()}, {}, {})
    variables = getattr(given, "weights", None)
    if variables is None:
        if not isinstance(given, (list, tuple)):
            raise ArgumentTypeError(
                "load_keras_weights() expects a Keras model or layer, its get_weights(), or a dict "
                f"of arrays, got {type(given).__name__}."
            )
        arrays = {str(i): np.asarray(x) for i, x in enumerate(given)}
        return Given(arrays, {}, {}, has_names=False)
    arrays = {}
    for variable in variables:
        path = _path_of(variable)
        while path in arrays:  # two layers may have the same name
            head, _, last = path.rpartition("/")
            path = f"{head}_/{last}"
        arrays[path] = np.asarray(variable.numpy())
    return Given(arrays, {}, _epsilons_of_keras(given))


def _epsilons_of_torch(given: Any) -> dict[str, float]:
    """Epsilons of norms, by the names of their arrays, if the module itself was passed."""
    found: dict[str, float] = {}
    if not hasattr(given, "named_modules"):
        return found
    for prefix, module in given.named_modules():
        epsilon = getattr(module, "eps", None)
        if isinstance(epsilon, float):
            own = (module.named_parameters(recurse=False), module.named_buffers(recurse=False))
            for name in [name for each in own for name, _ in each]:
                found[f"{prefix}.{name}" if prefix else name] = epsilon
    return found


def _epsilons_of_keras(given: Any) -> dict[str, float]:
    """The same, if a model or layer was passed."""
    found: dict[str, float] = {}
    if not hasattr(given, "weights"):
        return found
    for layer in layers_of(given):
        epsilon = getattr(layer, "epsilon", None)
        if isinstance(epsilon, float):
            found.update({_path_of(variable): epsilon for variable in layer.weights})
    return found


def _path_of(variable: Any) -> str:
    return str(getattr(variable, "path", variable.name)).removesuffix(":0")
