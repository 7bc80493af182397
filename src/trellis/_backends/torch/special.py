"""Special functions that are PyTorch's own: where they are as exact, by docs/special.md."""

from collections.abc import Callable
from typing import Any

import torch

_NAMES = ("expit", "logit", "ndtri")

SPECIAL_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {
    (name, kind): getattr(torch.special, name) for name in _NAMES for kind in ("float32", "float64")
}
