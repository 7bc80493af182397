"""The normal distribution between two bounds, exact in its tails too."""

from typing import Any

from .._core.typing import Backend
from .._random.distributions import truncated_normal
from ..special import log1mexp, log_ndtr, ndtr, ndtri
from . import constraints
from ._calling import Value
from .constraints import Constraint, interval
from .normal import HALF_LOG_2PI, normal_log_density
from .parametric import INF, NAN, Parametric, check_order, named

# Infinite bounds, in standard deviations: nothing is beyond, and no derivative is nan.
_FAR = 1e4


class TruncatedNormal(Parametric):
    """Normal distribution with `loc` and `scale`, given that a draw is from `low` to `high`.

    >>> from trellis.distributions import TruncatedNormal
    >>> round(TruncatedNormal(0.0, 1.0, 0.0).mean.item(), 4)
    0.7979
    """

    parameters = named(
        loc=constraints.real,
        scale=constraints.positive,
        low=constraints.real,
        high=constraints.real,
    )
    _has_rsample = True

    def __init__(self, loc: Value = 0.0, scale: Value = 1.0, low: Value = -INF, high: Value = INF):
        self._set(loc=loc, scale=scale, low=low, high=high)
        check_order(self, "low", "high")

    @property
    def support(self) -> Constraint:
        """The numbers from `low` to `high`."""
        return interval(*self._values()[2:])

    def _log_prob_inside(self, xp: Backend, x: Any, *values: Any) -> Any:
        loc, scale, low, high = values
        is_inside = (x >= low) & (x <= high)
        a, b, logs = _mass(xp, loc, scale, low, high)
        z = xp.where(is_inside, (x - loc) / scale, xp.where(xp.abs(a) < xp.abs(b), a, b))
        found = normal_log_density(z) - xp.log(scale) - logs
        return xp.where(is_inside, found, xp.where(xp.isnan(x), NAN, -INF))

    def _cdf_inside(self, xp: Backend, x: Any, *values: Any) -> Any:
        loc, scale, low, high = values
        a, b, logs = _mass(xp, loc, scale, low, high)
        is_below, is_above = x <= low, x >= high
        z = xp.where(is_below | is_above, b, (x - loc) / scale)
        found = xp.exp(_log_between(xp, a, z) - logs)
        return xp.where(is_below, 0.0, xp.where(is_above, 1.0, found))

    def _icdf(self, xp: Backend, p: Any, loc: Any, scale: Any, low: Any, high: Any) -> Any:
        a, b, _ = _mass(xp, loc, scale, low, high)
        # From the end with the smaller tail, whose digits are not lost.
        is_right = a + b > 0
        first, last = xp.where(is_right, -b, a), xp.where(is_right, -a, b)
        share = xp.where(is_right, 1.0 - p, p)
        begin = ndtr(first)
        z = ndtri(begin + share * (ndtr(last) - begin))
        found = loc + scale * xp.where(is_right, -z, z)
        # Rounding, and tails where the cdf has no more floats.
        found = xp.where(found < low, low, xp.where(found > high, high, found))
        return xp.where(p <= 0, low, xp.where(p >= 1, high, found))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        loc, scale, low, high = values
        a, b = (low - loc) / scale, (high - loc) / scale
        ends = [xp.stop_gradient(xp.broadcast_to(end, sizes)) for end in (a, b)]
        z = xp.stop_gradient(truncated_normal(key, ends[0], ends[1], sizes, kind))
        # Implicit derivatives: where the cdf of the draw stays, the bounds move it.
        ends = [xp.where(xp.isinf(end), sign * _FAR, end) for end, sign in zip(ends, (-1, 1))]
        logs = _log_between(xp, ends[0], ends[1])
        share = xp.exp(_log_between(xp, ends[0], xp.maximum(z, ends[0])) - logs)
        for end, fixed, part in ((a, ends[0], 1.0 - share), (b, ends[1], share)):
            moves = xp.isfinite(end)
            weight = part * xp.exp(0.5 * (z - fixed) * (z + fixed))
            free = xp.where(moves, end, 0.0)
            z = z + xp.stop_gradient(weight) * (free - xp.stop_gradient(free))
        return loc + scale * z

    def _edges(self, xp: Backend, *values: Any) -> tuple[Any, ...]:
        """The densities at both bounds over the mass, and each times its bound."""
        a, b, logs = _mass(xp, *values)
        at_a, at_b = [xp.exp(normal_log_density(end) - logs) for end in (a, b)]
        return at_a, at_b, a * at_a, b * at_b

    def _entropy(self, xp: Backend, loc: Any, scale: Any, low: Any, high: Any) -> Any:
        _, _, first, last = self._edges(xp, loc, scale, low, high)
        logs = _mass(xp, loc, scale, low, high)[2]
        return 0.5 + HALF_LOG_2PI + xp.log(scale) + logs + 0.5 * (first - last)

    def _mean(self, xp: Backend, loc: Any, scale: Any, low: Any, high: Any) -> Any:
        at_a, at_b, _, _ = self._edges(xp, loc, scale, low, high)
        return loc + scale * (at_a - at_b)

    def _variance(self, xp: Backend, loc: Any, scale: Any, low: Any, high: Any) -> Any:
        at_a, at_b, first, last = self._edges(xp, loc, scale, low, high)
        apart = at_a - at_b
        return scale * scale * (1.0 + first - last - apart * apart)

    def _mode(self, xp: Backend, loc: Any, scale: Any, low: Any, high: Any) -> Any:
        return xp.where(loc < low, low, xp.where(loc > high, high, loc))


def _mass(xp: Backend, loc: Any, scale: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """The bounds in standard deviations, and the logarithm of what is between them."""
    a = xp.where(xp.isinf(low), -_FAR, (xp.where(xp.isinf(low), 0.0, low) - loc) / scale)
    b = xp.where(xp.isinf(high), _FAR, (xp.where(xp.isinf(high), 0.0, high) - loc) / scale)
    return a, b, _log_between(xp, a, b)


def _log_between(xp: Backend, a: Any, b: Any) -> Any:
    """The logarithm of the probability that a normal number is between a and b."""
    is_right = a + b > 0
    first, last = xp.where(is_right, -b, a), xp.where(is_right, -a, b)
    top = log_ndtr(last)
    return top + log1mexp(top - log_ndtr(first))
