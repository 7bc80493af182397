"""The regularized incomplete beta function and its complement, with derivatives by all arguments.

One continued fraction serves the plane: the smaller side of `x`, or of 1 - x, is its; the other
side is the rest to 1. Where that would lose digits, as `a` or `b` is small, a series takes its
place. Where both are large, the fraction would need the more terms, the larger they are: there the
density is integrated.
"""

from typing import Any

from .._core.dispatch import xp_of_all
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from . import _coefficients as table
from ._calling import evaluated, is_double
from ._numbers import INF, NAN, log1p, log1p_less, on_piece, repeated
from .beta import of_gammas
from .gamma import FAR, digamma, stirling_rest
from .incomplete_gamma import front as front_of_gamma

# From here on, for both orders, Gauss' rule takes the place of the fraction, which has its last
# digits at this order after so many steps, in float64 and in float32. That of the derivatives by
# the orders has more steps, and no such rule: it is exact up to orders of 1e4.
_LARGE = 500.0
_STEPS_64, _STEPS_32 = 64, 36
_STEPS = 100
_SERIES_TERMS = 54


def betainc(a: A, b: A, x: A, /) -> A:
    """The regularized incomplete beta function: the part of beta(a, b) below `x`.

    >>> import numpy as np, trellis
    >>> trellis.special.betainc(2.0, 3.0, np.array([0.25, 0.5, 1.0])).round(6)
    array([0.261719, 0.6875  , 1.      ])
    """
    try:
        return evaluated("betainc", lambda xp, *xs: _parts(xp, *xs)[0], _lower_slopes, a, b, x)
    except Exception as error:
        return explain(error, betainc)


def betaincc(a: A, b: A, x: A, /) -> A:
    """1 - betainc(a, b, x), also where that would be rounded: the part of beta(a, b) above `x`.

    >>> import numpy as np, trellis
    >>> trellis.special.betaincc(2.0, 3.0, np.array([0.25, 0.5, 1.0])).round(6)
    array([0.738281, 0.3125  , 0.      ])
    """
    try:
        return evaluated("betaincc", lambda xp, *xs: _parts(xp, *xs)[1], _upper_slopes, a, b, x)
    except Exception as error:
        return explain(error, betaincc)


def _lower_slopes(y: Any, a: Array, b: Array, x: Array) -> list[Any]:
    return [*slopes_by_orders(xp_of_all(a, b, x), a, b, x), beta_density(a, b, x)]


def _upper_slopes(y: Any, a: Array, b: Array, x: Array) -> list[Any]:
    return [-slope for slope in _lower_slopes(y, a, b, x)]


def beta_density(a: Array, b: Array, x: Array) -> Any:
    """The derivative of `betainc` by `x`: the density of the beta distribution."""

    def formula(xp: Backend, a: Any, b: Any, x: Any) -> Any:
        y = 1.0 - x
        inside = _is_inside(xp, a, b, x, y)
        p, q = xp.where(inside, a, 1.0), xp.where(inside, b, 1.0)
        s, t = xp.where(inside, x, 0.5), xp.where(inside, y, 0.5)
        found = front(xp, p, q, s, t, apart_of(xp, p, q, s, t)) / s / t
        # At the ends: none, the order of the other side, or infinitely many.
        ends, own, other = xp.logical_or(x == 0.0, x == 1.0), xp.where(x == 0.0, a, b), a + b - 1.0
        at_end = xp.where(own < 1.0, INF, xp.where(own == 1.0, other, xp.zeros_like(a)))
        at_end = xp.where(xp.logical_and(a > 0.0, b > 0.0), at_end, NAN)
        return xp.where(inside, found, xp.where(ends, at_end, NAN))

    def slopes(y: Any, a: Array, b: Array, x: Array) -> list[Any]:
        xp = xp_of_all(a, b, x)
        both = digamma(a + b)
        by_a = y() * (xp.log(x) - digamma(a) + both)
        by_b = y() * (xp.log1p(-x) - digamma(b) + both)
        return [by_a, by_b, y() * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))]

    return evaluated("betainc", formula, slopes, a, b, x)


def _is_inside(xp: Backend, a: Any, b: Any, x: Any, y: Any) -> Any:
    inside = xp.logical_and(xp.minimum(a, b) > 0.0, xp.minimum(x, y) > 0.0)
    return xp.logical_and(inside, xp.isfinite(a + b + x))


