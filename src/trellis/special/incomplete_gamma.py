"""The regularized incomplete gamma functions, with derivatives by both arguments.

Four formulas share the plane: a power series, a continued fraction, a series for small orders, and
Temme's uniform expansion for large orders, where the other ones are slow.
"""

import math
from typing import Any

from numpy.polynomial.legendre import leggauss

from .._core.dispatch import xp_of_all
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from . import _coefficients as table
from ._calling import evaluated, is_double
from ._numbers import HALF_LOG_2PI, INF, NAN, horner, log1p_less, on_piece
from .error import erfc_of
from .gamma import FAR, digamma, gammaln, gammaln_of_positive, stirling_rest

# From here on Temme's expansion is used next to x = a.
_LARGE = 20.0
_SERIES_TERMS, _FRACTION_TERMS = 80, 100
_NODES, _WEIGHTS = [(0.5 * (x + shift)).tolist() for x, shift in zip(leggauss(40), (1.0, 0.0))]


def gammainc(a: A, x: A, /) -> A:
    """The regularized lower incomplete gamma function: the part of gamma(a) below `x`.

    >>> import numpy as np, trellis
    >>> trellis.special.gammainc(np.array([1.0, 2.0]), np.array([2.0, 2.0])).round(6)
    array([0.864665, 0.593994])
    """
    try:
        return evaluated(
            "gammainc",
            lambda xp, a, x: both_parts(xp, a, x)[0],
            _lower_slopes,
            a,
            x,
            has_kernels=True,
        )
    except Exception as error:
        return explain(error, gammainc)


def gammaincc(a: A, x: A, /) -> A:
    """The regularized upper incomplete gamma function: the part of gamma(a) above `x`.

    >>> import numpy as np, trellis
    >>> trellis.special.gammaincc(np.array([1.0, 2.0]), np.array([2.0, 2.0])).round(6)
    array([0.135335, 0.406006])
    """
    try:
        return evaluated(
            "gammaincc",
            lambda xp, a, x: both_parts(xp, a, x)[1],
            _upper_slopes,
            a,
            x,
            has_kernels=True,
        )
    except Exception as error:
        return explain(error, gammaincc)


def _lower_slopes(y: Any, a: Array, x: Array) -> list[Any]:
    return [slope_by_order(xp_of_all(a, x), a, x), density(a, x)]


def _upper_slopes(y: Any, a: Array, x: Array) -> list[Any]:
    return [-slope for slope in _lower_slopes(y, a, x)]


def density(a: Array, x: Array) -> Any:
    """The derivative of `gammainc` by `x`: the density of the gamma distribution."""

    def formula(xp: Backend, a: Any, x: Any) -> Any:
        inside = xp.logical_and(a > 0.0, x > 0.0)
        order, y = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
        found = front(xp, order, y) * (order / y)
        # At 0: none, one, or infinitely many, by the order.
        at_zero = xp.where(a < 1.0, INF, xp.where(a == 1.0, 1.0, xp.zeros_like(a)))
        return xp.where(inside, found, xp.where(x == 0.0, at_zero, NAN))

    def slopes(y: Any, a: Array, x: Array) -> list[Any]:
        xp = xp_of_all(a, x)
        return [y() * (xp.log(x) - digamma(a)), y() * ((a - 1.0) / x - 1.0)]

    return evaluated("gammainc", formula, slopes, a, x)


def front(xp: Backend, a: Any, x: Any, apart: Any = None) -> Any:
    """x**a exp(-x) / gamma(a + 1), for numbers above 0; `apart` is x - a, if known better."""
    is_far = a >= FAR
    large = xp.where(is_far, a, FAR)
    # By the distance of x from a, which does not cancel as a log(x) - x - gammaln(a) does.
    u = xp.where(is_far, x - a if apart is None else apart, 0.0) / large
    # Where x is far below a, 1 + u would lose the digits of x.
    is_low = u < -0.55
    ratio = xp.where(is_low, xp.where(is_far, x, FAR) / large, 1.0)
    power = xp.where(is_low, xp.log(ratio) + (1.0 - ratio), log1p_less(xp, u))
    far = xp.exp(large * power - stirling_rest(xp, large) - HALF_LOG_2PI)
    small = xp.where(is_far, 1.0, a)
    near = xp.where(is_far, 1.0, x)
    exponent = small * xp.log(near)
    close = xp.exp(exponent - near - gammaln_of_positive(xp, small + 1.0))
    # The power is more exact than the exponential of a logarithm, where it is in range.
    least = -700.0 if is_double(xp, a) else -86.0
    in_range = xp.logical_and(exponent > least, near < 80.0)
    mild = xp.where(in_range, near, 1.0)
    plain = xp.pow(mild, small) * xp.exp(-mild) * _reciprocal_gamma(xp, small)
    return xp.where(is_far, far / xp.sqrt(large), xp.where(in_range, plain, close))


