"""Activations: PyTorch's own kernels, 3 to 30 times faster than the same formula in steps."""

from typing import Any

import torch
import torch.nn.functional as F

from ._helpers import _axes

__all__ = [
    "elu", "gelu", "hard_tanh", "leaky_relu", "log_softmax", "relu", "sigmoid", "silu", "softmax", "softplus",
]  # fmt: skip

relu = torch.relu
sigmoid = torch.sigmoid
silu = F.silu


def softplus(x: Any, /) -> Any:
    # PyTorch's own turns into x at 20, where the difference is still 2e-9.
    return F.softplus(x, threshold=40.0) if x.dtype is torch.float64 else F.softplus(x)


def gelu(x: Any, /, *, approximate: bool = False) -> Any:
    return F.gelu(x, approximate="tanh" if approximate else "none")


def elu(x: Any, /, *, alpha: float, scale: float) -> Any:
    y = F.elu(x, alpha)
    return y if scale == 1 else scale * y


def leaky_relu(x: Any, /, *, negative_slope: float) -> Any:
    return F.leaky_relu(x, negative_slope)


def hard_tanh(x: Any, /, *, low: float, high: float) -> Any:
    return F.hardtanh(x, low, high)


def softmax(x: Any, /, *, axis: Any) -> Any:
    if isinstance(axis, int):
        return torch.softmax(x, axis)
    axes = _axes(axis, x.ndim)
    parts = torch.exp(x - torch.amax(x, axes, True).detach())
    return parts / torch.sum(parts, axes, True)


def log_softmax(x: Any, /, *, axis: Any) -> Any:
    if isinstance(axis, int):
        return torch.log_softmax(x, axis)
    return x - torch.logsumexp(x, _axes(axis, x.ndim), True)
