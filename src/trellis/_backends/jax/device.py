"""Devices of arrays."""

from typing import Any

import jax

from ..._core.errors import DeviceError
from ._types import Array

_PLATFORMS = {"cuda": "gpu"}


def as_device(device: Any) -> Any:
    """A device or sharding of JAX from itself or from a name such as "cpu" or "gpu:1"; None
    stays None.
    """
    if isinstance(device, (int, float)):
        raise DeviceError(f'A device has a name, such as "cpu" or "gpu:1", got {device!r}.')
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


def device(x: Array, /) -> Any:
    """The device of an array; its sharding where it is spread over several; inside jax.jit the
    default.
    """
    # A tracer stands for an array that is placed only when the compiled function runs.
    return getattr(x, "device", None) or default_device()


def to_device(x: Array, device: Any, /, *, stream: Any = None) -> Any:
    if stream is not None:
        raise DeviceError(
            f"JAX orders its own work and takes no stream, got {stream!r}. Leave it out."
        )
    return jax.device_put(x, as_device(device))


def default_device() -> Any:
    return jax.config.jax_default_device or jax.local_devices()[0]
