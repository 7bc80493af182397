"""Yes or no, how often, and how long until."""

from typing import Any

from .. import special
from .._core.typing import Backend
from .._random.distributions import beta, gamma, poisson, uniform
from .._random.keys import split
from ..special import betaln, entr, expit, gammaincc, gammaln, log_expit, xlogy
from . import constraints
from ._calling import Value
from ._discrete import as_integers, entropy_of_counts, log_shares, over_support, share_of
from .counting import binomial
from .parametric import Parametric, named

_SHARES = {"probs": constraints.unit_interval, "logits": constraints.real}


class Bernoulli(Parametric):
    """Distribution of 1 with probability `probs`, or with log-odds `logits`, and 0 otherwise.

    >>> from trellis.distributions import Bernoulli
    >>> round(Bernoulli(0.25).log_prob(1).item(), 4)
    -1.3863
    """

    parameters = _SHARES
    _is_discrete = True

    def __init__(self, probs: Value | None = None, *, logits: Value | None = None):
        self._set_one("probs", "logits", probs=probs, logits=logits)

    def _bounds(self, probs: Any, logits: Any) -> tuple[Any, Any]:
        return 0, 1

    def _log_prob(self, xp: Backend, x: Any, probs: Any, logits: Any) -> Any:
        return log_shares(xp, x, 1.0 - x, probs, logits)

    def _cdf(self, xp: Backend, x: Any, probs: Any, logits: Any) -> Any:
        return 1.0 - probs + 0.0 * x if logits is None else expit(-logits) + 0.0 * x

    def _icdf(self, xp: Backend, p: Any, probs: Any, logits: Any) -> Any:
        share = share_of(xp, probs, logits)
        return xp.where(p <= 1.0 - share, xp.zeros_like(p * share), 1.0)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        return as_integers(xp, uniform(key, sizes, kind) < share_of(xp, *values))

    def _entropy(self, xp: Backend, probs: Any, logits: Any) -> Any:
        share = share_of(xp, probs, logits)
        if probs is None:
            return -share * log_expit(logits) - (1.0 - share) * log_expit(-logits)
        return entr(share) + entr(1.0 - share)

    def _mean(self, xp: Backend, probs: Any, logits: Any) -> Any:
        return share_of(xp, probs, logits)

    def _variance(self, xp: Backend, probs: Any, logits: Any) -> Any:
        share = share_of(xp, probs, logits)
        return share * (1.0 - share)

    def _mode(self, xp: Backend, probs: Any, logits: Any) -> Any:
        share = share_of(xp, probs, logits)
        return xp.where(share > 0.5, xp.ones_like(share), 0.0)


class Binomial(Parametric):
    """Distribution of how many of `total_count` trials succeed, each with probability `probs`.

    `logits`, the log-odds, can be given in place of `probs`.

    >>> from trellis.distributions import Binomial
    >>> round(Binomial(10, 0.5).cdf(4).item(), 4)
    0.377
    """

    parameters = named(total_count=constraints.nonnegative_integer, **_SHARES)
    _is_discrete = True

    def __init__(
        self, total_count: Value, probs: Value | None = None, *, logits: Value | None = None
    ):
        self._set_one("probs", "logits", total_count=total_count, probs=probs, logits=logits)

    def _bounds(self, n: Any, probs: Any, logits: Any) -> tuple[Any, Any]:
        return 0, n

    def _log_prob(self, xp: Backend, x: Any, n: Any, probs: Any, logits: Any) -> Any:
        return _log_choices(xp, n, x) + log_shares(xp, x, n - x, probs, logits)

    def _cdf(self, xp: Backend, x: Any, n: Any, probs: Any, logits: Any) -> Any:
        share = 1.0 - probs if logits is None else expit(-logits)
        # All n is no matter of this formula, and is 1.
        rest = xp.maximum(n - x, xp.ones_like(n - x))
        return special.betainc(rest, x + 1.0, share)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        n, probs, logits = values
        share = share_of(xp, probs, logits)
        return as_integers(xp, binomial(xp, key, n, share, sizes, kind))

    def _entropy(self, xp: Backend, n: Any, probs: Any, logits: Any) -> Any:
        def log_prob(k: Any) -> Any:
            return self._log_prob(xp, xp.minimum(k, n), n, probs, logits)

        return over_support(xp, self, n, log_prob, lambda k, logs: -xp.exp(logs) * logs)

    def _mean(self, xp: Backend, n: Any, probs: Any, logits: Any) -> Any:
        return n * share_of(xp, probs, logits)

    def _variance(self, xp: Backend, n: Any, probs: Any, logits: Any) -> Any:
        share = share_of(xp, probs, logits)
        return n * share * (1.0 - share)

    def _mode(self, xp: Backend, n: Any, probs: Any, logits: Any) -> Any:
        return xp.minimum(xp.floor((n + 1.0) * share_of(xp, probs, logits)), n)


