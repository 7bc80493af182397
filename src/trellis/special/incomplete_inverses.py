"""The inverses of the incomplete gamma and beta functions by their last argument.

Both are Halley's method on the logarithm of the smaller part, by the logarithm of `x` (and by the
logit, for beta): in these the functions are concave, and the power that they begin with is a line.
"""

import math
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated, is_double
from ._numbers import INF, NAN, log1p, repeated
from .beta import betaln_of_positive
from .gamma import gammaln_of_positive
from .incomplete_beta import apart_of, beta_density, both_beta_parts, slopes_by_orders, turn
from .incomplete_beta import front as front_of_beta
from .incomplete_gamma import both_parts, density, front, slope_by_order

# A start within two digits and steps of third order: three are enough, and one more is for safety.
_STEPS = 4
# Parts below this are tails, whose logarithm gives the start.
_TAIL = 1e-3


def gammaincinv(a: A, y: A, /) -> A:
    """The `x` of which `gammainc(a, x)` is `y`: quantiles of the gamma distribution.

    >>> import numpy as np, trellis
    >>> trellis.special.gammaincinv(np.array([1.0, 2.0]), np.array([0.5, 0.9])).round(6)
    array([0.693147, 3.88972 ])
    """
    try:
        return evaluated("gammaincinv", _gamma_of_lower, _slopes_of_lower, a, y, has_kernels=True)
    except Exception as error:
        return explain(error, gammaincinv)


def gammainccinv(a: A, y: A, /) -> A:
    """The `x` of which `gammaincc(a, x)` is `y`; exact where `y` is small and x large.

    >>> import numpy as np, trellis
    >>> trellis.special.gammainccinv(np.array([1.0, 2.0]), np.array([0.5, 1e-20])).round(6)
    array([ 0.693147, 49.983198])
    """
    try:
        return evaluated("gammainccinv", _gamma_of_upper, _slopes_of_upper, a, y, has_kernels=True)
    except Exception as error:
        return explain(error, gammainccinv)


def _slopes_of_lower(y: Any, a: Array, p: Array) -> list[Any]:
    x = y()
    inverse = 1.0 / density(a, x)
    return [-slope_by_order(xp_of_all(a, p), a, x) * inverse, inverse]


def _slopes_of_upper(y: Any, a: Array, q: Array) -> list[Any]:
    by_order, inverse = _slopes_of_lower(y, a, q)
    return [by_order, -inverse]


def _gamma_of_lower(xp: Backend, a: Any, p: Any) -> Any:
    return _in_range(xp, a, p, 1.0 - p, p)


def _gamma_of_upper(xp: Backend, a: Any, q: Any) -> Any:
    return _in_range(xp, a, 1.0 - q, q, q)


def _in_range(xp: Backend, a: Any, p: Any, q: Any, given: Any) -> Any:
    inside = xp.logical_and(xp.logical_and(a > 0.0, a < INF), xp.minimum(p, q) > 0.0)
    safe = [xp.where(inside, z, 0.5) for z in (a, p, q)]
    ends = xp.where(p == 0.0, 0.0, xp.where(q == 0.0, INF, xp.full_like(a, NAN)))
    is_out = xp.logical_or(xp.logical_not(a >= 0.0), xp.isnan(given))
    return xp.where(inside, _gamma_quantile(xp, *safe), xp.where(is_out, NAN, ends))


def _gamma_quantile(xp: Backend, a: Any, p: Any, q: Any) -> Any:
    is_lower = p <= q
    part = xp.minimum(p, q)

    def step(_: Any, x: Any) -> tuple[Any]:
        lower, upper = both_parts(xp, a, x)
        found = xp.where(is_lower, lower, upper)
        slope = a * front(xp, a, x) / found
        slope = xp.where(is_lower, slope, -slope)
        change = _halley(xp, _apart(xp, found, part), slope, a - x - slope)
        return (x * xp.exp(xp.clip(change, -30.0, 3.0)),)

    # The power of x that the lower part begins with is above it: this x is too small.
    power = (xp.log(p) + gammaln_of_positive(xp, 1.0 + a)) / a
    (x,) = repeated(xp, _STEPS, step, _gamma_start(xp, a, p, q, power))
    return xp.where(power < _least(xp, a), xp.exp(power), x)


def _apart(xp: Backend, x: Any, part: Any) -> Any:
    """(x - part) / part. The difference of parts of 1e-300 is 0 where small floats count as 0."""
    return xp.where(part < _TAIL, x / part - 1.0, (x - part) / part)


def _halley(xp: Backend, apart: Any, slope: Any, bend: Any) -> Any:
    """The change by which log(1 + apart) becomes 0; `bend` is the slope's own change, over it."""
    # Nothing was found: so far away that the part is no float. Back by as much as is certain.
    is_found = apart > -1.0
    is_near = apart > -0.5
    far = xp.log(xp.where(is_near, 1.0, xp.where(is_found, 1.0 + apart, 1e-6)))
    error = xp.where(is_near, log1p(xp, xp.where(is_near, apart, 0.0)), far)
    newton = error / slope
    return -newton / xp.clip(1.0 - 0.5 * newton * bend, 0.5, 4.0)


