"""The Fourier extension."""

from typing import Any

import torch

from ..._core.shapes import check_points
from ._helpers import as_device, as_float, default_float
from ._types import Tensor
from .casting import as_dtype


def _wide(x: Tensor) -> Any:
    """Integers in the default float, 16 bits in float32: there are no transforms of others."""
    x = as_float(x)
    return x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


def fft(x: Tensor, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return torch.fft.fft(_wide(x), n, axis, norm)


def ifft(x: Tensor, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return torch.fft.ifft(_wide(x), n, axis, norm)


def fftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    return torch.fft.fftn(_wide(x), s, axes, norm)


def ifftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    return torch.fft.ifftn(_wide(x), s, axes, norm)


def rfft(x: Tensor, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return torch.fft.rfft(_wide(x), n, axis, norm)


def irfft(x: Tensor, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(2 * (x.shape[axis] - 1) if n is None else n)
    return torch.fft.irfft(_wide(x), n, axis, norm)


def rfftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    return torch.fft.rfftn(_wide(x), s, axes, norm)


def irfftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    return torch.fft.irfftn(_wide(x), s, axes, norm)


def hfft(x: Tensor, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(2 * (x.shape[axis] - 1) if n is None else n)
    return torch.fft.hfft(_wide(x), n, axis, norm)


def ihfft(x: Tensor, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return torch.fft.ihfft(_wide(x), n, axis, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    return torch.fft.fftfreq(
        n, d, dtype=as_dtype(dtype) or default_float(), device=as_device(device)
    )


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    return torch.fft.rfftfreq(
        n, d, dtype=as_dtype(dtype) or default_float(), device=as_device(device)
    )


def fftshift(x: Tensor, /, *, axes: Any = None) -> Any:
    return torch.fft.fftshift(x, axes) if _has_axes(x, axes) else x.clone()


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Any:
    return torch.fft.ifftshift(x, axes) if _has_axes(x, axes) else x.clone()


def _has_axes(x: Tensor, axes: Any) -> bool:
    """torch.roll cannot move along no axis."""
    return x.ndim > 0 if axes is None else axes != ()
