"""Where arrays live."""

from typing import Any

import torch

from ..._core.errors import DeviceError
from ._helpers import _as_device

__all__ = [
    "default_device",
    "device",
    "same_device",
    "to_device",
]


def device(x: Any, /) -> Any:
    return x.device


def to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    if stream is not None:
        raise DeviceError(
            "to_device() takes no stream on PyTorch. Use torch.cuda.stream(...) around it."
        )
    return x.to(_as_device(device))


def default_device() -> Any:
    return torch.get_default_device()


def same_device(*xs: Any) -> None:
    """Raise unless all arrays live on one device."""
    found = None
    for x in xs:
        if isinstance(x, torch.Tensor):
            if found is not None and x.device != found:
                raise DeviceError(
                    f"Arrays on different devices in one call: {found} and {x.device}. "
                    f"Move one first, for example trellis.to_device(x, '{found}')."
                )
            found = x.device
