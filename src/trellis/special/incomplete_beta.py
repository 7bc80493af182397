"""The regularized incomplete beta function, with derivatives by all its arguments."""

import math
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated, is_double
from ._numbers import INF, NAN, log1p, log1p_less
from .beta import betaln, betaln_of_positive
from .gamma import FAR, digamma, stirling_rest

_STEPS = 100


def betainc(a: A, b: A, x: A, /) -> A:
    """The regularized incomplete beta function: the distribution function of Beta(a, b).

    >>> import numpy as np, trellis
    >>> trellis.special.betainc(np.array([2.0]), np.array([3.0]), np.array([0.5]))
    array([0.6875])
    """
    try:
        return evaluated("betainc", lower_part, _slopes, a, b, x)
    except Exception as error:
        return explain(error, betainc)


def _slopes(y: Any, a: Array, b: Array, x: Array) -> list[Any]:
    by_a, by_b = slopes_by_orders(xp_of_all(a, b, x), a, b, x)
    return [by_a, by_b, density(a, b, x)]


def density(a: Array, b: Array, x: Array) -> Any:
    """The derivative of `betainc` by `x`: the density of the beta distribution."""

    def formula(xp: Backend, a: Any, b: Any, x: Any) -> Any:
        inside = _is_inside(xp, a, b, x)
        p, q, z = xp.where(inside, a, 1.0), xp.where(inside, b, 1.0), xp.where(inside, x, 0.5)
        found = front(xp, p, q, z, 1.0 - z) / (z * (1.0 - z))
        order = xp.where(x <= 0.0, a, b)
        other = xp.where(x <= 0.0, b, a)
        at_end = xp.where(order < 1.0, INF, xp.where(order == 1.0, other, xp.zeros_like(a)))
        is_end = xp.logical_or(x == 0.0, x == 1.0)
        return xp.where(inside, found, xp.where(is_end, at_end, NAN))

    def slopes(y: Any, a: Array, b: Array, x: Array) -> list[Any]:
        xp = xp_of_all(a, b, x)
        both = digamma(a + b)
        by_a = y() * (xp.log(x) - digamma(a) + both)
        by_b = y() * (xp.log1p(-x) - digamma(b) + both)
        return [by_a, by_b, y() * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))]

    return evaluated("betainc", formula, slopes, a, b, x)


def _is_inside(xp: Backend, a: Any, b: Any, x: Any) -> Any:
    orders = xp.logical_and(xp.logical_and(a > 0.0, b > 0.0), xp.isfinite(a + b))
    return xp.logical_and(orders, xp.logical_and(x > 0.0, x < 1.0))


def front(xp: Backend, a: Any, b: Any, x: Any, y: Any) -> Any:
    """x**a y**b / beta(a, b) for y = 1 - x, both given without rounding."""
    are_far = xp.logical_and(a >= FAR, b >= FAR)
    p, q = xp.where(are_far, a, FAR), xp.where(are_far, b, FAR)
    u, v = xp.where(are_far, x, 0.5), xp.where(are_far, y, 0.5)
    # By the distance of x from the mean: the linear terms of both logarithms cancel.
    both = p + q
    apart = v * p - u * q
    power = p * log1p_less(xp, -apart / p) + q * log1p_less(xp, apart / q)
    rest = stirling_rest(xp, both) - stirling_rest(xp, p) - stirling_rest(xp, q)
    far = xp.exp(power + rest) * xp.sqrt(p * (q / both) * (0.5 / math.pi))
    p, q = xp.where(are_far, 1.0, a), xp.where(are_far, 1.0, b)
    near = p * xp.log(x) + q * xp.where(x < 0.5, log1p(xp, -x), xp.log(y))
    return xp.where(are_far, far, xp.exp(near - betaln_of_positive(xp, p, q)))


def lower_part(xp: Backend, a: Any, b: Any, x: Any) -> Any:
    """`betainc` without its derivatives."""
    inside = _is_inside(xp, a, b, x)
    p, q, z = xp.where(inside, a, 1.0), xp.where(inside, b, 1.0), xp.where(inside, x, 0.5)
    lower, _ = both_parts(xp, p, q, z, 1.0 - z)
    is_out = xp.logical_or(xp.logical_not(x >= 0.0), xp.logical_not(x <= 1.0))
    is_out = xp.logical_or(is_out, xp.logical_not(xp.logical_and(a >= 0.0, b >= 0.0)))
    # At the limits of a and b, all of the distribution is at 0 or at 1.
    at_zero = xp.logical_or(a == 0.0, xp.isinf(b))
    at_one = xp.logical_or(b == 0.0, xp.isinf(a))
    ends = xp.astype(x >= 1.0, p.dtype)
    ends = xp.where(xp.logical_and(at_zero, x > 0.0), 1.0, ends)
    both = xp.logical_and(at_zero, at_one)
    return xp.where(inside, lower, xp.where(xp.logical_or(is_out, both), NAN, ends))