def _parts(xp: Backend, a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """The lower and the upper part, for all numbers."""
    y = 1.0 - x
    inside = _is_inside(xp, a, b, x, y)
    mild = [xp.where(inside, z, safe) for z, safe in zip((a, b, x, y), (1.0, 1.0, 0.5, 0.5))]
    lower, upper = both_beta_parts(xp, *mild)
    # Without `a`, or with endless `b`, all of it is at 0; the other way around, at 1.
    at_zero, at_one = (xp.logical_or(a == 0.0, b == INF), xp.logical_or(b == 0.0, a == INF))
    ends = xp.astype(xp.where(at_zero, x > 0.0, x >= 1.0), x.dtype)
    is_out = xp.logical_not(xp.logical_and(xp.minimum(a, b) >= 0.0, xp.minimum(x, y) >= 0.0))
    is_out = xp.logical_or(is_out, xp.logical_and(at_zero, at_one))
    ends = xp.where(is_out, NAN, ends)
    return xp.where(inside, lower, ends), xp.where(inside, upper, 1.0 - ends)


def both_beta_parts(xp: Backend, a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The lower and the upper part, for a and b above 0 and x + y = 1, which are above 0, too."""
    is_turned = x > turn(xp, a, b)
    p, q = xp.where(is_turned, b, a), xp.where(is_turned, a, b)
    s, t = xp.where(is_turned, y, x), xp.where(is_turned, x, y)
    apart = apart_of(xp, a, b, x, y)
    apart = xp.where(is_turned, -apart, apart)
    is_large = xp.minimum(a, b) > _LARGE
    few = [xp.where(is_large, safe, z) for z, safe in zip((p, q, s, apart), (1.0, 1.0, 0.5, 0.0))]
    many = [
        xp.where(is_large, z, safe) for z, safe in zip((p, q, s, t), (_LARGE, _LARGE, 0.5, 0.5))
    ]
    integral = _integral(xp, xp.where(is_large, apart, 0.0), *many)
    portion = xp.where(is_large, integral, 1.0 / _fraction(xp, *few))
    one = xp.minimum(front(xp, p, q, s, t, apart) * portion, 1.0)
    is_small = p < 0.2
    other = xp.where(is_small, _upper_of_small(xp, p, q, s, is_small), 1.0 - one)
    return xp.where(is_turned, other, one), xp.where(is_turned, one, other)


def turn(xp: Backend, a: Any, b: Any) -> Any:
    """Up to this x the fraction of the lower part converges, from there on that of the upper."""
    return xp.where(xp.maximum(a, b) < 1.0, 0.5, (a + 1.0) / (a + b + 2.0))


def apart_of(xp: Backend, a: Any, b: Any, x: Any, y: Any) -> Any:
    """x (a + b) - a, which is b x - a y, without the rounding of the product."""
    # By the smaller of x and y, which is the more exact one.
    is_first = x <= y
    found = _apart_of_small(xp, *[xp.where(is_first, p, q) for p, q in ((a, b), (b, a), (x, y))])
    return xp.where(is_first, found, -found)


def _apart_of_small(xp: Backend, a: Any, b: Any, x: Any) -> Any:
    both = a + b
    small, large = xp.minimum(a, b), xp.maximum(a, b)
    lost = small - (both - large)
    # Numbers of 26 bits, or 12, have exact products. Steps of powers of 2 keep compilers out.
    step, first, second = (
        (2.0**26, 2.0**18, 2.0**36) if is_double(xp, x) else (2.0**12, 2.0**10, 2.0**20)
    )
    x_high = xp.floor(x * step) * (1.0 / step)
    wide = xp.where(both < first, xp.full_like(both, step / first), step / second)
    n_high = xp.floor(both * wide) / wide
    is_exact = both < second
    rest = x_high * ((both - n_high) + lost) + (x - x_high) * both
    return xp.where(is_exact, (x_high * n_high - a) + rest, b * x - a * (1.0 - x))


def front(xp: Backend, a: Any, b: Any, x: Any, y: Any, apart: Any) -> Any:
    """x**a y**b / beta(a, b); `apart` is x (a + b) - a."""
    is_first = a <= b
    small, large = xp.where(is_first, a, b), xp.where(is_first, b, a)
    own, other = xp.where(is_first, x, y), xp.where(is_first, y, x)
    is_far = large >= FAR
    far = xp.where(is_far, large, FAR)
    both = xp.where(is_far, a + b, 2.0 * FAR)
    less = xp.where(is_far, small, FAR)
    # By the front of the gamma function at x (a + b), which is the limit.
    shift = xp.where(is_far, xp.where(is_first, apart, -apart), 0.0)
    u = -shift / far
    # Next to other = 0 the digits of `other` count.
    is_low = u < -0.55
    ratio = xp.where(is_low, xp.where(is_far, other, 1.0) * both / far, 1.0)
    power = xp.where(is_low, xp.log(ratio) + (1.0 - ratio), log1p_less(xp, u))
    rest = stirling_rest(xp, both) - stirling_rest(xp, far)
    limit = front_of_gamma(xp, less, xp.where(is_far, own * both, FAR), shift)
    away = less * limit * xp.exp(far * power + rest) * xp.sqrt(far / both)
    near = [xp.where(is_far, 1.0, xp.maximum(z, 1e-30)) for z in (small, large)]
    powers = xp.pow(xp.where(is_far, 0.5, own), near[0]) * xp.pow(
        xp.where(is_far, 0.5, other), near[1]
    )
    return xp.where(is_far, away, powers / of_gammas(xp, near[0], near[1]))


def _integral(xp: Backend, apart: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """The lower part over x**a y**b / beta(a, b), for large orders and x up to `turn`."""
    is_wide = is_double(xp, a)
    rule = table.QUADRATURE_64 if is_wide else table.QUADRATURE_32
    # The density is exp(-drop) of what it is at x, or less, where the interval ends.
    drop = 36.0 if is_wide else 17.0
    slope = (x - y - apart) / (x * y)
    bend = (a - 1.0) / (x * x) + (b - 1.0) / (y * y)
    steep = xp.maximum(slope, 0.0)
    width = 2.0 * drop / (steep + xp.sqrt(steep * steep + 2.0 * drop * bend))
    # With few b it falls more slowly than by its bend at x.
    width = xp.minimum(width * (1.0 + width / (3.0 * y)), 0.9 * x)
    of_x, of_y, linear = width / x, width / y, width * slope
    points, weights = [
        xp.asarray([pair[i] for pair in rule], dtype=xp.dtype_name(a.dtype), device=xp.device(a))
        for i in (0, 1)
    ]
    numbers = xp.arange(len(rule), dtype=xp.dtype_name(a.dtype), device=xp.device(a))

    def step(n: Any, total: Any) -> tuple[Any]:
        is_here = numbers == n
        point, weight = [xp.sum(xp.where(is_here, values, 0.0)) for values in (points, weights)]
        power = (a - 1.0) * log1p_less(xp, -point * of_x) + (b - 1.0) * log1p_less(xp, point * of_y)
        return (total + weight * xp.exp(power - point * linear),)

    (total,) = repeated(xp, len(rule), step, xp.zeros_like(a))
    return of_x * total / y


def _fraction(xp: Backend, a: Any, b: Any, x: Any, apart: Any) -> Any:
    """x**a y**b / beta(a, b) over the lower part, for x up to `turn`; from the inside out."""
    steps = _STEPS_64 if is_double(xp, a) else _STEPS_32
    fraction = _term(a, b, x, apart, float(steps))
    # The rest goes on about as the last step does.
    root = fraction * fraction + 4.0 * _factor(a, b, x, steps + 1.0)
    better = 0.5 * (fraction + xp.sqrt(xp.maximum(root, 0.0)))
    fraction = xp.where(root > 0.0, better, fraction)

    def step(n: Any, found: Any) -> tuple[Any]:
        m = (steps - 1.0) - n
        return (_term(a, b, x, apart, m) + _factor(a, b, x, m + 1.0) / found,)

    (fraction,) = repeated(xp, steps - 1, step, fraction)
    return _term(a, b, x, apart, 0.0) + _factor(a, b, x, 1.0) / fraction


def _term(a: Any, b: Any, x: Any, apart: Any, m: Any) -> Any:
    first = (a + m) * ((1.0 + m * (2.0 - x)) - apart) / (a + (2.0 * m + 1.0))
    if isinstance(m, float) and m == 0.0:
        return first
    return m + m * (b - m) * x / (a + (2.0 * m - 1.0)) + first


def _factor(a: Any, b: Any, x: Any, n: Any) -> Any:
    quotient = x / (a + (2.0 * n - 1.0))
    return (a + (n - 1.0)) * (a + b + (n - 1.0)) * (n * (b - n)) * quotient * quotient


def _upper_of_small(xp: Backend, a: Any, b: Any, x: Any, is_used: Any) -> Any:
    """The upper part for a < 1/5 and x up to `turn`: it is small with a, not 1 less the lower."""
    a, b, x = [xp.where(is_used, z, safe) for z, safe in zip((a, b, x), (0.25, 1.0, 0.25))]
    # x**a / (a beta(a, b)) is exp(power), and power is small with a.
    power = a * (xp.log(x) - on_piece(xp, a, table.LGAMMA_NEAR_1)) + _gammaln_step(xp, b, a)

    def step(count: Any, total: Any, term: Any) -> tuple[Any, Any]:
        n = count + 1.0
        term = term * ((n - b) * x / n)
        return total + term / (a + n), term

    terms = _SERIES_TERMS if is_double(xp, a) else _SERIES_TERMS // 2
    total, _ = repeated(xp, terms, step, xp.zeros_like(a), xp.ones_like(a))
    return -xp.expm1(power) - a * xp.exp(power) * total


def _gammaln_step(xp: Backend, b: Any, a: Any) -> Any:
    """gammaln(b + a) - gammaln(b) for small a, to as many digits as a has."""
    # Up by 8: the product of 1 + a / (b + k), less 1.
    less = xp.zeros_like(a)
    for k in range(8):
        less = less + (1.0 + less) * (a / (b + float(k)))
    far = b + 8.0
    ratio, both = a / far, far + a
    stirling = (far - 0.5) * log1p_less(xp, ratio) + a * xp.log(both) - 0.5 * ratio
    first = -a / (12.0 * far * both)
    rest = (stirling_rest(xp, both) - 1.0 / (12.0 * both)) - (
        stirling_rest(xp, far) - 1.0 / (12.0 * far)
    )
    return stirling + first + rest - log1p(xp, less)


# The derivatives by the orders --------------------------------------------------------------------


def slopes_by_orders(xp: Backend, a: Any, b: Any, x: Any) -> list[Any]:
    """The derivatives of `betainc` by a and b, of plain functions: differentiable themselves."""
    y = 1.0 - x
    inside = _is_inside(xp, a, b, x, y)
    p, q = xp.where(inside, a, 1.0), xp.where(inside, b, 1.0)
    s, t = xp.where(inside, x, 0.5), xp.where(inside, y, 0.5)
    is_turned = s > turn(xp, p, q)
    own, other = xp.where(is_turned, q, p), xp.where(is_turned, p, q)
    s, t = xp.where(is_turned, t, s), xp.where(is_turned, s, t)
    fraction, by_own, by_other = _fraction_and_slopes(xp, own, other, s, t)
    part = beta_density(own, other, s) * s * t / fraction
    both = digamma(own + other)
    first = part * (xp.log(s) - digamma(own) + both - by_own / fraction)
    second = part * (xp.log(t) - digamma(other) + both - by_other / fraction)
    pair = [xp.where(is_turned, -second, first), xp.where(is_turned, -first, second)]
    # Nothing lies below 0 nor above 1, whatever the orders.
    at_end = xp.logical_and(xp.minimum(a, b) > 0.0, xp.logical_or(x == 0.0, x == 1.0))
    return [xp.where(inside, slope, xp.where(at_end, 0.0, NAN)) for slope in pair]


def _fraction_and_slopes(xp: Backend, a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """The fraction and its derivatives by a and b."""
    apart = b * x - a * y

    def inwards(found: tuple[Any, ...], m: Any, is_last: bool = False) -> tuple[Any, ...]:
        fraction, by_a, by_b = found
        n = m + 1.0
        next_odd = a + (2.0 * m + 1.0)
        square = n * x * x / (next_odd * next_odd)
        one, two = a + m, a + b + m
        factor = one * two * (b - n) * square
        factor_a = (one + two) * (b - n) * square - 2.0 * factor / next_odd
        factor_b = one * ((b - n) + two) * square
        inner = (1.0 + m * (2.0 - x)) - apart
        term_a = (inner * (n / next_odd) + one * y) / next_odd
        term_b = -one * x / next_odd
        if not is_last:  # at 0 this is no part of the term
            odd = a + (2.0 * m - 1.0)
            term_a = term_a - m * (b - m) * x / (odd * odd)
            term_b = term_b + m * x / odd
        quotient = factor / fraction
        by_a = term_a + (factor_a - quotient * by_a) / fraction
        by_b = term_b + (factor_b - quotient * by_b) / fraction
        return _term(a, b, x, apart, m) + quotient, by_a, by_b

    # One program on JAX: a hundred steps one by one take minutes to differentiate twice there.
    numbers = xp.arange(_STEPS - 1, 0, -1, dtype=xp.dtype_name(a.dtype), device=xp.device(a))
    first = (_term(a, b, x, apart, float(_STEPS)), xp.zeros_like(a), xp.zeros_like(a))
    found, _ = xp.scan(lambda found, m: (inwards(found, m), m), first, numbers)
    fraction, by_a, by_b = inwards(found, 0.0, is_last=True)
    return fraction, by_a, by_b
