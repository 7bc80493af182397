"""The Fourier extension."""

from typing import Any

import torch

from ..._core.shapes import check_points
from ._helpers import _as_device, _default_float
from .casting import as_dtype

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def fft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return torch.fft.fft(x, n, axis, norm)


def ifft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return torch.fft.ifft(x, n, axis, norm)


def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    return torch.fft.fftn(x, s, axes, norm)


def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    return torch.fft.ifftn(x, s, axes, norm)


def rfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return torch.fft.rfft(x, n, axis, norm)


def irfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(2 * (x.shape[axis] - 1) if n is None else n)
    return torch.fft.irfft(x, n, axis, norm)


def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    return torch.fft.rfftn(x, s, axes, norm)


def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    return torch.fft.irfftn(x, s, axes, norm)


def hfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(2 * (x.shape[axis] - 1) if n is None else n)
    return torch.fft.hfft(x, n, axis, norm)


def ihfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return torch.fft.ihfft(x, n, axis, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    return torch.fft.fftfreq(
        n, d, dtype=as_dtype(dtype) or _default_float(), device=_as_device(device)
    )


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    return torch.fft.rfftfreq(
        n, d, dtype=as_dtype(dtype) or _default_float(), device=_as_device(device)
    )


def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    return torch.fft.fftshift(x, axes)


def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    return torch.fft.ifftshift(x, axes)
