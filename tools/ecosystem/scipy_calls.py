"""Calls of SciPy functions that support the Array API standard, by module and name.

They are called with numbers between 0 and 1, where all of them are defined and differentiable.
"""

import numpy as np
import scipy.cluster
import scipy.constants
import scipy.fft
import scipy.integrate
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats
from scipy import constants, fft, integrate, signal, special, stats

_random = np.random.default_rng(7)
X = _random.uniform(0.1, 0.9, (6, 5))
Y = _random.uniform(0.1, 0.9, (6, 5))
VECTOR = _random.uniform(0.1, 0.9, 12)
FILTER = np.array([[1.0, 0.5, 0.2, 1.0, -0.3, 0.1]])
COUNTS = np.array([16.0, 18.0, 16.0, 14.0, 12.0, 12.0])


def _of_one(module, names):
    return {f"{module.__name__}.{name}": _Call(getattr(module, name), (X,)) for name in names}


class _Call:
    """A call of `fn` with arrays and options; `pick` chooses what is compared."""

    def __init__(self, fn, arrays, pick=None, **options):
        self.fn, self.arrays, self.pick, self.options = fn, arrays, pick, options

    def __call__(self, *arrays):
        found = self.fn(*arrays, **self.options)
        return found if self.pick is None else getattr(found, self.pick)


CALLS = {
    **_of_one(
        special,
        ["entr", "erf", "erfc", "expit", "gammaln", "i0", "i0e", "i1", "i1e", "log_ndtr", "logit"]
        + ["ndtr", "ndtri", "logsumexp", "softmax", "log_softmax"],
    ),
    "scipy.special.xlogy": _Call(special.xlogy, (X, Y)),
    "scipy.special.rel_entr": _Call(special.rel_entr, (X, Y)),
    "scipy.special.gammainc": _Call(special.gammainc, (X, Y)),
    "scipy.special.betainc": _Call(special.betainc, (X, Y, X)),
    "scipy.special.stdtr": _Call(special.stdtr, (X, Y)),
    **_of_one(
        stats,
        ["circmean", "circstd", "circvar", "entropy", "gmean", "gstd", "hmean", "kstat", "kurtosis"]
        + ["moment", "sem", "skew", "tmax", "tmean", "tmin", "tstd", "tvar", "variation", "zscore"],
    ),
    "scipy.stats.directional_stats": _Call(stats.directional_stats, (X,), "mean_direction"),
    "scipy.stats.describe": _Call(stats.describe, (X,), "variance"),
    "scipy.stats.pmean": _Call(stats.pmean, (X,), p=3.0),
    "scipy.stats.zmap": _Call(stats.zmap, (X, Y)),
    "scipy.stats.pearsonr": _Call(stats.pearsonr, (X, Y), "statistic"),
    "scipy.stats.linregress": _Call(stats.linregress, (VECTOR, VECTOR[::-1].copy()), "slope"),
    "scipy.stats.ttest_1samp": _Call(stats.ttest_1samp, (X,), "pvalue", popmean=0.4),
    "scipy.stats.ttest_ind": _Call(stats.ttest_ind, (X, Y), "pvalue"),
    "scipy.stats.ttest_rel": _Call(stats.ttest_rel, (X, Y), "statistic"),
    "scipy.stats.normaltest": _Call(stats.normaltest, (VECTOR,), "statistic"),
    "scipy.stats.jarque_bera": _Call(stats.jarque_bera, (VECTOR,), "pvalue"),
    "scipy.stats.chisquare": _Call(stats.chisquare, (COUNTS,), "pvalue"),
    "scipy.stats.bartlett": _Call(stats.bartlett, (VECTOR, VECTOR**2), "statistic"),
    "scipy.stats.f_oneway": _Call(stats.f_oneway, (VECTOR, VECTOR**2), "statistic"),
    "scipy.stats.quantile": _Call(stats.quantile, (X, np.array(0.3))),
    "scipy.stats.boxcox_llf": _Call(lambda x: stats.boxcox_llf(0.5, x), (VECTOR,)),
    **_of_one(fft, ["fft", "ifft", "rfft", "irfft", "fft2", "fftn", "hfft", "ihfft", "fftshift"]),
    "scipy.fft.dct": _Call(fft.dct, (X,)),
    "scipy.signal.hilbert": _Call(signal.hilbert, (X,)),
    "scipy.signal.detrend": _Call(signal.detrend, (X,)),
    "scipy.signal.fftconvolve": _Call(signal.fftconvolve, (X, Y)),
    "scipy.signal.oaconvolve": _Call(signal.oaconvolve, (X, Y)),
    "scipy.signal.convolve": _Call(signal.convolve, (X, Y)),
    "scipy.signal.sosfilt": _Call(lambda x, sos: signal.sosfilt(sos, x), (X, FILTER)),
    "scipy.integrate.trapezoid": _Call(integrate.trapezoid, (X,)),
    "scipy.integrate.simpson": _Call(integrate.simpson, (X,)),
    "scipy.integrate.cumulative_trapezoid": _Call(integrate.cumulative_trapezoid, (X,)),
    "scipy.integrate.cumulative_simpson": _Call(integrate.cumulative_simpson, (X,)),
    "scipy.cluster.vq.whiten": _Call(scipy.cluster.vq.whiten, (X,)),
    "scipy.constants.lambda2nu": _Call(constants.lambda2nu, (X,)),
    "scipy.constants.convert_temperature": _Call(
        lambda x: constants.convert_temperature(x, "Celsius", "Kelvin"), (X,)
    ),
    "scipy.ndimage.gaussian_filter": _Call(scipy.ndimage.gaussian_filter, (X,), sigma=1.0),
}