def _log_choices(xp: Backend, n: Any, x: Any) -> Any:
    """The logarithm of the number of ways to choose x of n."""
    return -xp.log1p(n) - betaln(n - x + 1.0, x + 1.0)


class BetaBinomial(Parametric):
    """Binomial distribution of `total_count` trials whose probability is a draw of a beta one.

    `concentration1` and `concentration0` are the parameters of that.

    >>> from trellis.distributions import BetaBinomial
    >>> BetaBinomial(10, 1.0, 1.0).mean.item()
    5.0
    """

    parameters = named(
        total_count=constraints.nonnegative_integer,
        concentration1=constraints.positive,
        concentration0=constraints.positive,
    )
    _is_discrete = True

    def __init__(self, total_count: Value, concentration1: Value, concentration0: Value):
        self._set(
            total_count=total_count,
            concentration1=concentration1,
            concentration0=concentration0,
        )

    def _bounds(self, n: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return 0, n

    def _log_prob(self, xp: Backend, x: Any, n: Any, a: Any, b: Any) -> Any:
        return _log_choices(xp, n, x) + betaln(x + a, n - x + b) - betaln(a, b)

    def _cdf(self, xp: Backend, x: Any, n: Any, a: Any, b: Any) -> Any:
        # There is no formula: the sum over all values.
        wide = tuple((x + n + a + b).shape)
        n, a, b = [xp.broadcast_to(v, wide) for v in (n, a, b)]

        def log_prob(k: Any) -> Any:
            return self._log_prob(xp, xp.minimum(k, n), n, a, b)

        return over_support(
            xp, self, n, log_prob, lambda k, logs: xp.where(k <= x, xp.exp(logs), 0.0)
        )

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        n, a, b = values
        keys = split(key)
        share = beta(keys[0, ...], a, b, sizes, kind)
        return as_integers(xp, binomial(xp, keys[1, ...], n, share, sizes, kind))

    def _entropy(self, xp: Backend, n: Any, a: Any, b: Any) -> Any:
        def log_prob(k: Any) -> Any:
            return self._log_prob(xp, xp.minimum(k, n), n, a, b)

        return over_support(xp, self, n, log_prob, lambda k, logs: -xp.exp(logs) * logs)

    def _mean(self, xp: Backend, n: Any, a: Any, b: Any) -> Any:
        return n * a / (a + b)

    def _variance(self, xp: Backend, n: Any, a: Any, b: Any) -> Any:
        total = a + b
        return n * (a / total) * (b / total) * (total + n) / (total + 1.0)

    def _mode(self, xp: Backend, n: Any, a: Any, b: Any) -> Any:
        total = a + b - 2.0
        is_hill = total > 0
        hill = xp.floor((n + 1.0) * (a - 1.0) / xp.where(is_hill, total, 1.0))
        zero = xp.zeros_like(hill)
        hill = xp.maximum(xp.minimum(hill, n + zero), zero)
        return xp.where(is_hill, hill, xp.where(a > b, n + zero, zero))


class Geometric(Parametric):
    """Distribution of the failures before the first success, which has probability `probs`.

    `logits`, the log-odds, can be given in place of `probs`.

    >>> from trellis.distributions import Geometric
    >>> Geometric(0.25).mean.item()
    3.0
    """

    parameters = _SHARES
    _is_discrete = True

    def __init__(self, probs: Value | None = None, *, logits: Value | None = None):
        self._set_one("probs", "logits", probs=probs, logits=logits)

    def _bounds(self, probs: Any, logits: Any) -> tuple[Any, Any]:
        return 0, None

    def _log_prob(self, xp: Backend, x: Any, probs: Any, logits: Any) -> Any:
        return log_shares(xp, xp.ones_like(x), x, probs, logits)

    def _cdf(self, xp: Backend, x: Any, probs: Any, logits: Any) -> Any:
        return -xp.expm1((x + 1.0) * _log_miss(xp, probs, logits))

    def _icdf(self, xp: Backend, p: Any, probs: Any, logits: Any) -> Any:
        logs = _log_miss(xp, probs, logits)
        found = xp.ceil(xp.log1p(-p) / logs) - 1.0
        # The quotient is rounded: its neighbours decide.
        found = xp.where(-xp.expm1(found * logs) >= p, found - 1.0, found)
        found = xp.where(-xp.expm1((found + 1.0) * logs) < p, found + 1.0, found)
        return xp.maximum(found, xp.zeros_like(found))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        waits = xp.log1p(-uniform(key, sizes, kind)) / _log_miss(xp, *values)
        return as_integers(xp, xp.floor(waits))

    def _entropy(self, xp: Backend, probs: Any, logits: Any) -> Any:
        share = share_of(xp, probs, logits)
        return (entr(share) + entr(1.0 - share)) / share

    def _mean(self, xp: Backend, probs: Any, logits: Any) -> Any:
        return 1.0 / probs - 1.0 if logits is None else xp.exp(-logits)

    def _variance(self, xp: Backend, probs: Any, logits: Any) -> Any:
        share = share_of(xp, probs, logits)
        return (1.0 - share) / (share * share)

    def _mode(self, xp: Backend, probs: Any, logits: Any) -> Any:
        return xp.zeros_like(share_of(xp, probs, logits))


def _log_miss(xp: Backend, probs: Any, logits: Any) -> Any:
    return xp.log1p(-probs) if logits is None else log_expit(-logits)


class NegativeBinomial(Parametric):
    """Distribution of the successes before so many failures, each with probability `probs`.

    `total_count` is the number of failures, which need not be whole; `logits`, the log-odds, can
    be given in place of `probs`.

    >>> from trellis.distributions import NegativeBinomial
    >>> NegativeBinomial(3.0, 0.5).mean.item()
    3.0
    """

    parameters = named(total_count=constraints.positive, **_SHARES)
    _is_discrete = True

    def __init__(
        self, total_count: Value, probs: Value | None = None, *, logits: Value | None = None
    ):
        self._set_one("probs", "logits", total_count=total_count, probs=probs, logits=logits)

    def _bounds(self, r: Any, probs: Any, logits: Any) -> tuple[Any, Any]:
        return 0, None

    def _log_prob(self, xp: Backend, x: Any, r: Any, probs: Any, logits: Any) -> Any:
        # Of (x + r - 1)! / (x! (r - 1)!)
        choices = -betaln(x + 1.0, r) - xp.log(x + r)
        return choices + log_shares(xp, x, r, probs, logits)

    def _cdf(self, xp: Backend, x: Any, r: Any, probs: Any, logits: Any) -> Any:
        share = 1.0 - probs if logits is None else expit(-logits)
        return special.betainc(r, x + 1.0, share)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        r, probs, logits = values
        odds = probs / (1.0 - probs) if logits is None else xp.exp(logits)
        keys = split(key)
        rate = odds * gamma(keys[0, ...], r, sizes, kind)
        return poisson(keys[1, ...], xp.stop_gradient(rate))

    def _entropy(self, xp: Backend, r: Any, probs: Any, logits: Any) -> Any:
        mean = self._mean(xp, r, probs, logits)
        variance = self._variance(xp, r, probs, logits)
        return entropy_of_counts(
            xp, self, lambda k: self._log_prob(xp, k, r, probs, logits), mean, variance,
            share_of(xp, probs, logits),
        )  # fmt: skip

    def _mean(self, xp: Backend, r: Any, probs: Any, logits: Any) -> Any:
        return r * (probs / (1.0 - probs) if logits is None else xp.exp(logits))

    def _variance(self, xp: Backend, r: Any, probs: Any, logits: Any) -> Any:
        miss = 1.0 - probs if logits is None else expit(-logits)
        return r * share_of(xp, probs, logits) / (miss * miss)

    def _mode(self, xp: Backend, r: Any, probs: Any, logits: Any) -> Any:
        odds = probs / (1.0 - probs) if logits is None else xp.exp(logits)
        return xp.maximum(xp.floor((r - 1.0) * odds), xp.zeros_like(r * odds))


class GammaPoisson(Parametric):
    """Poisson distribution whose rate is a draw of a gamma one with `concentration` and `rate`.

    It is a negative binomial distribution with mean `concentration / rate`.

    >>> from trellis.distributions import GammaPoisson
    >>> GammaPoisson(3.0, 2.0).mean.item()
    1.5
    """

    parameters = named(concentration=constraints.positive, rate=constraints.positive)
    _is_discrete = True

    def __init__(self, concentration: Value, rate: Value = 1.0):
        self._set(concentration=concentration, rate=rate)

    def _bounds(self, a: Any, rate: Any) -> tuple[Any, Any]:
        return 0, None

    def _log_prob(self, xp: Backend, x: Any, a: Any, rate: Any) -> Any:
        choices = -betaln(x + 1.0, a) - xp.log(x + a)
        return choices - a * xp.log1p(1.0 / rate) - x * xp.log1p(rate)

    def _cdf(self, xp: Backend, x: Any, a: Any, rate: Any) -> Any:
        return special.betainc(a, x + 1.0, rate / (1.0 + rate))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, a: Any, rate: Any) -> Any:
        keys = split(key)
        rates = gamma(keys[0, ...], a, sizes, kind) / rate
        return poisson(keys[1, ...], xp.stop_gradient(rates))

    def _entropy(self, xp: Backend, a: Any, rate: Any) -> Any:
        mean, variance = self._mean(xp, a, rate), self._variance(xp, a, rate)
        return entropy_of_counts(
            xp, self, lambda k: self._log_prob(xp, k, a, rate), mean, variance, 1.0 / (1.0 + rate)
        )

    def _mean(self, xp: Backend, a: Any, rate: Any) -> Any:
        return a / rate

    def _variance(self, xp: Backend, a: Any, rate: Any) -> Any:
        return a / rate * (1.0 + 1.0 / rate)

    def _mode(self, xp: Backend, a: Any, rate: Any) -> Any:
        return xp.maximum(xp.floor((a - 1.0) / rate), xp.zeros_like(a / rate))


