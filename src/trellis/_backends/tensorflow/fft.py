"""The Fourier transform extension of the standard."""

from typing import Any

import tensorflow as tf

from ..._core.errors import DtypeError
from ..._core.shapes import check_points, normal_axes
from ._helpers import COMPLEX, default_float, floating, move, on, rank, sizes
from ._types import Tensor
from .casting import as_dtype
from .manipulation import roll


def _complex(x: Tensor) -> Any:
    if x.dtype in COMPLEX:
        return x
    x = floating(x)
    return tf.cast(x, tf.complex128 if x.dtype is tf.float64 else tf.complex64)


def _real(x: Tensor, name: str) -> Any:
    if x.dtype in COMPLEX:
        raise DtypeError(
            f"{name}() expects real values, got {x.dtype.name}. Use {name.replace('r', '')}()."
        )
    x = floating(x)
    return x if x.dtype in (tf.float32, tf.float64) else tf.cast(x, tf.float32)


def _sized(x: Tensor, n: Any) -> Any:
    """The last axis cut off or filled with zeros to length n."""
    length = sizes(x)[-1]
    if isinstance(length, int) and isinstance(n, int):
        if n < length:
            return x[..., :n]
        if n > length:
            return tf.pad(x, [[0, 0]] * (rank(x) - 1) + [[0, n - length]])
        return x
    x = x[..., :n]
    return tf.pad(x, [[0, 0]] * (rank(x) - 1) + [[0, tf.maximum(n - length, 0)]])


def _scaled(x: Tensor, n: Any, norm: str, whole: str) -> Any:
    """Multiply by 1/n for the norm `whole`, by n for its opposite, by a root for "ortho"."""
    real = x.dtype.real_dtype
    count = tf.cast(n, real)
    factor = 1 / (tf.sqrt(count) if norm == "ortho" else count)
    return x * tf.cast(factor if whole == "divide" else 1 / factor, x.dtype)


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    x = move(_complex(x), axis, -1)
    n = sizes(x)[-1] if n is None else n
    check_points(n)
    result = tf.signal.fft(_sized(x, n))
    if norm != "backward":
        result = _scaled(result, n, norm, "divide")
    return move(result, -1, axis)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    x = move(_complex(x), axis, -1)
    n = sizes(x)[-1] if n is None else n
    check_points(n)
    result = tf.signal.ifft(_sized(x, n))
    if norm != "backward":
        result = _scaled(result, n, norm, "multiply")
    return move(result, -1, axis)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    x = move(_real(x, "rfft"), axis, -1)
    n = sizes(x)[-1] if n is None else n
    check_points(n)
    result = _half_spectrum(_sized(x, n), n)
    if norm != "backward":
        result = _scaled(result, n, norm, "divide")
    return move(result, -1, axis)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    x = move(_complex(x), axis, -1)
    n = 2 * (sizes(x)[-1] - 1) if n is None else n
    check_points(n)
    result = _from_half_spectrum(_sized(x, n // 2 + 1), n)
    if norm != "backward":
        result = _scaled(result, n, norm, "multiply")
    return move(result, -1, axis)


def _half_spectrum(x: Tensor, n: Any) -> Any:
    return tf.signal.rfft(x, [n])


def _from_half_spectrum(x: Tensor, n: Any) -> Any:
    return tf.signal.irfft(x, [n])


# Several axes -------------------------------------------------------------------------------------


# Frequencies --------------------------------------------------------------------------------------


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    with on(device):
        index = tf.concat([tf.range((n + 1) // 2), tf.range(-(n // 2), 0)], 0)
        return _frequencies(index, n * d, dtype)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    with on(device):
        return _frequencies(tf.range(n // 2 + 1), n * d, dtype)


def _frequencies(index: Any, duration: float, dtype: Any) -> Any:
    dtype = default_float() if dtype is None else as_dtype(dtype)
    return tf.cast(tf.cast(index, tf.float64) / duration, dtype)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Any:
    places = normal_axes(axes, rank(x))
    shape = sizes(x)
    return roll(x, [shape[a] // 2 for a in places], axis=places)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Any:
    places = normal_axes(axes, rank(x))
    shape = sizes(x)
    return roll(x, [-(shape[a] // 2) for a in places], axis=places)
