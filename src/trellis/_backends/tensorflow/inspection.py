"""What the namespace can do: `__array_namespace_info__` of the standard."""

import sys

import tensorflow as tf

from ..._core.abilities import Abilities
from ..shared.inspection import Info
from .device import default_device, full_name

ABILITIES = Abilities(
    has_compiler=True,
    compiles_loops=True,
    has_fast_half=True,
    has_index_arrays=False,  # a list is taken for a tuple, and arrays raise
    compiles_collectives=True,
    asks_for_arrays=True,
    max_dimensions=8,
)


class _Info(Info):
    def default_device(self) -> str:
        return default_device()

    def devices(self) -> tuple[str, ...]:
        return tuple([full_name(d.name) for d in tf.config.list_logical_devices()])


def __array_namespace_info__() -> Info:
    return _Info(sys.modules[__package__])  # type: ignore[arg-type]


def layer_types() -> tuple[type, ...]:
    """The framework's own classes of layers, whose parameters Trellis does not see."""
    # A program with a Keras layer has imported Keras, which takes long.
    keras_layer = getattr(sys.modules.get("keras"), "Layer", None)
    return (tf.Module,) if keras_layer is None else (tf.Module, keras_layer)
