"""Devices of arrays."""

from typing import Any

import jax

from ..._core.errors import DeviceError
from ._helpers import is_abstract

__all__ = ["default_device", "device", "same_device", "to_device"]

_PLATFORMS = {"cuda": "gpu"}


def _as_device(device: Any) -> Any:
    """A device or sharding of JAX from itself or from a name such as "cpu" or "gpu:1"; None stays None."""
    if not isinstance(device, str):
        return device
    platform, _, number = device.partition(":")
    try:
        return jax.devices(_PLATFORMS.get(platform, platform))[int(number or 0)]
    except (RuntimeError, IndexError, ValueError):
        known = ", ".join(
            sorted({f"{d.platform}:{d.id}" for d in jax.devices() + jax.devices("cpu")})
        )
        raise DeviceError(f"JAX has no device {device!r} here. It has: {known}.") from None


def device(x: Any, /) -> Any:
    """The device of an array; its sharding where it is spread over several; inside jax.jit the default."""
    # A tracer stands for an array that is placed only when the compiled function runs.
    return getattr(x, "device", None) or default_device()


def to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    if stream is not None:
        raise DeviceError(
            f"JAX orders its own work and takes no stream, got {stream!r}. Leave it out."
        )
    return jax.device_put(x, _as_device(device))


def default_device() -> Any:
    return jax.config.jax_default_device or jax.local_devices()[0]


def same_device(*xs: Any) -> None:
    """Raise unless all arrays are on one device; tracers, which are placed later, pass."""
    placed = [x.sharding.device_set for x in xs if hasattr(x, "sharding") and not is_abstract(x)]
    if any([devices != placed[0] for devices in placed]):
        raise DeviceError(
            f"The arrays are on different devices: {', '.join(map(str, placed))}. "
            "Move them to one with to_device(x, device) first."
        )
