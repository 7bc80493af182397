"""Less common distributions of numbers."""

from math import log, pi
from typing import Any

from .._core.typing import Backend
from .._random.distributions import normal, uniform
from ..special import ndtri
from . import constraints
from ._calling import Value
from .location_scale import EULER, open_uniform
from .parametric import INF, Parametric, check_order, named


class AsymmetricLaplace(Parametric):
    """Laplace distribution around `loc` with another rate on each side.

    Both come from `scale` and `asymmetry`: the mean distance is scale / asymmetry to the right, and
    scale * asymmetry to the left.

    >>> from trellis.distributions import AsymmetricLaplace
    >>> AsymmetricLaplace(0.0, 1.0, 2.0).mean.item()
    -1.5
    """

    parameters = named(
        loc=constraints.real,
        scale=constraints.positive,
        asymmetry=constraints.positive,
    )
    _has_rsample = True

    def __init__(self, loc: Value, scale: Value, asymmetry: Value):
        self._set(loc=loc, scale=scale, asymmetry=asymmetry)

    def _log_prob(self, xp: Backend, x: Any, loc: Any, scale: Any, k: Any) -> Any:
        z = (x - loc) / scale
        slope = xp.where(z < 0, z / k, -z * k)
        return slope - xp.log(scale) - xp.log(k + 1.0 / k)

    def _cdf(self, xp: Backend, x: Any, loc: Any, scale: Any, k: Any) -> Any:
        z = (x - loc) / scale
        square = k * k
        left = square / (1.0 + square) * xp.exp(xp.where(z < 0, z, 0.0) / k)
        right = xp.exp(-xp.where(z < 0, 0.0, z) * k) / (1.0 + square)
        return xp.where(z < 0, left, 1.0 - right)

    def _icdf(self, xp: Backend, p: Any, loc: Any, scale: Any, k: Any) -> Any:
        share = k * k / (1.0 + k * k)
        is_left = p < share
        left = k * xp.log(xp.where(is_left, p, share) / share)
        right = -xp.log(xp.where(is_left, 1.0 - share, 1.0 - p) * (1.0 + k * k)) / k
        return loc + scale * xp.where(is_left, left, right)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        return self._icdf(xp, open_uniform(xp, key, sizes, kind), *values)

    def _entropy(self, xp: Backend, loc: Any, scale: Any, k: Any) -> Any:
        return 1.0 + xp.log(scale) + xp.log(k + 1.0 / k)

    def _mean(self, xp: Backend, loc: Any, scale: Any, k: Any) -> Any:
        return loc + scale * (1.0 / k - k)

    def _variance(self, xp: Backend, loc: Any, scale: Any, k: Any) -> Any:
        return scale * scale * (1.0 / (k * k) + k * k)

    def _mode(self, xp: Backend, loc: Any, scale: Any, k: Any) -> Any:
        return loc


