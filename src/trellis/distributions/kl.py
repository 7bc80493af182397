"""The Kullback-Leibler divergence: a table of closed forms by pairs of families."""

from collections.abc import Callable
from math import log, pi
from typing import Any, TypeVar

from .._core import tree
from .._core.dispatch import xp_of
from .._core.errors import ArgumentTypeError, NotSupportedError, ShapeError
from .._core.typing import Array
from ..special import betaln, digamma, expit, gamma, gammaln, i0e, i1e, log_expit, xlogy
from ._calling import in_one_dtype, quietly
from ._discrete import share_of
from ._maps import summed
from .beta_family import Beta, BetaProportion
from .categorical import Categorical, OneHotCategorical, log_probs
from .circular import VonMises
from .compound import Delta, Independent, Transformed
from .discrete import (
    Bernoulli,
    Binomial,
    DiscreteUniform,
    Geometric,
    NegativeBinomial,
    Poisson,
)
from .distribution import Distribution
from .expanded import Expanded
from .extremes import InverseGaussian, Pareto, Weibull
from .gamma_family import Chi2, Exponential, Gamma, InverseGamma
from .location_scale import EULER, Cauchy, Gumbel, HalfCauchy, Laplace, Uniform
from .matrices import Wishart, log_gamma_of_order
from .more_lines import LogUniform
from .multivariate import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    log_diagonal,
    solve_lower,
    standardised,
)
from .normal import HalfNormal, LogNormal, Normal
from .parametric import INF, Parametric
from .simplex import Dirichlet

F = TypeVar("F", bound=Callable[..., Any])
# From two families to their formula over (p, q).
_TABLE: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(p: type[Distribution], q: type[Distribution], /) -> Callable[[F], F]:
    """Enter a formula `fn(p, q)` for the divergence of family `q` from family `p`.

    >>> from trellis.distributions import Normal, kl_divergence, register_kl
    >>> class Mine(Normal):
    ...     pass
    >>> @register_kl(Mine, Normal)
    ... def formula(p, q):
    ...     return 7.0
    >>> kl_divergence(Mine(0.0, 1.0), Normal(0.0, 1.0))
    7.0
    """

    def enter(fn: F) -> F:
        _TABLE[(p, q)] = fn
        return fn

    return enter


def kl_divergence(p: Distribution, q: Distribution, /, *, key: Array | None = None,
                  samples: int = 1000) -> Any:  # fmt: skip
    """The mean of `p.log_prob(x) - q.log_prob(x)` over draws x of `p`, in nats.

    By a closed form. Where none is known it raises, unless there is a `key`: then it is the mean
    over so many `samples`, with gradients by the parameters if the draws have them.

    Arguments:
        p: The distribution that is drawn from.
        q: The distribution that it is compared with.
        key: A random key: estimate the divergence from draws.
        samples: How many draws.

    >>> from trellis.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0)).item()
    0.5
    """
    for what in (p, q):
        if not isinstance(what, Distribution):
            raise ArgumentTypeError(f"kl_divergence() expects distributions, got {what!r}.")
    if p.event_shape != q.event_shape:
        raise ShapeError(
            f"kl_divergence() expects events of one shape, got {p.event_shape} and {q.event_shape}."
        )
    if key is not None:
        draws = p.rsample(key, samples) if p.has_rsample else p.sample(key, samples)
        logs = p.log_prob(draws) - q.log_prob(draws)
        return xp_of(logs).mean(logs, axis=0)
    for first in type(p).__mro__:
        for second in type(q).__mro__:
            if (first, second) in _TABLE:
                return _TABLE[(first, second)](p, q)
    raise NotSupportedError(
        f"No closed form of the divergence of {type(q).__name__} from {type(p).__name__} is known. "
        "Give a key, kl_divergence(p, q, key=key), to estimate it from draws."
    )


def _of_families(p: type[Parametric], q: type[Parametric]) -> Callable[[F], F]:
    """Enter a formula over the backend, the parameters of p and those of q, in one dtype."""

    def enter(fn: F) -> F:
        def formula(first: Any, second: Any) -> Any:
            values = first._values()
            xp, arrays, _ = in_one_dtype([*values, *second._values()])
            return quietly(xp, fn, *arrays)

        _TABLE[(p, q)] = formula
        return fn

    return enter


