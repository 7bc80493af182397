"""The fft extension on NumPy. Float32 in gives complex64 out."""

from typing import Any

import numpy as np

from ..._core.dtypes import default_dtype
from ..._core.shapes import check_points
from ._helpers import floating
from .casting import as_dtype, check_device


def _wide(x: Any) -> Any:
    """Integers in the default float, 16 bits in float32: there are no transforms of others."""
    x = floating(x)
    return x.astype("float32") if x.dtype.itemsize == 2 else x


def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return np.fft.fft(_wide(x), n=n, axis=axis, norm=norm)


def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return np.fft.ifft(_wide(x), n=n, axis=axis, norm=norm)


def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return np.fft.rfft(_wide(x), n=n, axis=axis, norm=norm)


def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Any:
    check_points(2 * (x.shape[axis] - 1) if n is None else n)
    return np.fft.irfft(_wide(x), n=n, axis=axis, norm=norm)


def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
    return np.fft.fftn(_wide(x), s=s, axes=_axes(x, s, axes), norm=norm)


def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
    return np.fft.ifftn(_wide(x), s=s, axes=_axes(x, s, axes), norm=norm)


def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
    return np.fft.rfftn(_wide(x), s=s, axes=_axes(x, s, axes), norm=norm)


def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
    return np.fft.irfftn(_wide(x), s=s, axes=_axes(x, s, axes), norm=norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return np.fft.fftfreq(n, d=d).astype(as_dtype(dtype or default_dtype()))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return np.fft.rfftfreq(n, d=d).astype(as_dtype(dtype or default_dtype()))


def _axes(x: Any, s: Any, axes: Any) -> Any:
    """`s` without `axes` means the last axes; NumPy deprecates leaving that unsaid."""
    return tuple(range(x.ndim - len(s), x.ndim)) if axes is None and s is not None else axes


def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    return np.fft.fftshift(x, axes=axes) if _has_axes(x, axes) else np.reshape(x, x.shape)


def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    return np.fft.ifftshift(x, axes=axes) if _has_axes(x, axes) else np.reshape(x, x.shape)


def _has_axes(x: Any, axes: Any) -> bool:
    """np.roll cannot move along no axis."""
    return x.ndim > 0 if axes is None else axes != ()
