"""The `fft` extension of the Array API standard."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from ..._core.guards import check_rank
from ..._core.shapes import check_points, normal_axes
from ._promotion import floating
from ._types import Array
from .casting import as_dtype, default_of
from .device import as_device

Ints = Sequence[int] | None


def _wide(x: Array) -> Any:
    """Integers in the default float, 16 bits in float32: there are no transforms of others."""
    x = floating(x)
    return x.astype("float32") if x.dtype.itemsize == 2 else x


def _check_all_points(x: Array, s: Any, axes: Any) -> None:
    """An axis without elements has no transform."""
    for axis in normal_axes(axes, x.ndim) if s is None else ():
        check_points(x.shape[axis])


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return jnp.fft.fft(_wide(x), n, axis, norm)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return jnp.fft.ifft(_wide(x), n, axis, norm)


def fftn(x: Array, /, *, s: Ints = None, axes: Ints = None, norm: str = "backward") -> Any:
    _check_all_points(x, s, axes)
    return jnp.fft.fftn(_wide(x), s, axes, norm)


def ifftn(x: Array, /, *, s: Ints = None, axes: Ints = None, norm: str = "backward") -> Any:
    _check_all_points(x, s, axes)
    return jnp.fft.ifftn(_wide(x), s, axes, norm)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return jnp.fft.rfft(_wide(x), n, axis, norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(2 * (x.shape[axis] - 1) if n is None else n)
    return jnp.fft.irfft(_wide(x), n, axis, norm)


def rfftn(x: Array, /, *, s: Ints = None, axes: Ints = None, norm: str = "backward") -> Any:
    check_rank("rfftn", x, 1)
    _check_all_points(x, s, axes)
    return jnp.fft.rfftn(_wide(x), s, axes, norm)


def irfftn(x: Array, /, *, s: Ints = None, axes: Ints = None, norm: str = "backward") -> Any:
    check_rank("irfftn", x, 1)
    _check_all_points(x, s, axes)
    return jnp.fft.irfftn(_wide(x), s, axes, norm)


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(2 * (x.shape[axis] - 1) if n is None else n)
    return jnp.fft.hfft(_wide(x), n, axis, norm)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    check_points(x.shape[axis] if n is None else n)
    return jnp.fft.ihfft(_wide(x), n, axis, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    dtype = as_dtype(dtype) or default_of(float)
    return jnp.fft.fftfreq(n, d, dtype=dtype, device=as_device(device))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    dtype = as_dtype(dtype) or default_of(float)
    return jnp.fft.rfftfreq(n, d, dtype=dtype, device=as_device(device))


def fftshift(x: Array, /, *, axes: int | Ints = None) -> Any:
    return jnp.fft.fftshift(x, axes)


def ifftshift(x: Array, /, *, axes: int | Ints = None) -> Any:
    return jnp.fft.ifftshift(x, axes)
