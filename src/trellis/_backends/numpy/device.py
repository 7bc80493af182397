"""Devices on NumPy: there is one, the CPU."""

from typing import Any

from ..._core.errors import ArgumentError
from ..exports import hand_on
from .casting import check_device


def device(x: Any, /) -> str:
    return "cpu"


def to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    check_device(device)
    if stream is not None:
        raise ArgumentError(f"to_device() has no streams on the CPU, got stream={stream!r}.")
    return x


hand_on(globals())