class Poisson(Parametric):
    """Poisson distribution: how many events come in one unit of time, with mean `rate`.

    >>> from trellis.distributions import Poisson
    >>> round(Poisson(2.0).log_prob(0).item(), 4)
    -2.0
    """

    parameters = named(rate=constraints.nonnegative)
    _is_discrete = True

    def __init__(self, rate: Value):
        self._set(rate=rate)

    def _bounds(self, rate: Any) -> tuple[Any, Any]:
        return 0, None

    def _log_prob(self, xp: Backend, x: Any, rate: Any) -> Any:
        return xlogy(x, rate) - rate - gammaln(x + 1.0)

    def _cdf(self, xp: Backend, x: Any, rate: Any) -> Any:
        return gammaincc(x + 1.0, rate)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, rate: Any) -> Any:
        return poisson(key, xp.stop_gradient(rate), sizes)

    def _entropy(self, xp: Backend, rate: Any) -> Any:
        # From twice the mean on, each probability is less than half of that before.
        return entropy_of_counts(
            xp, self, lambda k: self._log_prob(xp, k, rate), 2.0 * rate, 0.0 * rate,
            xp.full_like(rate, 0.5),
        )  # fmt: skip

    def _mean(self, xp: Backend, rate: Any) -> Any:
        return rate

    def _variance(self, xp: Backend, rate: Any) -> Any:
        return rate

    def _mode(self, xp: Backend, rate: Any) -> Any:
        return xp.floor(rate)