def _reciprocal_gamma(xp: Backend, a: Any) -> Any:
    """1 / gamma(a + 1) for numbers from 0 up to 8."""
    u, product = a, xp.ones_like(a)
    # gamma(a + 1) by the polynomial of gamma(2 + u), with u between 0 and 1.
    is_small = u < 1.0
    down = xp.where(is_small, u + 1.0, 1.0)
    u = xp.where(is_small, u, u - 1.0)
    for _ in range(7):
        is_above = u >= 1.0
        product = xp.where(is_above, product * (u + 1.0), product)
        u = xp.where(is_above, u - 1.0, u)
    return down / (product * on_piece(xp, u, table.GAMMA_2_TO_3))


def both_parts(xp: Backend, a: Any, x: Any) -> tuple[Any, Any]:
    """The lower and the upper part."""
    inside = xp.logical_and(xp.logical_and(a > 0.0, x > 0.0), xp.isfinite(a + x))
    order, y = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
    apart = (y - order) / order
    is_large = xp.logical_and(order >= _LARGE, xp.abs(apart) < 0.4)
    few, z = xp.where(is_large, 1.0, order), xp.where(is_large, 1.0, y)
    is_upper = z > xp.where(few < 1.0, 1.0, few + 1.0)
    ahead = front(xp, few, z)
    under = ahead * _series(xp, few, xp.where(is_upper, 0.5 * few, z))
    over = ahead * few * _fraction(xp, few, xp.where(is_upper, z, few + 2.0))
    lower = xp.where(is_upper, 1.0 - over, under)
    upper = xp.where(is_upper, over, 1.0 - under)
    is_tiny = xp.logical_and(few < 1.0, z <= 1.0)
    upper = xp.where(is_tiny, _upper_of_small(xp, few, z, is_tiny), upper)
    many = xp.where(is_large, order, _LARGE)
    near = _temme(xp, many, xp.where(is_large, apart, 0.0))
    lower = xp.where(is_large, near[0], lower)
    upper = xp.where(is_large, near[1], upper)
    # At the ends: nothing lies below 0, nor above infinity, and with a = 0 nothing above 0.
    ends = xp.astype(x > 0.0, order.dtype)
    ends = xp.where(xp.logical_and(xp.isinf(a), xp.isfinite(x)), 0.0, ends)
    both = xp.logical_and(a == 0.0, x == 0.0)
    both = xp.logical_or(both, xp.logical_and(xp.isinf(a), xp.isinf(x)))
    is_out = xp.logical_or(xp.logical_not(a >= 0.0), xp.logical_not(x >= 0.0))
    ends = xp.where(xp.logical_or(is_out, both), NAN, ends)
    return xp.where(inside, lower, ends), xp.where(inside, upper, 1.0 - ends)


