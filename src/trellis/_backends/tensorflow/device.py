"""Devices are TensorFlow's device names, in the full form that `tensor.device` has."""

from typing import Any

import tensorflow as tf

from ..._core.errors import DeviceError
from ._helpers import on
from ._types import Tensor


def default_device() -> str:
    """Where TensorFlow puts an op that names no device: the first GPU, else the CPU."""
    gpus = tf.config.list_logical_devices("GPU")
    return full_name(gpus[0].name if gpus else "/device:CPU:0")


def device(x: Tensor, /) -> str:
    # A symbolic tensor has no device before the graph is placed: its name is then empty.
    return x.device or default_device()


def to_device(x: Tensor, device: Any, /, *, stream: Any = None) -> Any:
    if stream is not None:
        raise DeviceError(
            "TensorFlow has no streams to choose from. Leave out the argument stream."
        )
    with on(device):
        return tf.identity(x)


def full_name(name: str) -> str:
    spec = tf.DeviceSpec(job="localhost", replica=0, task=0)
    full = spec.make_merged_spec(tf.DeviceSpec.from_string(name)).to_string()
    return full
