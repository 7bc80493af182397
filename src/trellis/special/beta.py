"""The beta function and its logarithm."""

from typing import Any

from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated, is_double
from ._numbers import HALF_LOG_2PI, INF, NAN, log1p
from .gamma import (
    FAR,
    digamma,
    digamma_of_positive,
    gamma_of,
    gammaln_of_positive,
    stirling_rest,
)


def betaln(a: A, b: A, /) -> A:
    """The logarithm of the absolute value of the beta function.

    >>> import numpy as np, trellis
    >>> trellis.special.betaln(np.array([2.0, 50.0]), np.array([3.0, 50.0])).round(6)
    array([ -2.484907, -70.002717])
    """
    try:
        return evaluated("betaln", _betaln, _betaln_slopes, a, b)
    except Exception as error:
        return explain(error, betaln)


def _betaln_slopes(y: Any, a: Array, b: Array) -> list[Any]:
    both = digamma(a + b)
    return [digamma(a) - both, digamma(b) - both]


def _betaln(xp: Backend, a: Any, b: Any) -> Any:
    are_positive = xp.logical_and(xp.logical_and(a > 0.0, b > 0.0), xp.isfinite(a + b))
    p, q = xp.where(are_positive, a, 1.0), xp.where(are_positive, b, 1.0)
    found = betaln_of_positive(xp, p, q)
    # With one of them 0 it is infinite; with one infinite, the function itself is 0.
    none, at_end = xp.minimum(a, b) == 0.0, xp.maximum(a, b) == INF
    ends = xp.where(none, INF, xp.where(at_end, -INF, xp.full_like(a, NAN)))
    is_out = xp.logical_or(xp.logical_not(xp.minimum(a, b) >= 0.0), xp.logical_and(none, at_end))
    return xp.where(are_positive, found, xp.where(is_out, NAN, ends))


def betaln_of_positive(xp: Backend, a: Any, b: Any) -> Any:
    """`betaln` for numbers above 0, without the cancellation of large terms."""
    small, large = xp.minimum(a, b), xp.maximum(a, b)
    is_far, are_far = large >= FAR, small >= FAR
    far = xp.where(is_far, large, FAR)
    both = small + far
    rest = stirling_rest(xp, far) - stirling_rest(xp, xp.maximum(both, FAR))
    # gammaln(far) - gammaln(small + far), by Stirling's formula
    ratio = small / far
    shifted = rest - (far - 0.5) * log1p(xp, ratio) + small * (1.0 - xp.log(both))
    one = gammaln_of_positive(xp, small) + shifted
    # With both large, (small - 1/2) log(small / both) and no logarithm alone.
    many = xp.where(are_far, small, FAR)
    quotient = many / xp.where(are_far, both, 2.0 * FAR)
    two = (many - 0.5) * xp.log(quotient) - (far - 0.5) * log1p(xp, xp.where(are_far, ratio, 1.0))
    two = two - 0.5 * xp.log(both) + HALF_LOG_2PI + rest + stirling_rest(xp, many)
    near = xp.where(is_far, 1.0, large)
    less = xp.where(is_far, 1.0, small)
    tiny = less < 1e-30  # gamma overflows, and the other two are equal
    plain = xp.log(of_gammas(xp, xp.where(tiny, 1.0, less), near))
    plain = xp.where(tiny, gammaln_of_positive(xp, less), plain)
    return xp.where(are_far, two, xp.where(is_far, one, plain))


def of_gammas(xp: Backend, small: Any, large: Any) -> Any:
    """The beta function by three of gamma, for numbers whose sum is in the range of that."""
    both = small + large
    # What the sum lost in rounding, which gamma would magnify: gamma(s + r) = gamma(s) (1 + r psi)
    rest = small - (both - large)
    found = gamma_of(xp, small) * (gamma_of(xp, large) / gamma_of(xp, both))
    return found - found * (rest * digamma_of_positive(xp, both))


def beta(a: A, b: A, /) -> A:
    """The beta function, gamma(a) gamma(b) / gamma(a + b).

    >>> import numpy as np, trellis
    >>> trellis.special.beta(np.array([2.0, 0.5]), np.array([3.0, 0.5])).round(6)
    array([0.083333, 3.141593])
    """
    try:
        return evaluated("beta", _beta, _beta_slopes, a, b)
    except Exception as error:
        return explain(error, beta)


def _beta_slopes(y: Any, a: Array, b: Array) -> list[Any]:
    both = digamma(a + b)
    return [y() * (digamma(a) - both), y() * (digamma(b) - both)]


def _beta(xp: Backend, a: Any, b: Any) -> Any:
    is_mild = xp.logical_and(
        xp.logical_and(a > 1e-30, b > 1e-30), a + b < (170.0 if is_double(xp, a) else 34.0)
    )
    p, q = xp.where(is_mild, a, 1.0), xp.where(is_mild, b, 1.0)
    mild = of_gammas(xp, xp.minimum(p, q), xp.maximum(p, q))
    return xp.where(is_mild, mild, xp.exp(_betaln(xp, a, b)))
