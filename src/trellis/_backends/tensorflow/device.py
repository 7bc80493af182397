"""Devices are TensorFlow's device names, in the full form that `tensor.device` has."""

from typing import Any

import tensorflow as tf

from ..._core.errors import DeviceError
from . import _helpers as _h

__all__ = [
    "default_device",
    "device",
    "same_device",
    "to_device",
]


def default_device() -> str:
    """Where TensorFlow puts an op that names no device: the first GPU, else the CPU."""
    gpus = tf.config.list_logical_devices("GPU")
    return _full_name(gpus[0].name if gpus else "/device:CPU:0")


def device(x: Any, /) -> str:
    # A symbolic tensor has no device before the graph is placed: its name is then empty.
    return x.device or default_device()


def to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    if stream is not None:
        raise DeviceError(
            "TensorFlow has no streams to choose from. Leave out the argument stream."
        )
    with _h.on(device):
        return tf.identity(x)


def same_device(*xs: Any) -> None:
    """Raise where the arrays live on different devices; symbolic tensors fit anywhere."""
    found = [x.device for x in xs if getattr(x, "device", "")]
    for name in found[1:]:
        if name != found[0]:
            raise DeviceError(
                f"Arrays on different devices: {found[0]} and {name}. "
                f"Move one first, for example trellis.to_device(x, {found[0]!r})."
            )


def _full_name(name: str) -> str:
    spec = tf.DeviceSpec(job="localhost", replica=0, task=0)
    full = spec.make_merged_spec(tf.DeviceSpec.from_string(name)).to_string()
    return full
