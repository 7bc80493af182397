"""What PyTorch can do."""

import sys
from typing import Any

import torch

from ..._core.abilities import Abilities
from ..shared.inspection import Info

ABILITIES = Abilities(has_compiler=True, has_fast_half=True)


class _Info(Info):
    def default_device(self) -> Any:
        return torch.get_default_device()

    def devices(self) -> tuple[Any, ...]:
        found = [torch.device("cpu")]
        if torch.accelerator.is_available():
            kind = torch.accelerator.current_accelerator().type
            found += [torch.device(kind, i) for i in range(torch.accelerator.device_count())]
        return tuple(found)


def __array_namespace_info__() -> Info:
    return _Info(sys.modules[__package__])  # type: ignore[arg-type]


def layer_types() -> tuple[type, ...]:
    """The framework's own classes of layers, whose parameters Trellis does not see."""
    return (torch.nn.Module,)
