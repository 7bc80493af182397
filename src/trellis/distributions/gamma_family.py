"""Gamma and its relatives: waiting times, and what is made of gamma draws."""

from math import log
from typing import Any

from .. import special
from .._core.typing import Backend
from .._random.distributions import exponential, gamma
from ..special import digamma, gammainc, gammaincc, gammaln, xlogy
from . import constraints
from ._calling import Value
from .parametric import INF, Parametric, named


class Gamma(Parametric):
    """Gamma distribution with shape `concentration` and inverse scale `rate`.

    Draws are differentiable in both: implicit reparameterization, which needs no formula of the
    quantiles.

    >>> from trellis.distributions import Gamma
    >>> Gamma(3.0, 2.0).mean.item()
    1.5
    """

    parameters = named(concentration=constraints.positive, rate=constraints.positive)
    _has_rsample = True

    def __init__(self, concentration: Value, rate: Value = 1.0):
        self._set(concentration=concentration, rate=rate)

    def _bounds(self, a: Any, rate: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, a: Any, rate: Any) -> Any:
        return xlogy(a - 1.0, x) - rate * x + a * xp.log(rate) - gammaln(a)

    def _cdf(self, xp: Backend, x: Any, a: Any, rate: Any) -> Any:
        return gammainc(a, rate * x)

    def _icdf(self, xp: Backend, p: Any, a: Any, rate: Any) -> Any:
        return special.gammaincinv(a, p) / rate

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, a: Any, rate: Any) -> Any:
        return gamma(key, a, sizes, kind) / rate

    def _entropy(self, xp: Backend, a: Any, rate: Any) -> Any:
        return a - xp.log(rate) + gammaln(a) + (1.0 - a) * digamma(a)

    def _mean(self, xp: Backend, a: Any, rate: Any) -> Any:
        return a / rate

    def _variance(self, xp: Backend, a: Any, rate: Any) -> Any:
        return a / (rate * rate)

    def _mode(self, xp: Backend, a: Any, rate: Any) -> Any:
        return xp.maximum(a - 1.0, xp.zeros_like(a)) / rate


class Chi2(Parametric):
    """Chi-squared distribution: the sum of `df` squares of standard normal numbers.

    >>> from trellis.distributions import Chi2
    >>> Chi2(3.0).variance.item()
    6.0
    """

    parameters = named(df=constraints.positive)
    _has_rsample = True

    def __init__(self, df: Value):
        self._set(df=df)

    def _bounds(self, df: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, df: Any) -> Any:
        half = 0.5 * df
        return xlogy(half - 1.0, x) - 0.5 * x - half * log(2.0) - gammaln(half)

    def _cdf(self, xp: Backend, x: Any, df: Any) -> Any:
        return gammainc(0.5 * df, 0.5 * x)

    def _icdf(self, xp: Backend, p: Any, df: Any) -> Any:
        return 2.0 * special.gammaincinv(0.5 * df, p)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, df: Any) -> Any:
        return 2.0 * gamma(key, 0.5 * df, sizes, kind)

    def _entropy(self, xp: Backend, df: Any) -> Any:
        half = 0.5 * df
        return half + log(2.0) + gammaln(half) + (1.0 - half) * digamma(half)

    def _mean(self, xp: Backend, df: Any) -> Any:
        return df

    def _variance(self, xp: Backend, df: Any) -> Any:
        return 2.0 * df

    def _mode(self, xp: Backend, df: Any) -> Any:
        return xp.maximum(df - 2.0, xp.zeros_like(df))


class InverseGamma(Parametric):
    """Distribution of 1 / x for x of a gamma distribution with `concentration` and `rate`.

    >>> from trellis.distributions import InverseGamma
    >>> InverseGamma(3.0, 4.0).mean.item()
    2.0
    """

    parameters = named(concentration=constraints.positive, rate=constraints.positive)
    _has_rsample = True
    _is_open = True

    def __init__(self, concentration: Value, rate: Value = 1.0):
        self._set(concentration=concentration, rate=rate)

    def _bounds(self, a: Any, rate: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, a: Any, rate: Any) -> Any:
        return a * xp.log(rate) - gammaln(a) - (a + 1.0) * xp.log(x) - rate / x

    def _cdf(self, xp: Backend, x: Any, a: Any, rate: Any) -> Any:
        return xp.where(x > 0, gammaincc(a, rate / xp.where(x > 0, x, 1.0)), 0.0)

    def _icdf(self, xp: Backend, p: Any, a: Any, rate: Any) -> Any:
        return rate / special.gammainccinv(a, p)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, a: Any, rate: Any) -> Any:
        return rate / gamma(key, a, sizes, kind)

    def _entropy(self, xp: Backend, a: Any, rate: Any) -> Any:
        return a + xp.log(rate) + gammaln(a) - (1.0 + a) * digamma(a)

    def _mean(self, xp: Backend, a: Any, rate: Any) -> Any:
        return xp.where(a > 1, rate / xp.where(a > 1, a - 1.0, 1.0), INF)

    def _variance(self, xp: Backend, a: Any, rate: Any) -> Any:
        b = xp.where(a > 2, a, 3.0)
        found = rate * rate / ((b - 1.0) * (b - 1.0) * (b - 2.0))
        return xp.where(a > 2, found, INF)

    def _mode(self, xp: Backend, a: Any, rate: Any) -> Any:
        return rate / (a + 1.0)


class Exponential(Parametric):
    """Exponential distribution: the time to the next event when `rate` of them come in one unit.

    >>> from trellis.distributions import Exponential
    >>> Exponential(4.0).mean.item()
    0.25
    """

    parameters = named(rate=constraints.positive)
    _has_rsample = True

    def __init__(self, rate: Value = 1.0):
        self._set(rate=rate)

    def _bounds(self, rate: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, rate: Any) -> Any:
        return xp.log(rate) - rate * x

    def _cdf(self, xp: Backend, x: Any, rate: Any) -> Any:
        return -xp.expm1(-rate * x)

    def _icdf(self, xp: Backend, p: Any, rate: Any) -> Any:
        return -xp.log1p(-p) / rate

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, rate: Any) -> Any:
        return exponential(key, sizes, kind) / rate

    def _entropy(self, xp: Backend, rate: Any) -> Any:
        return 1.0 - xp.log(rate)

    def _mean(self, xp: Backend, rate: Any) -> Any:
        return 1.0 / rate

    def _variance(self, xp: Backend, rate: Any) -> Any:
        return 1.0 / (rate * rate)

    def _mode(self, xp: Backend, rate: Any) -> Any:
        return xp.zeros_like(rate)
