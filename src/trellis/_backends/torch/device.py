"""Where arrays live."""

from typing import Any

from ..._core.errors import DeviceError
from ._helpers import as_device
from ._types import Tensor


def device(x: Tensor, /) -> Any:
    return x.device


def to_device(x: Tensor, device: Any, /, *, stream: Any = None) -> Any:
    if stream is not None:
        raise DeviceError(
            "to_device() takes no stream on PyTorch. Use torch.cuda.stream(...) around it."
        )
    return x.to(as_device(device))
