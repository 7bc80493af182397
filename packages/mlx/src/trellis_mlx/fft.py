"""Fourier transforms. MLX's results are complex64: in float64 they raise, as there is no
complex128."""

from typing import Any

import mlx.core as mx

from trellis.backend import check_points

from .types import COMPLEXES, F64, as_float, dtype_name, real_only


def _ready(x: Any) -> Any:
    x = as_float(x)
    if x.dtype == F64:
        dtype_name("complex128")  # says that there is no such type
    return x.astype(mx.float32) if x.dtype not in COMPLEXES and x.dtype != mx.float32 else x


def fft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    return mx.fft.fft(_ready(x), n, axis, norm)


def ifft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    return mx.fft.ifft(_ready(x), n, axis, norm)


def rfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    return mx.fft.rfft(_ready(real_only("rfft", x)), n, axis, norm)


def irfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(2 * (x.shape[axis] - 1) if n is None else n)
    return mx.fft.irfft(_ready(x), n, axis, norm)
