"""Distributions of waiting times and of large values."""

from math import log, pi
from typing import Any

from .._core.typing import Backend
from .._random.distributions import exponential, normal, uniform
from .._random.keys import split
from ..special import exp1, log_ndtr, ndtr, xlogy
from ..special import gamma as gamma_function
from . import constraints
from ._calling import Value
from .location_scale import EULER
from .parametric import INF, Parametric, named
from .searching import implicit


class Weibull(Parametric):
    """Weibull distribution with `scale` and shape `concentration`: 1 is exponential.

    >>> from trellis.distributions import Weibull
    >>> round(Weibull(2.0, 1.5).cdf(2.0).item(), 4)
    0.6321
    """

    parameters = named(scale=constraints.positive, concentration=constraints.positive)
    _has_rsample = True

    def __init__(self, scale: Value, concentration: Value):
        self._set(scale=scale, concentration=concentration)

    def _bounds(self, scale: Any, k: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, scale: Any, k: Any) -> Any:
        z = x / scale
        return xp.log(k) - xp.log(scale) + xlogy(k - 1.0, z) - power(xp, z, k)

    def _cdf(self, xp: Backend, x: Any, scale: Any, k: Any) -> Any:
        return -xp.expm1(-power(xp, x / scale, k))

    def _icdf(self, xp: Backend, p: Any, scale: Any, k: Any) -> Any:
        return scale * power(xp, -xp.log1p(-p), 1.0 / k)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, scale: Any, k: Any) -> Any:
        return scale * power(xp, exponential(key, sizes, kind), 1.0 / k)

    def _entropy(self, xp: Backend, scale: Any, k: Any) -> Any:
        return EULER * (1.0 - 1.0 / k) + xp.log(scale / k) + 1.0

    def _mean(self, xp: Backend, scale: Any, k: Any) -> Any:
        return scale * gamma_function(1.0 + 1.0 / k)

    def _variance(self, xp: Backend, scale: Any, k: Any) -> Any:
        first = gamma_function(1.0 + 1.0 / k)
        return scale * scale * (gamma_function(1.0 + 2.0 / k) - first * first)

    def _mode(self, xp: Backend, scale: Any, k: Any) -> Any:
        rises = k > 1
        safe = xp.where(rises, k, 2.0)
        return xp.where(rises, scale * power(xp, (safe - 1.0) / safe, 1.0 / safe), 0.0)


def power(xp: Backend, x: Any, k: Any) -> Any:
    """x**k for x of at least 0, whose derivative by k is 0 at 0, too."""
    is_zero = x == 0
    return xp.where(is_zero, 0.0, xp.exp(k * xp.log(xp.where(is_zero, 1.0, x))))


class Pareto(Parametric):
    """Pareto distribution: from `scale` on, the tail falls as a power of `alpha`.

    >>> from trellis.distributions import Pareto
    >>> Pareto(1.0, 3.0).mean.item()
    1.5
    """

    parameters = named(scale=constraints.positive, alpha=constraints.positive)
    _has_rsample = True

    def __init__(self, scale: Value, alpha: Value):
        self._set(scale=scale, alpha=alpha)

    def _bounds(self, scale: Any, alpha: Any) -> tuple[Any, Any]:
        return scale, None

    def _log_prob(self, xp: Backend, x: Any, scale: Any, alpha: Any) -> Any:
        return xp.log(alpha) + alpha * xp.log(scale) - (alpha + 1.0) * xp.log(x)

    def _cdf(self, xp: Backend, x: Any, scale: Any, alpha: Any) -> Any:
        return -xp.expm1(alpha * xp.log(scale / x))

    def _icdf(self, xp: Backend, p: Any, scale: Any, alpha: Any) -> Any:
        return scale * xp.exp(-xp.log1p(-p) / alpha)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, scale: Any, alpha: Any) -> Any:
        return scale * xp.exp(exponential(key, sizes, kind) / alpha)

    def _entropy(self, xp: Backend, scale: Any, alpha: Any) -> Any:
        return xp.log(scale / alpha) + 1.0 + 1.0 / alpha

    def _mean(self, xp: Backend, scale: Any, alpha: Any) -> Any:
        return xp.where(alpha > 1, alpha * scale / xp.where(alpha > 1, alpha - 1.0, 1.0), INF)

    def _variance(self, xp: Backend, scale: Any, alpha: Any) -> Any:
        a = xp.where(alpha > 2, alpha, 3.0)
        found = scale * scale * a / ((a - 1.0) * (a - 1.0) * (a - 2.0))
        return xp.where(alpha > 2, found, INF)

    def _mode(self, xp: Backend, scale: Any, alpha: Any) -> Any:
        return scale