def _gamma_start(xp: Backend, a: Any, p: Any, q: Any, power: Any) -> Any:
    power = xp.exp(xp.clip(power, _least(xp, a), 80.0))
    # By the normal distribution, after Wilson and Hilferty.
    many = xp.maximum(a, 0.5)
    root = 1.0 - 1.0 / (9.0 * many) + _normal_quantile(xp, p, q) / (3.0 * xp.sqrt(many))
    normal = many * xp.maximum(root, 0.0) ** 3
    # Few: what is above x is about exp(-x) x**(a - 1) / gamma(a).
    few = xp.minimum(a, 1.0)
    size = -xp.log(q) - gammaln_of_positive(xp, few)
    far = xp.maximum(size, 1.5)
    tail = far - (1.0 - few) * xp.log(far + 1.0)
    is_tail = xp.logical_and(a < 1.0, size > 1.5)
    start = xp.where(is_tail, tail, xp.where(a < 1.0, power, xp.maximum(power, normal)))
    return _gamma_tail(xp, a, p, q, start)


def _gamma_tail(xp: Backend, a: Any, p: Any, q: Any, x: Any) -> Any:
    """A better start where p or q is small: Newton's method on the part's logarithm.

    The part itself would be no float at a start that is a tenth away from a quantile of 1e-300.
    """
    is_lower = p <= q
    part = xp.log(xp.minimum(p, q)) + gammaln_of_positive(xp, a)
    is_tail = xp.minimum(p, q) < _TAIL
    found = xp.where(is_tail, x, a)
    for _ in range(_STEPS):
        slope = _hazard(xp, xp.where(is_lower, a - found, found - a), found)
        error = a * xp.log(found) - found - xp.log(slope) - part
        # Upper tails are about exp(-x), lower ones a power of x.
        factor = xp.where(
            is_lower, xp.exp(-xp.clip(error / slope, -3.0, 30.0)), 1.0 + error / slope
        )
        found = found * xp.clip(factor, 0.05, 20.0)
    return xp.where(is_tail, xp.maximum(found, math.exp(_least(xp, a))), x)


def _hazard(xp: Backend, apart: Any, spread: Any) -> Any:
    """About the density over its own tail by the logarithm of x (or the logit, for beta).

    `apart` is that of the density alone, and the square root of `spread` the width of its peak.
    Exact far away, and a few percent off next to the peak.
    """
    root = xp.hypot(apart, 2.0 * xp.sqrt(spread))
    # Without cancellation inside the peak.
    return xp.where(apart > 0.0, 0.5 * (apart + root), 2.0 * spread / (root - apart))


def _normal_quantile(xp: Backend, p: Any, q: Any) -> Any:
    """About the quantile of p = 1 - q of the normal distribution: to 3 digits, at all sizes."""
    t = xp.sqrt(-2.0 * xp.log(xp.minimum(p, q)))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    size = t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    return xp.where(p < q, -size, size)


def betaincinv(a: A, b: A, y: A, /) -> A:
    """The `x` of which `betainc(a, b, x)` is `y`: quantiles of the beta distribution.

    >>> import numpy as np, trellis
    >>> trellis.special.betaincinv(2.0, 3.0, np.array([0.0, 0.5, 0.9])).round(6)
    array([0.      , 0.385728, 0.679539])
    """
    try:
        return evaluated("betaincinv", _beta_of_lower, _slopes_of_beta, a, b, y)
    except Exception as error:
        return explain(error, betaincinv)


def betainccinv(a: A, b: A, y: A, /) -> A:
    """The `x` of which `betaincc(a, b, x)` is `y`.

    >>> import numpy as np, trellis
    >>> trellis.special.betainccinv(2.0, 3.0, np.array([0.0, 0.5, 0.9])).round(6)
    array([1.      , 0.385728, 0.142559])
    """
    try:
        return evaluated("betainccinv", _beta_of_upper, _slopes_of_beta_upper, a, b, y)
    except Exception as error:
        return explain(error, betainccinv)


def _slopes_of_beta(y: Any, a: Array, b: Array, p: Array) -> list[Any]:
    x = y()
    inverse = 1.0 / beta_density(a, b, x)
    by_orders = slopes_by_orders(xp_of_all(a, b, p), a, b, x)
    return [*[-slope * inverse for slope in by_orders], inverse]


def _slopes_of_beta_upper(y: Any, a: Array, b: Array, q: Array) -> list[Any]:
    by_a, by_b, inverse = _slopes_of_beta(y, a, b, q)
    return [by_a, by_b, -inverse]


def _beta_of_lower(xp: Backend, a: Any, b: Any, p: Any) -> Any:
    return _beta_in_range(xp, a, b, p, 1.0 - p)


def _beta_of_upper(xp: Backend, a: Any, b: Any, q: Any) -> Any:
    return _beta_in_range(xp, a, b, 1.0 - q, q)


