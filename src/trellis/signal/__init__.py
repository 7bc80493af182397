"""Signals: spectra over time, windows, filters, other sampling rates; with SciPy's names.

Signals run along one axis, the last one unless `axis` names another; the other axes are a stack.
Everything is differentiable and can be compiled. Half precision is computed in float32.

>>> import numpy as np, trellis
>>> trellis.signal.lfilter(np.array([1.0]), np.array([1.0, -0.5]), np.array([1.0, 0.0, 0.0]))
array([1.  , 0.5 , 0.25])
"""

from .._core.exports import public_names as _public_names
from .cosines import dct as dct
from .cosines import idct as idct
from .filtering import lfilter as lfilter
from .filtering import sosfilt as sosfilt
from .fourier import fftconvolve as fftconvolve
from .fourier import hilbert as hilbert
from .fourier import next_fast_len as next_fast_len
from .mel import mel_filters as mel_filters
from .resampling import resample as resample
from .resampling import resample_poly as resample_poly
from .spectra import istft as istft
from .spectra import stft as stft
from .windows import get_window as get_window


def __dir__() -> list[str]:
    return _public_names(__name__)
