"""The normal distribution and those derived from it."""

from math import log, pi, sqrt
from typing import Any

from .._core.typing import Backend
from .._random.distributions import normal
from ..special import ndtr, ndtri
from . import constraints
from ._calling import Value
from .parametric import Parametric, named

HALF_LOG_2PI = 0.5 * log(2 * pi)


def normal_log_density(z: Any) -> Any:
    """Of a standard normal number."""
    return -0.5 * z * z - HALF_LOG_2PI


class Normal(Parametric):
    """Normal distribution with mean `loc` and standard deviation `scale`.

    >>> from trellis.distributions import Normal
    >>> round(float(Normal(0.0, 2.0).cdf(1.0)), 4)
    0.6915
    """

    parameters = named(loc=constraints.real, scale=constraints.positive)
    _has_rsample = True

    def __init__(self, loc: Value = 0.0, scale: Value = 1.0):
        self._set(loc=loc, scale=scale)

    def _log_prob(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        return normal_log_density((x - loc) / scale) - xp.log(scale)

    def _cdf(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        return ndtr((x - loc) / scale)

    def _icdf(self, xp: Backend, p: Any, loc: Any, scale: Any) -> Any:
        return loc + scale * ndtri(p)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, loc: Any, scale: Any) -> Any:
        return loc + scale * normal(key, sizes, kind)

    def _entropy(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return 0.5 + HALF_LOG_2PI + xp.log(scale)

    def _mean(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return loc

    def _variance(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return scale * scale

    def _mode(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return loc


class LogNormal(Parametric):
    """Distribution of the exponential of a normal number with mean `loc`, deviation `scale`.

    >>> from trellis.distributions import LogNormal
    >>> round(float(LogNormal(0.0, 1.0).mean), 4)
    1.6487
    """

    parameters = named(loc=constraints.real, scale=constraints.positive)
    _has_rsample = True
    _is_open = True

    def __init__(self, loc: Value = 0.0, scale: Value = 1.0):
        self._set(loc=loc, scale=scale)

    def _bounds(self, loc: Any, scale: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        logs = xp.log(x)
        return normal_log_density((logs - loc) / scale) - xp.log(scale) - logs

    def _cdf(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        return ndtr((xp.log(x) - loc) / scale)

    def _icdf(self, xp: Backend, p: Any, loc: Any, scale: Any) -> Any:
        return xp.exp(loc + scale * ndtri(p))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, loc: Any, scale: Any) -> Any:
        return xp.exp(loc + scale * normal(key, sizes, kind))

    def _entropy(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return 0.5 + HALF_LOG_2PI + xp.log(scale) + loc

    def _mean(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return xp.exp(loc + 0.5 * scale * scale)

    def _variance(self, xp: Backend, loc: Any, scale: Any) -> Any:
        square = scale * scale
        return xp.expm1(square) * xp.exp(2.0 * loc + square)

    def _mode(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return xp.exp(loc - scale * scale)


class HalfNormal(Parametric):
    """Distribution of the size of a normal number with mean 0 and standard deviation `scale`.

    >>> from trellis.distributions import HalfNormal
    >>> round(float(HalfNormal(2.0).mean), 4)
    1.5958
    """

    parameters = named(scale=constraints.positive)
    _has_rsample = True

    def __init__(self, scale: Value = 1.0):
        self._set(scale=scale)

    def _bounds(self, scale: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, scale: Any) -> Any:
        return normal_log_density(x / scale) - xp.log(scale) + log(2.0)

    def _cdf(self, xp: Backend, x: Any, scale: Any) -> Any:
        return xp.erf(x / (scale * sqrt(2.0)))

    def _icdf(self, xp: Backend, p: Any, scale: Any) -> Any:
        # By the tail: 1/2 + p/2 would lose the digits of a small p, and of a p near 1.
        return -scale * ndtri(0.5 - 0.5 * p)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, scale: Any) -> Any:
        return scale * xp.abs(normal(key, sizes, kind))

    def _entropy(self, xp: Backend, scale: Any) -> Any:
        return 0.5 + 0.5 * log(pi / 2) + xp.log(scale)

    def _mean(self, xp: Backend, scale: Any) -> Any:
        return scale * sqrt(2 / pi)

    def _variance(self, xp: Backend, scale: Any) -> Any:
        return scale * scale * (1.0 - 2 / pi)

    def _mode(self, xp: Backend, scale: Any) -> Any:
        return xp.zeros_like(scale)
