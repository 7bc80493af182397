"""Distributions cut off at bounds: what lies beyond is never drawn, or counts as the bound."""

from typing import Any

from .._core.errors import ArgumentError, ShapeError
from .._core.shapes import broadcast_shapes
from .._core.typing import Array
from .._random.distributions import uniform
from ..special import log1mexp
from ._calling import Value, as_value, in_one_dtype, quietly
from .compound import Wrapping, check_distribution
from .constraints import Constraint, interval
from .distribution import Distribution, rebuilt_with
from .parametric import INF, NAN


class _Bounded(Wrapping):
    """A distribution of numbers with a lower and an upper bound, either of which may be None."""

    _parts = ("base", "low", "high")
    low: Any
    high: Any

    def __init__(self, base: Distribution, low: Value | None = None, high: Value | None = None):
        name = type(self).__name__
        self.base = check_distribution(name, base)
        if base.event_rank > 0:
            raise ShapeError(f"{name} is of numbers; events of the base have {base.event_shape}.")
        if low is None and high is None:
            raise ArgumentError(f"{name} needs a bound: low, high or both.")
        self.low = None if low is None else as_value(name, "low", low, False)
        self.high = None if high is None else as_value(name, "high", high, False)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape to which the base and the bounds broadcast."""
        shapes = [tuple(x.shape) for x in (self.low, self.high) if hasattr(x, "shape")]
        return broadcast_shapes(self.base.batch_shape, *shapes)

    @property
    def support(self) -> Constraint:
        """The numbers of the base's support between the bounds."""
        return interval(self.low, self.high, False, self.is_discrete)

    def _expanded(self, sizes: tuple[int, ...]) -> Distribution:
        expanded: Distribution = rebuilt_with(self, {"base": self.base.expand(sizes)})
        return expanded

    def _gathered(self, x: Any) -> tuple[Any, Any, Any, Any]:
        xp, (at, low, high), _ = in_one_dtype([x, self.low, self.high])
        return xp, at, low, high

    def _share_below(self, low: Any, like: Any) -> Any:
        """The probability of less than the lower bound."""
        if low is None:
            return 0.0 * like
        # A whole number at the bound is not below it.
        return self.base.cdf(_before(low) if self.is_discrete else low)


def _before(low: Any) -> Any:
    return -((-low) // 1) - 1.0


class Truncated(_Bounded):
    """The distribution `base` of numbers, given that they lie from `low` to `high`.

    A bound of None is infinity. The base needs a cdf, and an icdf for draws.

    >>> from trellis.distributions import Exponential, Truncated
    >>> d = Truncated(Exponential(1.0), high=1.0)
    >>> d.cdf(1.0).item()
    1.0
    """

    @property
    def has_rsample(self) -> bool:
        """Whether the base is continuous: draws are quantiles."""
        return not self.base.is_discrete

    def _ends(self, like: Any, low: Any, high: Any) -> tuple[Any, Any]:
        below = self._share_below(low, like)
        up_to = 0.0 * like + 1.0 if high is None else self.base.cdf(high)
        return below, up_to

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        xp, (low, high), kind = in_one_dtype([self.low, self.high], key)
        u = uniform(key, sizes, kind)
        below, up_to = self._ends(u, low, high)
        drawn = self.base.icdf(below + u * (up_to - below))
        # Rounding may go beyond a bound.
        drawn = drawn if low is None else xp.maximum(drawn, low + xp.zeros_like(drawn))
        drawn = drawn if high is None else xp.minimum(drawn, high + xp.zeros_like(drawn))
        return xp.astype(drawn, xp.asarray(0).dtype) if self.is_discrete else drawn

    def log_prob(self, x: Value, /) -> Any:
        """The logarithm of the density, or of the probability, at `x`."""
        xp, at, low, high = self._gathered(x)
        return quietly(xp, self._log_prob, at, low, high)

    def _log_prob(self, xp: Any, x: Any, low: Any, high: Any) -> Any:
        is_inside = interval(low, high)._check(xp, x)
        below, up_to = self._ends(xp.zeros_like(x), low, high)
        found = self.base.log_prob(x) - xp.log(up_to - below)
        return xp.where(is_inside, found, xp.where(xp.isnan(x), NAN, -INF))

    def cdf(self, x: Value, /) -> Any:
        """The probability of a draw up to `x`."""
        xp, at, low, high = self._gathered(x)
        below, up_to = self._ends(xp.zeros_like(at), low, high)
        share = (self.base.cdf(at) - below) / (up_to - below)
        return xp.minimum(xp.maximum(share, xp.zeros_like(share)), xp.ones_like(share))

    def icdf(self, p: Value, /) -> Any:
        """The smallest value whose `cdf` is at least `p`: quantiles."""
        xp, at, low, high = self._gathered(p)
        below, up_to = self._ends(xp.zeros_like(at), low, high)
        return self.base.icdf(below + at * (up_to - below))


class Censored(_Bounded):
    """The distribution `base` of numbers whose draws beyond a bound are recorded as the bound.

    `low` and `high` are the ends of a scale: what is below `low` reads `low`, so that there
    `log_prob` is of the probability of all that is below; None is no end.

    >>> from trellis.distributions import Censored, Exponential
    >>> round(Censored(Exponential(0.5), high=2.0).log_prob(2.0).item(), 4)
    -1.0
    """

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        drawn = self.base._draw(key, sizes)
        xp, (at, low, high), _ = in_one_dtype([drawn, self.low, self.high])
        at = at if low is None else xp.maximum(at, low + xp.zeros_like(at))
        at = at if high is None else xp.minimum(at, high + xp.zeros_like(at))
        return xp.astype(at, drawn.dtype) if self.is_discrete else at

    def log_prob(self, x: Value, /) -> Any:
        """The logarithm of the density at `x`; of all that is beyond, at a bound."""
        xp, at, low, high = self._gathered(x)
        return quietly(xp, self._log_prob, at, low, high)

    def _log_prob(self, xp: Any, x: Any, low: Any, high: Any) -> Any:
        found = self.base.log_prob(x)
        if low is not None:
            found = xp.where(x == low, xp.log(self.base.cdf(low)), found)
        if high is not None:
            # -log F is at least 0, and 1 - F keeps its digits next to 0 and to 1.
            share = self._share_below(high, x)
            found = xp.where(x == high, log1mexp(-xp.log(share)), found)
        is_inside = interval(low, high)._check(xp, x)
        return xp.where(is_inside, found, xp.where(xp.isnan(x), NAN, -INF))

    def cdf(self, x: Value, /) -> Any:
        """The probability of a draw up to `x`."""
        xp, at, low, high = self._gathered(x)
        share = self.base.cdf(at)
        share = share if low is None else xp.where(at < low, 0.0, share)
        return share if high is None else xp.where(at >= high, 1.0, share)

    def icdf(self, p: Value, /) -> Any:
        """The smallest value whose `cdf` is at least `p`: quantiles."""
        xp, at, low, high = self._gathered(p)
        found = self.base.icdf(at)
        found = found if low is None else xp.maximum(found, low + xp.zeros_like(found))
        return found if high is None else xp.minimum(found, high + xp.zeros_like(found))
