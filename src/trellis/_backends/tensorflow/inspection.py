"""What the namespace can do: `__array_namespace_info__` of the standard."""

import sys
from typing import Any

import tensorflow as tf

from ..._core import dtypes
from ..exports import hand_on
from ._helpers import default_complex, default_float
from .device import default_device, full_name

_EVERY: tuple[str, ...] = ("bool", *dtypes.NUMERIC)


class _Info:
    """The inspection object of the standard."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> str:
        return default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        return {
            "real floating": default_float(),
            "complex floating": default_complex(),
            "integral": tf.int64,
            "indexing": tf.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        if kind is None:
            names = _EVERY
        elif isinstance(kind, tuple):
            names = tuple([name for k in kind for name in dtypes.KINDS[k]])
        else:
            names = dtypes.KINDS[kind]
        return {name: tf.as_dtype(name) for name in names if name not in ("float16", "bfloat16")}

    def devices(self) -> list[str]:
        return [full_name(d.name) for d in tf.config.list_logical_devices()]


def __array_namespace_info__() -> _Info:
    return _Info()


def layer_types() -> tuple[type, ...]:
    """The classes of the framework's own layers: Trellis does not see their parameters."""
    # A program with a Keras layer has imported Keras, which takes long.
    keras_layer = getattr(sys.modules.get("keras"), "Layer", None)
    return (tf.Module,) if keras_layer is None else (tf.Module, keras_layer)


hand_on(globals())
