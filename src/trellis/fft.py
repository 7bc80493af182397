"""Discrete Fourier transforms. `norm` says which direction carries the factor 1/n, or "ortho" for
both.

>>> import numpy as np, trellis
>>> trellis.fft.rfft(np.array([1.0, 1.0, 1.0, 1.0]))
array([4.+0.j, 0.+0.j, 0.+0.j])
"""

from ._array.fft import fft as fft
from ._array.fft import fftfreq as fftfreq
from ._array.fft import fftn as fftn
from ._array.fft import fftshift as fftshift
from ._array.fft import hfft as hfft
from ._array.fft import ifft as ifft
from ._array.fft import ifftn as ifftn
from ._array.fft import ifftshift as ifftshift
from ._array.fft import ihfft as ihfft
from ._array.fft import irfft as irfft
from ._array.fft import irfftn as irfftn
from ._array.fft import rfft as rfft
from ._array.fft import rfftfreq as rfftfreq
from ._array.fft import rfftn as rfftn