def _series(xp: Backend, a: Any, x: Any) -> Any:
    """The lower part over the front, for x up to a + 1."""
    total = term = xp.ones_like(a)
    for n in range(1, _SERIES_TERMS if is_double(xp, a) else _SERIES_TERMS // 2):
        term = term * x / (a + float(n))
        total = total + term
    return total


def _fraction(xp: Backend, a: Any, x: Any) -> Any:
    """The upper part over the front and a, for x above 1 and a + 1; from the inside out."""
    steps = _FRACTION_TERMS if is_double(xp, a) else _FRACTION_TERMS // 3
    fraction = x + (2.0 * steps + 1.0) - a
    for n in range(steps, 0, -1):
        fraction = x + (2.0 * n - 1.0) - a - n * (n - a) / fraction
    return 1.0 / fraction


def _upper_of_small(xp: Backend, a: Any, x: Any, is_used: Any) -> Any:
    """The upper part for a < 1 and x <= 1, which is small with a: not by 1 less the lower one."""
    a, x = xp.where(is_used, a, 0.5), xp.where(is_used, x, 0.5)
    rest = a * on_piece(xp, xp.minimum(a, 0.5), table.LGAMMA_NEAR_1)
    rest = xp.where(a > 0.5, gammaln_of_positive(xp, 1.0 + a), rest)
    power = a * xp.log(x) - rest  # of x**a / gamma(1 + a)
    total, term = xp.zeros_like(a), xp.ones_like(a)
    for n in range(1, 20):
        term = term * (-x / float(n))
        total = total + term / (a + float(n))
    return -xp.expm1(power) - a * xp.exp(power) * total


def _temme(xp: Backend, a: Any, apart: Any) -> tuple[Any, Any]:
    """Both parts for large orders and x = a (1 + apart) near them, by error functions."""
    half_square = -log1p_less(xp, apart)
    eta = xp.sqrt(2.0 * half_square)
    eta = xp.where(apart < 0.0, -eta, eta)
    inverse = 1.0 / a
    rows = table.TEMME if is_double(xp, a) else [row[:10] for row in table.TEMME[:5]]
    total = xp.zeros_like(a)
    for row in rows[::-1]:
        total = total * inverse + horner(eta, tuple(row))
    rest = xp.exp(-a * half_square) * total / xp.sqrt(2.0 * math.pi * a)
    y = eta * xp.sqrt(0.5 * a)
    return 0.5 * erfc_of(xp, -y) - rest, 0.5 * erfc_of(xp, y) + rest


# The derivative by the order ----------------------------------------------------------------------


def slope_by_order(xp: Backend, a: Any, x: Any) -> Any:
    """The derivative of `gammainc` by `a`, of plain functions: differentiable itself."""
    inside = xp.logical_and(xp.logical_and(a > 0.0, x > 0.0), xp.isfinite(a + x))
    order, y = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
    is_large = order >= _LARGE
    few, z = xp.where(is_large, 1.0, order), xp.where(is_large, 1.0, y)
    is_upper = z > few + 1.0
    small, large = xp.where(is_upper, 0.5 * few, z), xp.where(is_upper, z, few + 2.0)
    near = _slope_of_series(xp, few, small)
    away = _slope_of_fraction(xp, few, large)
    many = xp.where(is_large, order, _LARGE)
    by_integral = _slope_by_integral(xp, many, xp.where(is_large, y, many))
    found = xp.where(is_large, by_integral, xp.where(is_upper, away, near))
    # Nothing lies below 0 nor above infinity, whatever the order.
    at_end = xp.logical_and(a > 0.0, xp.logical_or(x == 0.0, x == INF))
    return xp.where(inside, found, xp.where(at_end, 0.0, NAN))


def _slope_of_series(xp: Backend, a: Any, x: Any) -> Any:
    log_front = a * xp.log(x) - x
    total = term = xp.ones_like(a)
    slope = change = xp.zeros_like(a)
    for n in range(1, _SERIES_TERMS):
        term = term * x / (a + float(n))
        change = (change * x - term) / (a + float(n))
        total, slope = total + term, slope + change
    front = xp.exp(log_front - gammaln(a + 1.0))
    return front * (total * (xp.log(x) - digamma(a + 1.0)) + slope)


def _slope_of_fraction(xp: Backend, a: Any, x: Any) -> Any:
    fraction = x + (2.0 * _FRACTION_TERMS + 1.0) - a
    slope = -xp.ones_like(a)
    for n in range(_FRACTION_TERMS, 0, -1):
        part = n * (n - a) / fraction
        slope = -1.0 + (float(n) + part * slope) / fraction
        fraction = x + (2.0 * n - 1.0) - a - part
    upper = xp.exp(a * xp.log(x) - x - gammaln(a)) / fraction
    return upper * (slope / fraction - (xp.log(x) - digamma(a)))


def _slope_by_integral(xp: Backend, a: Any, x: Any) -> Any:
    """The integral of (log(t) - digamma(a)) times the density, over the side of x with less."""
    peak = a - 1.0
    width = xp.sqrt(peak)
    is_above = x > peak
    high = xp.maximum(peak + 11.5 * width, x + 6.0 * width)
    low = xp.maximum(xp.minimum(peak - 7.5 * width, x - 5.0 * width), 1e-6 * x)
    end = xp.where(is_above, high, low)
    # log(t) - digamma(a) = log1p(u) + (log(peak) - digamma(a))
    offset = xp.log(peak) - digamma(a)
    total = xp.zeros_like(x)
    for node, weight in zip(_NODES, _WEIGHTS):
        u = (x + (end - x) * node) / peak - 1.0
        log = xp.log1p(u)
        total = total + weight * (log + offset) * xp.exp(peak * (log - u))
    front = peak * xp.log(peak) - peak - gammaln(a)
    return total * (x - end) * xp.exp(front)