class GeneralizedPareto(Parametric):
    """Generalized Pareto distribution of what exceeds `loc`, with `scale` and `concentration`.

    The concentration decides the tail: 0 is exponential, above 0 heavier, below 0 with an end.

    >>> from trellis.distributions import GeneralizedPareto
    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean.item()
    2.0
    """

    parameters = named(
        loc=constraints.real,
        scale=constraints.positive,
        concentration=constraints.real,
    )
    _has_rsample = True

    def __init__(self, loc: Value, scale: Value, concentration: Value):
        self._set(loc=loc, scale=scale, concentration=concentration)

    def _bounds(self, loc: Any, scale: Any, c: Any) -> tuple[Any, Any]:
        return loc, None

    def _reach(self, xp: Backend, x: Any, loc: Any, scale: Any, c: Any) -> tuple[Any, Any]:
        """log1p(c z) / c, which is z for a concentration of 0, and whether x is in the support."""
        z = (x - loc) / scale
        is_flat = xp.abs(c) < 1e-30
        safe = xp.where(is_flat, 1.0, c)
        grown = safe * z
        is_in = is_flat | (grown > -1.0)
        logs = xp.log1p(xp.where(is_in & ~is_flat, grown, 0.0))
        return xp.where(is_flat, z, logs / safe), is_in

    def _log_prob(self, xp: Backend, x: Any, loc: Any, scale: Any, c: Any) -> Any:
        reach, is_in = self._reach(xp, x, loc, scale, c)
        return xp.where(is_in, -xp.log(scale) - (1.0 + c) * reach, -INF)

    def _cdf(self, xp: Backend, x: Any, loc: Any, scale: Any, c: Any) -> Any:
        reach, is_in = self._reach(xp, x, loc, scale, c)
        return xp.where(is_in, -xp.expm1(-reach), 1.0)

    def _icdf(self, xp: Backend, p: Any, loc: Any, scale: Any, c: Any) -> Any:
        return loc + scale * _grown(xp, -xp.log1p(-p), c)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        loc, scale, c = values
        return loc + scale * _grown(xp, exponential(key, sizes, kind), c)

    def _entropy(self, xp: Backend, loc: Any, scale: Any, c: Any) -> Any:
        return xp.log(scale) + c + 1.0

    def _mean(self, xp: Backend, loc: Any, scale: Any, c: Any) -> Any:
        return xp.where(c < 1, loc + scale / xp.where(c < 1, 1.0 - c, 1.0), INF)

    def _variance(self, xp: Backend, loc: Any, scale: Any, c: Any) -> Any:
        a = xp.where(c < 0.5, c, 0.0)
        found = scale * scale / ((1.0 - a) * (1.0 - a) * (1.0 - 2.0 * a))
        return xp.where(c < 0.5, found, INF)

    def _mode(self, xp: Backend, loc: Any, scale: Any, c: Any) -> Any:
        # Below -1 the density grows up to its end.
        grows = c < -1
        return xp.where(grows, loc - scale / xp.where(grows, c, -1.0), loc)


def _grown(xp: Backend, wait: Any, c: Any) -> Any:
    """expm1(c wait) / c; `wait` itself for c = 0."""
    is_flat = xp.abs(c) < 1e-30
    safe = xp.where(is_flat, 1.0, c)
    return xp.where(is_flat, wait, xp.expm1(safe * wait) / safe)


class InverseGaussian(Parametric):
    """Inverse Gaussian distribution: when a drifting walk reaches 1, with mean `loc`.

    `concentration` is its shape: the variance is the cube of the mean divided by it.

    >>> from trellis.distributions import InverseGaussian
    >>> InverseGaussian(2.0, 4.0).variance.item()
    2.0
    """

    parameters = named(loc=constraints.positive, concentration=constraints.positive)
    _has_rsample = True
    _is_open = True

    def __init__(self, loc: Value, concentration: Value):
        self._set(loc=loc, concentration=concentration)

    def _bounds(self, loc: Any, c: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, loc: Any, c: Any) -> Any:
        z = (x - loc) / loc
        return 0.5 * (xp.log(c) - log(2 * pi) - 3.0 * xp.log(x) - c * z * z / x)

    def _cdf(self, xp: Backend, x: Any, loc: Any, c: Any) -> Any:
        at = xp.where(x > 0, x, 1.0)
        root = xp.sqrt(c / at)
        below = ndtr(root * (at / loc - 1.0))
        beyond = xp.exp(2.0 * c / loc + log_ndtr(-root * (at / loc + 1.0)))
        return xp.where(x > 0, below + beyond, 0.0)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, loc: Any, c: Any) -> Any:
        # Michael, Schucany and Haas (1976): one of the two roots of a quadratic equation.
        keys = split(key)
        v = normal(keys[0, ...], sizes, kind)
        y = loc * v * v / (2.0 * c)
        root = loc / (1.0 + y + xp.sqrt(y * (y + 2.0)))
        u = uniform(keys[1, ...], sizes, kind)
        draws = xp.where(u * (loc + root) <= loc, root, loc * loc / root)
        return implicit(xp, draws, self._cdf, self._log_prob, (loc, c))

    def _entropy(self, xp: Backend, loc: Any, c: Any) -> Any:
        # The mean of the logarithm of x / loc is -exp(z) exp1(z).
        less = _scaled_exp1(xp, 2.0 * c / loc)
        return 0.5 * (log(2 * pi) + 1.0 - xp.log(c)) + 1.5 * (xp.log(loc) - less)

    def _mean(self, xp: Backend, loc: Any, c: Any) -> Any:
        return loc

    def _variance(self, xp: Backend, loc: Any, c: Any) -> Any:
        return loc * loc * loc / c

    def _mode(self, xp: Backend, loc: Any, c: Any) -> Any:
        half = 1.5 * loc / c
        return loc / (xp.sqrt(1.0 + half * half) + half)


def _scaled_exp1(xp: Backend, z: Any) -> Any:
    """exp(z) exp1(z): where exp(z) is large, by the asymptotic series, whose terms fall there."""
    is_far = z > 50.0
    near = xp.where(is_far, 1.0, z)
    far = 1.0 / xp.where(is_far, z, 50.0)
    total = xp.ones_like(far)
    for k in range(20, 0, -1):
        total = 1.0 - k * far * total
    return xp.where(is_far, far * total, xp.exp(near) * exp1(near))
