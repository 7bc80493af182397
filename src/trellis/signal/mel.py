"""The mel scale, on which steps that sound equally large are equally large."""

import math
from typing import Literal

import numpy as np

from .._core.dispatch import named_xp
from .._core.dtypes import default_dtype
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.following import computed_while_compiling
from .._core.shapes import one_of
from .._core.typing import Array, Device, DTypeLike
from ._samples import positive, whole

# Slaney's scale: linear up to 1000 Hz, which is 15 mel, then 27 mel for a factor of 6.4.
_LINEAR, _STEP = 1000.0, math.log(6.4) / 27


def mel_filters(
    n_mels: int,
    n_fft: int,
    fs: float,
    /,
    *,
    fmin: float = 0.0,
    fmax: float | None = None,
    scale: Literal["slaney", "htk"] = "slaney",
    norm: Literal["slaney"] | None = "slaney",
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """Triangular filters (n_mels, n_fft // 2 + 1), from frequencies of `rfft` to bands of the mel
    scale between `fmin` and `fmax` (half of the sampling rate `fs`).

    `filters @ trellis.abs(z) ** 2` is the mel spectrogram of `_, _, z = stft(...)`. With norm the
    triangles have area 1, without it height 1. The defaults are those of librosa.

    >>> import trellis
    >>> trellis.signal.mel_filters(2, 8, 8000.0, norm=None).round(2)
    array([[0.  , 0.78, 0.  , 0.  , 0.  ],
           [0.  , 0.22, 0.9 , 0.45, 0.  ]], dtype=float32)
    """
    try:
        bands, points = whole("mel_filters", "n_mels", n_mels), whole("mel_filters", "n_fft", n_fft)
        rate = positive("mel_filters", "fs", fs)
        one_of("mel_filters", "scale", scale, ("slaney", "htk"))
        one_of("mel_filters", "norm", norm, ("slaney", None))
        high = rate / 2 if fmax is None else positive("mel_filters", "fmax", fmax)
        if not 0 <= fmin < high:
            raise ArgumentError(
                f"mel_filters() expects fmin from 0 up to fmax={high}, got fmin={fmin}."
            )
        values = triangles(bands, points, rate, float(fmin), high, scale, norm is not None)
        kind = default_dtype() if dtype is None else dtype
        return named_xp(backend).asarray(values, dtype=kind, device=device)
    except Exception as error:
        return explain(error, mel_filters)


@computed_while_compiling
def triangles(
    bands: int, points: int, rate: float, low: float, high: float, scale: str, has_area: bool
) -> np.ndarray:
    mels = np.linspace(_mel(low, scale), _mel(high, scale), bands + 2)
    edges = np.array([_hertz(mel, scale) for mel in mels])
    frequencies = np.fft.rfftfreq(points, 1 / rate)
    width = np.diff(edges)
    rising = (frequencies - edges[:-2, None]) / width[:-1, None]
    falling = (edges[2:, None] - frequencies) / width[1:, None]
    values = np.maximum(np.minimum(rising, falling), 0)
    return values * 2 / (edges[2:, None] - edges[:-2, None]) if has_area else values


def _mel(hertz: float, scale: str) -> float:
    if scale == "htk":
        return 2595 * math.log10(1 + hertz / 700)
    if hertz < _LINEAR:
        return hertz * 3 / 200
    return 15 + math.log(hertz / _LINEAR) / _STEP


def _hertz(mel: float, scale: str) -> float:
    if scale == "htk":
        return float(700 * (10 ** (mel / 2595) - 1))
    return mel * 200 / 3 if mel < 15 else _LINEAR * math.exp((mel - 15) * _STEP)
