"""Devices on NumPy: there is one, the CPU."""

from typing import Any

from .casting import _check_device

__all__ = [
    "default_device",
    "device",
    "same_device",
    "to_device",
]


def device(x: Any, /) -> str:
    return "cpu"


def to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    _check_device(device)
    return x


def default_device() -> str:
    return "cpu"


def same_device(*xs: Any) -> None:
    """NumPy arrays always share a device."""