# Numbers ------------------------------------------------------------------------------------------


@_of_families(Normal, Normal)
@_of_families(LogNormal, LogNormal)
def _normal(xp: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    ratio, apart = s / t, (a - b) / t
    return 0.5 * (ratio * ratio + apart * apart - 1.0) - xp.log(ratio)


@_of_families(HalfNormal, HalfNormal)
def _half_normal(xp: Any, s: Any, t: Any) -> Any:
    ratio = s / t
    return 0.5 * (ratio * ratio - 1.0) - xp.log(ratio)


@_of_families(Cauchy, Cauchy)
def _cauchy(xp: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    apart, both = a - b, s + t
    return xp.log((both * both + apart * apart) / (4.0 * s * t))


@_of_families(HalfCauchy, HalfCauchy)
def _half_cauchy(xp: Any, s: Any, t: Any) -> Any:
    return 2.0 * xp.log(s + t) - xp.log(4.0 * s * t)


@_of_families(Laplace, Laplace)
def _laplace(xp: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    apart = xp.abs(a - b)
    return xp.log(t / s) + (s * xp.exp(-apart / s) + apart) / t - 1.0


@_of_families(Gumbel, Gumbel)
def _gumbel(xp: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    ratio, apart = s / t, (b - a) / t
    moved = xp.exp(apart + gammaln(1.0 + ratio))
    return -xp.log(ratio) + EULER * (ratio - 1.0) + moved - 1.0 - apart


@_of_families(Uniform, Uniform)
def _uniform(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    is_inside = (c <= a) & (b <= d)
    return xp.where(is_inside, xp.log((d - c) / (b - a)), INF)


@_of_families(LogUniform, LogUniform)
def _log_uniform(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return _uniform(xp, xp.log(a), xp.log(b), xp.log(c), xp.log(d))


@_of_families(DiscreteUniform, DiscreteUniform)
def _discrete_uniform(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return _uniform(xp, a, b + 1.0, c, d + 1.0)


@_of_families(Uniform, Normal)
def _uniform_normal(xp: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    width, apart = (b - a) / scale, (0.5 * (a + b) - loc) / scale
    return 0.5 * log(2 * pi) - xp.log(width) + 0.5 * (width * width / 12.0 + apart * apart)


@_of_families(Exponential, Exponential)
def _exponential(xp: Any, a: Any, b: Any) -> Any:
    ratio = b / a
    return ratio - 1.0 - xp.log(ratio)


@_of_families(Gamma, Gamma)
def _gamma(xp: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    logs = gammaln(b) - gammaln(a) + b * xp.log(s / t)
    return (a - b) * digamma(a) + logs + a * (t / s - 1.0)


@_of_families(InverseGamma, InverseGamma)
def _inverse_gamma(xp: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    return _gamma(xp, a, s, b, t)


@_of_families(Chi2, Chi2)
def _chi2(xp: Any, a: Any, b: Any) -> Any:
    return _gamma(xp, 0.5 * a, 1.0 + 0.0 * a, 0.5 * b, 1.0 + 0.0 * b)


@_of_families(Exponential, Gamma)
def _exponential_gamma(xp: Any, rate: Any, b: Any, t: Any) -> Any:
    return _gamma(xp, xp.ones_like(rate), rate, b, t)


@_of_families(Gamma, Exponential)
def _gamma_exponential(xp: Any, a: Any, s: Any, rate: Any) -> Any:
    return _gamma(xp, a, s, xp.ones_like(rate), rate)


@_of_families(Weibull, Weibull)
def _weibull(xp: Any, s: Any, k: Any, t: Any, m: Any) -> Any:
    logs = xp.log(k) - k * xp.log(s) - xp.log(m) + m * xp.log(t)
    moved = xp.exp(m * xp.log(s / t)) * gamma(m / k + 1.0)
    return logs + (k - m) * (xp.log(s) - EULER / k) + moved - 1.0


@_of_families(Weibull, Gamma)
def _weibull_gamma(xp: Any, s: Any, k: Any, b: Any, t: Any) -> Any:
    logs = gammaln(b) - b * xp.log(t) + t * s * gamma(1.0 / k + 1.0)
    return EULER * (b / k - 1.0) - b * xp.log(s) + xp.log(k) - 1.0 + logs


@_of_families(Pareto, Pareto)
def _pareto(xp: Any, s: Any, a: Any, t: Any, b: Any) -> Any:
    found = b * xp.log(s / t) + xp.log(a / b) + b / a - 1.0
    return xp.where(s < t, INF, found)


@_of_families(InverseGaussian, InverseGaussian)
def _inverse_gaussian(xp: Any, m: Any, c: Any, n: Any, d: Any) -> Any:
    ratio, apart = d / c, (m - n) / n
    return 0.5 * (ratio - 1.0 - xp.log(ratio) + d * apart * apart / m)


@_of_families(BetaProportion, BetaProportion)
def _beta_proportion(xp: Any, m: Any, c: Any, n: Any, d: Any) -> Any:
    return _beta(xp, m * c, (1.0 - m) * c, n * d, (1.0 - n) * d)


@_of_families(Beta, Beta)
def _beta(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    moved = (a - c) * digamma(a) + (b - d) * digamma(b)
    return betaln(c, d) - betaln(a, b) + moved + (c - a + d - b) * digamma(a + b)


@_of_families(VonMises, VonMises)
def _von_mises(xp: Any, a: Any, k: Any, b: Any, m: Any) -> Any:
    cosine = i1e(k) / i0e(k)
    logs = xp.log(i0e(m) / i0e(k)) + m - k
    return logs + cosine * (k - m * xp.cos(a - b))


# Counts and categories ----------------------------------------------------------------------------


def _of_shares(xp: Any, p: Any, l: Any, q: Any, m: Any) -> Any:  # noqa: E741
    share = share_of(xp, p, l)
    if l is None and m is None:
        yes = xlogy(p, p) - xlogy(p, q)
        return yes + xlogy(1.0 - p, 1.0 - p) - xlogy(1.0 - p, 1.0 - q)

    def logs(probs: Any, logits: Any) -> tuple[Any, Any]:
        if logits is None:
            return xp.log(probs), xp.log1p(-probs)
        return log_expit(logits), log_expit(-logits)

    (yes, no), (own, rest) = logs(q, m), logs(p, l)
    first = xp.where(share > 0, share * (own - yes), 0.0)
    return first + xp.where(share < 1, (1.0 - share) * (rest - no), 0.0)


@_of_families(Bernoulli, Bernoulli)
def _bernoulli(xp: Any, *values: Any) -> Any:
    return _of_shares(xp, *values)


@_of_families(Binomial, Binomial)
def _binomial(xp: Any, n: Any, p: Any, l: Any, m: Any, q: Any, k: Any) -> Any:  # noqa: E741
    found = n * _of_shares(xp, p, l, q, k)
    # More trials than q has reach counts that it never has; fewer have no closed form.
    return xp.where(n == m, found, xp.where(n > m, INF, float("nan")))


@_of_families(Geometric, Geometric)
def _geometric(xp: Any, p: Any, l: Any, q: Any, m: Any) -> Any:  # noqa: E741
    return _of_shares(xp, p, l, q, m) / share_of(xp, p, l)


@_of_families(NegativeBinomial, NegativeBinomial)
def _negative_binomial(xp: Any, r: Any, p: Any, l: Any, s: Any, q: Any, m: Any) -> Any:  # noqa: E741
    same = r == s
    if xp.is_concrete(same) and not bool(xp.all(same)):
        raise NotSupportedError(
            "The divergence of negative binomial distributions has a closed form only where both "
            "have the same total_count. Give a key to estimate it from draws."
        )
    miss = 1.0 - p if l is None else expit(-l)
    return xp.where(same, r * _of_shares(xp, p, l, q, m) / miss, float("nan"))


@_of_families(Poisson, Poisson)
def _poisson(xp: Any, a: Any, b: Any) -> Any:
    return xlogy(a, a) - xlogy(a, b) + b - a


@_of_families(Categorical, Categorical)
@_of_families(OneHotCategorical, OneHotCategorical)
def _categorical(xp: Any, p: Any, l: Any, q: Any, m: Any) -> Any:  # noqa: E741
    own, other = log_probs(xp, p, l), log_probs(xp, q, m)
    weights = xp.exp(own)
    return xp.sum(xp.where(weights > 0, weights * (own - other), 0.0), axis=-1)


# Vectors and matrices -----------------------------------------------------------------------------


@_of_families(Dirichlet, Dirichlet)
def _dirichlet(xp: Any, a: Any, b: Any) -> Any:
    total = xp.sum(a, axis=-1, keepdims=True)
    moved = xp.sum((a - b) * (digamma(a) - digamma(total)), axis=-1)
    logs = gammaln(xp.sum(a, axis=-1)) - gammaln(xp.sum(b, axis=-1))
    return logs + xp.sum(gammaln(b) - gammaln(a), axis=-1) + moved


@_of_families(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(xp: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    n = int(s.shape[-1])
    apart = standardised(xp, t, a - b)
    batch = tuple((s[..., 0, 0] + t[..., 0, 0]).shape)
    z = solve_lower(xp, xp.broadcast_to(t, (*batch, n, n)), xp.broadcast_to(s, (*batch, n, n)))
    trace = xp.sum(xp.sum(z * z, axis=-1), axis=-1)
    logs = log_diagonal(xp, t) - log_diagonal(xp, s)
    return logs + 0.5 * (trace + xp.sum(apart * apart, axis=-1) - n)


def _full(p: Any) -> MultivariateNormal:
    if isinstance(p, MultivariateNormal):
        return p
    return MultivariateNormal(p._values()[0], p.covariance_matrix)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Any:
    return kl_divergence(_full(p), _full(q))


@_of_families(Wishart, Wishart)
def _wishart(xp: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    n = int(s.shape[-1])
    batch = tuple((s[..., 0, 0] + t[..., 0, 0]).shape)
    z = solve_lower(xp, xp.broadcast_to(t, (*batch, n, n)), xp.broadcast_to(s, (*batch, n, n)))
    trace = xp.sum(xp.sum(z * z, axis=-1), axis=-1)
    slopes: Any = 0.0
    for i in range(n):
        slopes = slopes + digamma(0.5 * (a - i))
    logs = b * (log_diagonal(xp, t) - log_diagonal(xp, s)) + 0.5 * (a - b) * slopes
    front = log_gamma_of_order(xp, 0.5 * b, n) - log_gamma_of_order(xp, 0.5 * a, n)
    return logs + front + 0.5 * a * (trace - n)


# Compound ones ------------------------------------------------------------------------------------


@register_kl(Delta, Distribution)
def _delta(p: Any, q: Any) -> Any:
    return -q.log_prob(p.value)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.rank != q.rank:
        raise NotSupportedError(
            f"kl_divergence() of Independent with rank {p.rank} and {q.rank}: they must be equal."
        )
    return summed(kl_divergence(p.base, q.base), p.rank)


@register_kl(Expanded, Distribution)
def _expanded(p: Any, q: Any) -> Any:
    found = kl_divergence(p.base, q.base if isinstance(q, Expanded) else q)
    return found + xp_of(found).zeros(p.batch_shape, dtype=found.dtype)


@register_kl(Transformed, Transformed)
def _transformed(p: Any, q: Any) -> Any:
    same = tree.structure(p.bijection) == tree.structure(q.bijection)
    pairs = zip(tree.leaves(p.bijection), tree.leaves(q.bijection)) if same else ()
    if not same or not all([x is y or _is_equal(x, y) for x, y in pairs]):
        raise NotSupportedError(
            "The divergence of transformed distributions has a closed form only where both have "
            "the same bijection. Give a key to estimate it from draws."
        )
    return kl_divergence(p.base, q.base)


def _is_equal(x: Any, y: Any) -> bool:
    """Whether two numbers are known to be equal; arrays must be one object."""
    return isinstance(x, float) and isinstance(y, float) and x == y
