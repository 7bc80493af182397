"""Devices, for a framework that has only the CPU."""

from typing import Any

from ...._core.errors import ArgumentError, DeviceError
from ...._core.typing import Device
from ...array_api import Native
from . import xp


def device(x: Native, /) -> Any:
    return "cpu"


def to_device(x: Native, device: Device, /, *, stream: Any = None) -> Native:
    if device != "cpu":
        raise DeviceError(f"Arrays of {xp.__name__} live on 'cpu'; there is no device {device!r}.")
    if stream is not None:
        raise ArgumentError(f"to_device() has no streams on the CPU, got stream={stream!r}.")
    return x


def check_leaving(x: Native, /) -> None:
    """`to_numpy` itself raises where a gradient would be lost."""
    if not xp.lasts(x):
        xp.to_numpy(x)