class Levy(Parametric):
    """Levy distribution from `loc` on, with `scale`: when a walk first reaches a point.

    >>> from trellis.distributions import Levy
    >>> round(Levy(0.0, 1.0).cdf(1.0).item(), 4)
    0.3173
    """

    parameters = named(loc=constraints.real, scale=constraints.positive)
    _has_rsample = True
    _is_open = True

    def __init__(self, loc: Value = 0.0, scale: Value = 1.0):
        self._set(loc=loc, scale=scale)

    def _bounds(self, loc: Any, scale: Any) -> tuple[Any, Any]:
        return loc, None

    def _log_prob(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        apart = x - loc
        return 0.5 * (xp.log(scale) - log(2 * pi) - 3.0 * xp.log(apart) - scale / apart)

    def _cdf(self, xp: Backend, x: Any, loc: Any, scale: Any) -> Any:
        apart = xp.where(x > loc, x - loc, 1.0)
        return xp.where(x > loc, xp.erfc(xp.sqrt(0.5 * scale / apart)), 0.0)

    def _icdf(self, xp: Backend, p: Any, loc: Any, scale: Any) -> Any:
        z = ndtri(0.5 * p)
        return loc + scale / (z * z)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, loc: Any, scale: Any) -> Any:
        z = normal(key, sizes, kind)
        return loc + scale / (z * z)

    def _entropy(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return xp.log(scale) + 0.5 * (1.0 + 3.0 * EULER + log(16 * pi))

    def _mean(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return xp.full_like(scale, INF)

    def _variance(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return xp.full_like(scale, INF)

    def _mode(self, xp: Backend, loc: Any, scale: Any) -> Any:
        return loc + scale / 3.0


class LogUniform(Parametric):
    """Distribution from `low` to `high`, both above 0, of numbers with a uniform logarithm.

    >>> from trellis.distributions import LogUniform
    >>> round(LogUniform(1.0, 100.0).icdf(0.5).item(), 4)
    10.0
    """

    parameters = named(low=constraints.positive, high=constraints.positive)
    _has_rsample = True

    def __init__(self, low: Value, high: Value):
        self._set(low=low, high=high)
        check_order(self, "low", "high")

    def _bounds(self, low: Any, high: Any) -> tuple[Any, Any]:
        return low, high

    def _log_prob(self, xp: Backend, x: Any, low: Any, high: Any) -> Any:
        return -xp.log(x) - xp.log(xp.log(high / low))

    def _cdf(self, xp: Backend, x: Any, low: Any, high: Any) -> Any:
        return xp.log(x / low) / xp.log(high / low)

    def _icdf(self, xp: Backend, p: Any, low: Any, high: Any) -> Any:
        return low * xp.exp(p * xp.log(high / low))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, low: Any, high: Any) -> Any:
        return self._icdf(xp, uniform(key, sizes, kind), low, high)

    def _entropy(self, xp: Backend, low: Any, high: Any) -> Any:
        return 0.5 * (xp.log(low) + xp.log(high)) + xp.log(xp.log(high / low))

    def _mean(self, xp: Backend, low: Any, high: Any) -> Any:
        return (high - low) / xp.log(high / low)

    def _variance(self, xp: Backend, low: Any, high: Any) -> Any:
        mean = self._mean(xp, low, high)
        return 0.5 * mean * (high + low) - mean * mean

    def _mode(self, xp: Backend, low: Any, high: Any) -> Any:
        return low


class Triangular(Parametric):
    """Distribution from `low` to `high` whose density is a triangle with its top at `peak`.

    >>> from trellis.distributions import Triangular
    >>> Triangular(0.0, 3.0, 3.0).mean.item()
    2.0
    """

    parameters = named(low=constraints.real, high=constraints.real, peak=constraints.real)
    _has_rsample = True

    def __init__(self, low: Value, high: Value, peak: Value):
        self._set(low=low, high=high, peak=peak)
        check_order(self, "low", "high")

    def _bounds(self, low: Any, high: Any, peak: Any) -> tuple[Any, Any]:
        return low, high

    def _log_prob(self, xp: Backend, x: Any, low: Any, high: Any, peak: Any) -> Any:
        is_left = x < peak
        side = xp.where(is_left, peak - low, high - peak)
        part = xp.where(is_left, x - low, high - x)
        # At a peak that is an end, the triangle has one side only.
        height = xp.where(side > 0, part / xp.where(side > 0, side, 1.0), 1.0)
        return log(2.0) - xp.log(high - low) + xp.log(height)

    def _cdf(self, xp: Backend, x: Any, low: Any, high: Any, peak: Any) -> Any:
        is_left = x < peak
        side = xp.where(is_left, peak - low, high - peak)
        part = xp.where(is_left, x - low, high - x)
        area = part * part / ((high - low) * xp.where(side > 0, side, 1.0))
        return xp.where(is_left, area, 1.0 - area)

    def _icdf(self, xp: Backend, p: Any, low: Any, high: Any, peak: Any) -> Any:
        width = high - low
        is_left = p * width < peak - low
        left = low + xp.sqrt(xp.where(is_left, p * width * (peak - low), 1.0))
        right = high - xp.sqrt(xp.where(is_left, 1.0, (1.0 - p) * width * (high - peak)))
        return xp.where(is_left, left, right)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        return self._icdf(xp, open_uniform(xp, key, sizes, kind), *values)

    def _entropy(self, xp: Backend, low: Any, high: Any, peak: Any) -> Any:
        return 0.5 - log(2.0) + xp.log(high - low)

    def _mean(self, xp: Backend, low: Any, high: Any, peak: Any) -> Any:
        return (low + high + peak) / 3.0

    def _variance(self, xp: Backend, low: Any, high: Any, peak: Any) -> Any:
        a, b, c = peak - low, high - peak, high - low
        return (a * a + b * b + c * c) / 36.0

    def _mode(self, xp: Backend, low: Any, high: Any, peak: Any) -> Any:
        return peak