def both_parts(xp: Backend, a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The parts below and above x = 1 - y, each without loss of digits where it is small."""
    swapped = x > (a + 1.0) / (a + b + 2.0)
    p, q = xp.where(swapped, b, a), xp.where(swapped, a, b)
    z, rest = xp.where(swapped, y, x), xp.where(swapped, x, y)
    part = front(xp, p, q, z, rest) / p / _fraction(xp, p, q, z)
    other = 1.0 - part
    return xp.where(swapped, other, part), xp.where(swapped, part, other)


def _terms(p: Any, q: Any, z: Any, m: int) -> tuple[Any, Any]:
    even = m * (q - m) * z / ((p + (2 * m - 1.0)) * (p + 2.0 * m))
    odd = -(p + m) * (p + q + m) * z / ((p + 2.0 * m) * (p + (2 * m + 1.0)))
    return even, odd


def _fraction(xp: Backend, p: Any, q: Any, z: Any) -> Any:
    """The continued fraction, from the inside out."""
    fraction = xp.ones_like(z)
    for m in range(_STEPS if is_double(xp, z) else _STEPS // 2, 0, -1):
        even, odd = _terms(p, q, z, m)
        fraction = 1.0 + even / (1.0 + odd / fraction)
    return 1.0 - (p + q) * z / (p + 1.0) / fraction


# Derivatives by the orders ------------------------------------------------------------------------


def slopes_by_orders(xp: Backend, a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives of `betainc` by `a` and `b`, of plain functions: differentiable again."""
    inside = _is_inside(xp, a, b, x)
    a, b, x = xp.where(inside, a, 1.0), xp.where(inside, b, 1.0), xp.where(inside, x, 0.5)
    swapped = x > (a + 1.0) / (a + b + 2.0)
    p, q = xp.where(swapped, b, a), xp.where(swapped, a, b)
    z = xp.where(swapped, 1.0 - x, x)
    value, (by_p, by_q) = _fraction_and_slopes(xp, p, q, z)
    part = xp.exp(p * xp.log(z) + q * xp.log1p(-z) - betaln(p, q)) / p / value
    both = digamma(p + q)
    by_p = part * (xp.log(z) - digamma(p) + both - 1.0 / p - by_p / value)
    by_q = part * (xp.log1p(-z) - digamma(q) + both - by_q / value)
    by_a, by_b = xp.where(swapped, -by_q, by_p), xp.where(swapped, -by_p, by_q)
    return xp.where(inside, by_a, NAN), xp.where(inside, by_b, NAN)


def _fraction_and_slopes(xp: Backend, p: Any, q: Any, z: Any) -> tuple[Any, tuple[Any, Any]]:
    """The continued fraction with its derivatives by `p` and `q`."""
    f, by_p, by_q = xp.ones_like(z), xp.zeros_like(z), xp.zeros_like(z)
    for m in range(_STEPS, 0, -1):
        below = (p + (2 * m - 1.0)) * (p + 2.0 * m)
        even, odd = _terms(p, q, z, m)
        even_p = -even * (1.0 / (p + (2 * m - 1.0)) + 1.0 / (p + 2.0 * m))
        even_q = m * z / below
        odd_q = -(p + m) * z / ((p + 2.0 * m) * (p + (2 * m + 1.0)))
        rates = 1.0 / (p + m) + 1.0 / (p + q + m) - 1.0 / (p + 2.0 * m) - 1.0 / (p + (2 * m + 1.0))
        inner = odd / f
        g = 1.0 + inner
        g_p, g_q = (odd * rates - inner * by_p) / f, (odd_q - inner * by_q) / f
        outer = even / g
        f, by_p, by_q = 1.0 + outer, (even_p - outer * g_p) / g, (even_q - outer * g_q) / g
    first = -(p + q) * z / (p + 1.0)
    inner = first / f
    first_p = first * (1.0 / (p + q) - 1.0 / (p + 1.0))
    slopes = (first_p - inner * by_p) / f, (-z / (p + 1.0) - inner * by_q) / f
    return 1.0 + inner, slopes
