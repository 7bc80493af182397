"""Distributions that are moved by a location and widened by a scale."""

from math import log, pi
from typing import Any

from .._core.typing import Backend
from .._random.distributions import uniform
from ..special import expit, log_expit, logit
from . import constraints
from ._calling import Value
from .parametric import INF, NAN, Parametric, check_order, named

EULER = 0.5772156649015329


def open_uniform(xp: Backend, key: Any, sizes: Any, kind: str) -> Any:
    """Uniform draws of (0, 1): quantiles of 0 may be infinite."""
    u = uniform(key, sizes, kind)
    # Uniforms are multiples of 2**-23 in float32, and of 2**-52 in float64.
    least = {"float64": 2.0**-53, "float32": 2.0**-24}.get(kind, 2.0**-12)
    return xp.maximum(u, xp.full_like(u, least))


class _LocationScale(Parametric):
    """Formulas for `loc` 0 and `scale` 1 are enough."""

    parameters = named(loc=constraints.real, scale=constraints.positive)
    _has_rsample = True

    def __init__(self, loc: Value = 0.0, scale: Value = 1.0):
        self._set(loc=loc, scale=scale)

    def _standard_log_prob(self, xp: Backend, z: Any) -> Any:
        raise NotImplementedError

    def _standard_cdf(self, xp: Backend, z: Any) -> Any:
        raise NotImplementedError

    def _standard_icdf(self, xp: Backend, p: Any) -> Any:
        raise NotImplementedError

    def _log_prob(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        return self._standard_log_prob(xp, (x - loc) / scale) - xp.log(scale)

    def _cdf(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        return self._standard_cdf(xp, (x - loc) / scale)

    def _icdf(self, xp: Backend, p: Any, loc: Any, scale: Any) -> Any:
        return loc + scale * self._standard_icdf(xp, p)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, loc: Any, scale: Any) -> Any:
        return loc + scale * self._standard_icdf(xp, open_uniform(xp, key, sizes, kind))

    def _mean(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return loc

    def _mode(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return loc


class Cauchy(_LocationScale):
    """Cauchy distribution around `loc`, half of it within `scale` of there.

    >>> from trellis.distributions import Cauchy
    >>> round(float(Cauchy(0.0, 1.0).cdf(1.0)), 4)
    0.75
    """

    def _standard_log_prob(self, xp: Backend, z: Any) -> Any:
        return -log(pi) - xp.log1p(z * z)

    def _standard_cdf(self, xp: Backend, z: Any) -> Any:
        # The two halves keep the digits of both tails.
        return xp.atan2(xp.ones_like(z), -z) / pi

    def _standard_icdf(self, xp: Backend, p: Any) -> Any:
        is_low = p < 0.5
        tail = pi * xp.where(is_low, p, 1.0 - p)
        size = xp.cos(tail) / xp.sin(tail)
        return xp.where(is_low, -size, size)

    def _entropy(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return log(4 * pi) + xp.log(scale)

    def _mean(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return xp.full_like(loc, NAN)

    def _variance(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return xp.full_like(scale, NAN)


class Laplace(_LocationScale):
    """Laplace distribution: exponential on both sides of `loc`, with mean distance `scale`.

    >>> from trellis.distributions import Laplace
    >>> round(float(Laplace(0.0, 1.0).log_prob(1.0)), 4)
    -1.6931
    """

    def _standard_log_prob(self, xp: Backend, z: Any) -> Any:
        return -log(2.0) - xp.abs(z)

    def _standard_cdf(self, xp: Backend, z: Any) -> Any:
        tail = 0.5 * xp.exp(-xp.abs(z))
        return xp.where(z < 0, tail, 1.0 - tail)

    def _standard_icdf(self, xp: Backend, p: Any) -> Any:
        is_low = p < 0.5
        logs = xp.log(2.0 * xp.where(is_low, p, 1.0 - p))
        return xp.where(is_low, logs, -logs)

    def _entropy(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return 1.0 + log(2.0) + xp.log(scale)

    def _variance(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return 2.0 * scale * scale


class Logistic(_LocationScale):
    """Logistic distribution around `loc`: its cdf is the sigmoid of the distance over `scale`.

    >>> from trellis.distributions import Logistic
    >>> round(float(Logistic(0.0, 1.0).cdf(1.0)), 4)
    0.7311
    """

    def _standard_log_prob(self, xp: Backend, z: Any) -> Any:
        return log_expit(z) + log_expit(-z)

    def _standard_cdf(self, xp: Backend, z: Any) -> Any:
        return expit(z)

    def _standard_icdf(self, xp: Backend, p: Any) -> Any:
        return logit(p)

    def _entropy(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return 2.0 + xp.log(scale)

    def _variance(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return scale * scale * (pi * pi / 3)


class Gumbel(_LocationScale):
    """Gumbel distribution of largest values, with mode `loc` and scale `scale`.

    >>> from trellis.distributions import Gumbel
    >>> round(float(Gumbel(0.0, 1.0).mean), 4)
    0.5772
    """

    def _standard_log_prob(self, xp: Backend, z: Any) -> Any:
        return -z - xp.exp(-z)

    def _standard_cdf(self, xp: Backend, z: Any) -> Any:
        return xp.exp(-xp.exp(-z))

    def _standard_icdf(self, xp: Backend, p: Any) -> Any:
        return -xp.log(-xp.log(p))

    def _entropy(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return 1.0 + EULER + xp.log(scale)

    def _mean(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return loc + EULER * scale

    def _variance(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return scale * scale * (pi * pi / 6)


class HalfCauchy(Parametric):
    """Distribution of the size of a Cauchy number around 0 with scale `scale`.

    >>> from trellis.distributions import HalfCauchy
    >>> round(float(HalfCauchy(1.0).icdf(0.5)), 4)
    1.0
    """

    parameters = named(scale=constraints.positive)
    _has_rsample = True

    def __init__(self, scale: Value = 1.0):
        self._set(scale=scale)

    def _bounds(self, scale: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, scale: Any) -> Any:
        z = x / scale
        return log(2 / pi) - xp.log(scale) - xp.log1p(z * z)

    def _cdf(self, xp: Backend, x: Any, scale: Any) -> Any:
        return xp.atan(x / scale) * (2 / pi)

    def _icdf(self, xp: Backend, p: Any, scale: Any) -> Any:
        is_low = p < 0.5
        part = (0.5 * pi) * xp.where(is_low, p, 1.0 - p)
        tangent = xp.tan(part)
        return scale * xp.where(is_low, tangent, 1.0 / xp.where(is_low, 1.0, tangent))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, scale: Any) -> Any:
        return self._icdf(xp, open_uniform(xp, key, sizes, kind), scale)

    def _entropy(self, xp: Backend, scale: Any) -> Any:
        return log(2 * pi) + xp.log(scale)

    def _mean(self, xp: Backend, scale: Any) -> Any:
        return xp.full_like(scale, INF)

    def _variance(self, xp: Backend, scale: Any) -> Any:
        return xp.full_like(scale, INF)

    def _mode(self, xp: Backend, scale: Any) -> Any:
        return xp.zeros_like(scale)


class Uniform(Parametric):
    """Uniform distribution from `low` to `high`.

    >>> from trellis.distributions import Uniform
    >>> float(Uniform(0.0, 4.0).mean)
    2.0
    """

    parameters = named(low=constraints.real, high=constraints.real)
    _has_rsample = True

    def __init__(self, low: Value = 0.0, high: Value = 1.0):
        self._set(low=low, high=high)
        check_order(self, "low", "high")

    def _bounds(self, low: Any, high: Any) -> tuple[Any, Any]:
        return low, high

    def _log_prob(self, xp: Backend, x: Any, low: Any, high: Any) -> Any:
        return xp.zeros_like(x) - xp.log(high - low)

    def _cdf(self, xp: Backend, x: Any, low: Any, high: Any) -> Any:
        return (x - low) / (high - low)

    def _icdf(self, xp: Backend, p: Any, low: Any, high: Any) -> Any:
        return low + p * (high - low)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, low: Any, high: Any) -> Any:
        return low + uniform(key, sizes, kind) * (high - low)

    def _entropy(self, xp: Backend, low: Any, high: Any) -> Any:
        return xp.log(high - low)

    def _mean(self, xp: Backend, low: Any, high: Any) -> Any:
        return 0.5 * low + 0.5 * high

    def _variance(self, xp: Backend, low: Any, high: Any) -> Any:
        return (high - low) * (high - low) / 12.0

    def _mode(self, xp: Backend, low: Any, high: Any) -> Any:
        return 0.5 * low + 0.5 * high