def _beta_in_range(xp: Backend, a: Any, b: Any, p: Any, q: Any) -> Any:
    orders = xp.logical_and(xp.minimum(a, b) > 0.0, xp.maximum(a, b) < INF)
    inside = xp.logical_and(orders, xp.minimum(p, q) > 0.0)
    safe = [xp.where(inside, z, 0.5) for z in (a, b, p, q)]
    ends = xp.where(p == 0.0, 0.0, xp.where(q == 0.0, 1.0, xp.full_like(a, NAN)))
    ends = xp.where(xp.minimum(a, b) > 0.0, ends, NAN)
    return xp.where(inside, _beta_quantile(xp, *safe), ends)


def _beta_quantile(xp: Backend, a: Any, b: Any, p: Any, q: Any) -> Any:
    # From below up to the turn; from there on it is that of 1 - x with the orders exchanged.
    middle = turn(xp, a, b)
    is_lower = p <= both_beta_parts(xp, a, b, middle, 1.0 - middle)[0]
    own, other = xp.where(is_lower, a, b), xp.where(is_lower, b, a)
    part, rest = xp.where(is_lower, p, q), xp.where(is_lower, q, p)

    def step(_: Any, x: Any, y: Any) -> tuple[Any, Any]:
        found, above = both_beta_parts(xp, own, other, x, y)
        # By the smaller of the two parts that are sought, which is the more exact one.
        is_own = part <= rest
        error = xp.where(is_own, _apart(xp, found, part), (rest - above) / part)
        apart = apart_of(xp, own, other, x, y)
        slope = front_of_beta(xp, own, other, x, y, apart) / found
        change = _halley(xp, error, slope, -apart - slope)
        # By the logit, with both x and 1 - x exact.
        scaled = x * xp.exp(xp.clip(change, -30.0, 30.0))
        total = scaled + y
        return scaled / total, y / total

    power = _beta_power(xp, own, other, part)
    x, y = repeated(xp, _STEPS, step, *_beta_start(xp, own, other, part, power))
    # Smaller than what the steps can use, it is the power alone.
    is_tiny = power < _least(xp, a)
    x = xp.where(is_tiny, xp.exp(power), x)
    return xp.where(is_lower, x, xp.where(is_tiny, 1.0, y))


def _beta_power(xp: Backend, a: Any, b: Any, part: Any) -> Any:
    """The logarithm of the quantile by the power that the part begins with; almost too small."""
    return (xp.log(part) + xp.log(a) + betaln_of_positive(xp, a, b)) / a


def _beta_start(xp: Backend, a: Any, b: Any, part: Any, power: Any) -> tuple[Any, Any]:
    """About the quantile and the rest to 1: by the power, or by the normal distribution."""
    one, two = 1.0 / (2.0 * xp.maximum(a, 1.0) - 1.0), 1.0 / (2.0 * xp.maximum(b, 1.0) - 1.0)
    z = -_normal_quantile(xp, part, 1.0 - part)
    mean, rest = 2.0 / (one + two), (z * z - 3.0) / 6.0
    w = z * xp.sqrt(xp.maximum(mean + rest, 0.0)) / mean
    w = w - (two - one) * (rest + 5.0 / 6.0 - 2.0 / (3.0 * mean))
    normal = xp.where(b > 1.0, xp.maximum(xp.log(a / b) - 2.0 * w, power), power)
    # With few beside many, -log(x) is about that of the gamma distribution.
    few = xp.minimum(b, 4.0)
    gamma_power = (xp.log(1.0 - part) + gammaln_of_positive(xp, 1.0 + few)) / few
    size = _gamma_start(xp, few, 1.0 - part, part, gamma_power) / xp.maximum(
        a + 0.5 * (b - 1.0), 0.5
    )
    limit = -xp.log(xp.expm1(xp.clip(size, 1e-30, 80.0)))
    logit = xp.where(a > 1.0, xp.where(xp.logical_and(b < 4.0, b < a), limit, normal), power)
    is_tail = part < _TAIL
    sought = xp.log(part) + betaln_of_positive(xp, a, b)
    tail = xp.where(is_tail, logit, 0.0)
    for _ in range(_STEPS):
        x, y = _of_logit(xp, tail)
        slope = _hazard(xp, a * y - b * x, (a + b) * x * y)
        error = a * xp.log(x) + b * xp.log(y) - xp.log(slope) - sought
        tail = tail - xp.clip(error / slope, -30.0, 30.0)
    return _of_logit(xp, xp.where(is_tail, tail, logit))


def _of_logit(xp: Backend, logit: Any) -> tuple[Any, Any]:
    """The number with this logit, and the rest to 1."""
    small = xp.exp(-xp.clip(xp.abs(logit), 0.0, -_least(xp, logit)))
    near, away = small / (1.0 + small), 1.0 / (1.0 + small)
    return xp.where(logit < 0.0, near, away), xp.where(logit < 0.0, away, near)


def _least(xp: Backend, x: Any) -> float:
    """Quantiles have larger logarithms than this, where steps are taken."""
    return -700.0 if is_double(xp, x) else -86.0
