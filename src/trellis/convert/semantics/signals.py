"""Signals as ONNX has them: complex numbers as pairs in the last axis."""

import math
from typing import Any

import numpy as np

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.typing import Array

_COSINES = {
    "hann": (0.5, 0.5, 0.0),
    "hamming": (25 / 46, 21 / 46, 0.0),
    "blackman": (0.42, 0.5, 0.08),
}


def fourier(
    x: Array,
    length: int | None = None,
    /,
    *,
    axis: int,
    inverse: bool = False,
    one_sided: bool = False,
) -> Any:
    """The discrete Fourier transform of `x` (..., 1 or 2), real numbers or pairs, as pairs.

    With `one_sided` only the first half of the frequencies; its inverse gives real numbers.
    """
    axis = axis % len(x.shape)
    kind = t.dtype(x)
    real = x[..., 0]
    real = t.astype(real, "float32") if str(kind) in ("float16", "bfloat16") else real
    if x.shape[-1] == 1:
        z: Any = real
    else:
        imaginary = _complex(t.astype(x[..., 1], t.dtype(real), copy=False))
        z = t.add(_complex(real), t.multiply(imaginary, 1j))
    if inverse and one_sided:
        n = 2 * (x.shape[axis] - 1) if length is None else length
        return t.astype(
            t.expand_dims(t.fft.irfft(_complex(z), n=n, axis=axis), -1), kind, copy=False
        )
    n = x.shape[axis] if length is None else length
    y = (t.fft.ifft if inverse else t.fft.fft)(_complex(z), n=n, axis=axis)
    if one_sided:
        y = y[(slice(None),) * axis + (slice(0, n // 2 + 1),)]
    return t.astype(t.stack([t.real(y), t.imag(y)], axis=-1), kind, copy=False)


def short_time_fourier(x: Array, step: int, window: Array | None = None, length: int | None = None,
                       /, *, one_sided: bool = True) -> Any:  # fmt: skip
    """Transforms of pieces of a signal (N, T, 1 or 2), weighted by a window."""
    if length is None:
        length = x.shape[1] if window is None else window.shape[0]
    count = 1 + (x.shape[1] - length) // step
    xp = xp_of(x)
    places = [i * step + j for i in range(count) for j in range(length)]
    index = xp.asarray(places, dtype="int32", device=xp.device(x))
    frames = t.reshape(t.take(x, index, axis=1), (x.shape[0], count, length, x.shape[2]))
    if window is not None:
        frames = frames * t.reshape(window, (-1, 1))
    return fourier(frames, axis=2, one_sided=one_sided)


def window(name: str, size: int, /, *, periodic: bool, dtype: str, backend: str) -> Any:
    """A window of cosines: "hann", "hamming" or "blackman"."""
    first, second, third = _COSINES[name]
    span = size if periodic else max(size - 1, 1)
    turns = [2 * math.pi * i / span for i in range(size)]
    row = [first - second * math.cos(a) + third * math.cos(2 * a) for a in turns]
    return t.asarray(row, dtype=dtype, backend=backend)


def mel_weights(
    bins: int, length: int, rate: int, low: float, high: float, /, *, dtype: str, backend: str
) -> Any:
    """Weights from frequencies of a transform to bins that are equally wide on the mel scale."""
    edges = [2595 * math.log10(1 + hertz / 700) for hertz in (low, high)]
    step = (edges[1] - edges[0]) / (bins + 2)
    mels = [i * step + edges[0] for i in range(bins + 2)]
    places = [math.floor((length + 1) * 700 * (10 ** (mel / 2595) - 1) / rate) for mel in mels]
    weights = np.zeros((length // 2 + 1, bins))
    for i in range(bins):
        begin, middle, end = places[i : i + 3]
        if begin == middle:
            weights[middle, i] = 1
        else:
            for j in range(begin, middle + 1):
                weights[j, i] = (j - begin) / (middle - begin)
        for j in range(middle, end if end > middle else middle):
            weights[j, i] = (end - j) / (end - middle)
    return t.asarray(weights.tolist(), dtype=dtype, backend=backend)


def _complex(z: Array) -> Any:
    kind = str(t.dtype(z))
    if kind.startswith("complex"):
        return z
    return t.astype(z, "complex128" if kind == "float64" else "complex64")