class DiscreteUniform(Parametric):
    """Uniform distribution of the whole numbers from `low` to `high`, both of them included.

    >>> from trellis.distributions import DiscreteUniform
    >>> DiscreteUniform(1, 6).mean.item()
    3.5
    """

    parameters = named(low=constraints.integer, high=constraints.integer)
    _is_discrete = True

    def __init__(self, low: Value, high: Value):
        self._set(low=low, high=high)

    def _bounds(self, low: Any, high: Any) -> tuple[Any, Any]:
        return low, high

    def _log_prob(self, xp: Backend, x: Any, low: Any, high: Any) -> Any:
        return -xp.log(high - low + 1.0) + 0.0 * x

    def _cdf(self, xp: Backend, x: Any, low: Any, high: Any) -> Any:
        return (x - low + 1.0) / (high - low + 1.0)

    def _icdf(self, xp: Backend, p: Any, low: Any, high: Any) -> Any:
        found = low + xp.ceil(p * (high - low + 1.0)) - 1.0
        return xp.maximum(found, low + xp.zeros_like(found))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, low: Any, high: Any) -> Any:
        steps = xp.floor(uniform(key, sizes, kind) * (high - low + 1.0))
        return as_integers(xp, low + xp.minimum(steps, high - low))

    def _entropy(self, xp: Backend, low: Any, high: Any) -> Any:
        return xp.log(high - low + 1.0)

    def _mean(self, xp: Backend, low: Any, high: Any) -> Any:
        return 0.5 * (low + high)

    def _variance(self, xp: Backend, low: Any, high: Any) -> Any:
        count = high - low + 1.0
        return (count * count - 1.0) / 12.0

    def _mode(self, xp: Backend, low: Any, high: Any) -> Any:
        return low + 0.0 * high
