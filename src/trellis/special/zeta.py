"""The zeta functions of Riemann and Hurwitz, and polygamma, which is one of them."""

import math
from typing import Any

from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated
from ._numbers import INF, NAN, is_whole
from .gamma import digamma, gamma

_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330,
)  # fmt: skip
# Terms that are summed one by one before the rest is an integral and its corrections.
_TERMS = 9


def zeta(x: A, q: Array | float = 1.0, /) -> A:
    """Hurwitz's zeta function: the sum of (n + q) ** -x over n = 0, 1, 2, ... for x > 1.

    With q = 1 it is Riemann's zeta function. Below x = 1 the result is nan.

    >>> import numpy as np, trellis
    >>> trellis.special.zeta(np.array([2.0, 4.0])).round(6)
    array([1.644934, 1.082323])
    """
    try:
        return evaluated("zeta", _zeta, _zeta_slopes, x, q)
    except Exception as error:
        return explain(error, zeta)


def _zeta_slopes(y: Any, x: Array, q: Array) -> list[Any]:
    return [_zeta_by_order(x, q), -x * zeta(x + 1.0, q)]


def _zeta_by_order(x: Array, q: Array) -> Any:
    """The derivative by `x`; itself differentiable, being made of plain functions."""
    from .._core.dispatch import xp_of_all

    return _hurwitz_and_slope(xp_of_all(x, q), x, q)[1]


def _zeta(xp: Backend, x: Any, q: Any) -> Any:
    inside = _is_inside(xp, x, q)
    order, start = xp.where(inside, x, 2.0), xp.where(inside, q, 1.0)
    found = hurwitz(xp, order, start)
    found = xp.where(inside, found, NAN)
    at_zero = xp.logical_and(x > 1.0, xp.logical_and(q <= 0.0, is_whole(xp, q)))
    found = xp.where(xp.logical_or(x == 1.0, at_zero), INF, found)
    found = xp.where(xp.logical_and(x == INF, q > 1.0), 0.0, found)
    is_nan = xp.logical_or(xp.isnan(x), xp.isnan(q))
    return xp.where(is_nan, NAN, found)


def _is_inside(xp: Backend, x: Any, q: Any) -> Any:
    # Powers of negative numbers are real for whole orders.
    may_be_negative = xp.logical_and(is_whole(xp, x), xp.logical_not(is_whole(xp, q)))
    return xp.logical_and(x > 1.0, xp.logical_or(q > 0.0, may_be_negative))


def hurwitz(xp: Backend, order: Any, start: Any) -> Any:
    """Euler's and Maclaurin's formula for orders above 1."""
    # A start that is large for the order needs none of them, and adding to it would round.
    is_far = start >= 10.0 + order
    near = xp.where(is_far, 1.0, start)
    terms = [xp.where(is_far, 0.0, xp.pow(near + float(n), -order)) for n in range(_TERMS)]
    far = xp.where(is_far, start, near + float(_TERMS))
    power = xp.pow(far, -order)
    total = power * (0.5 + far / (order - 1.0))
    square = 1.0 / (far * far)
    rising, part = order, power / far
    rest = xp.zeros_like(order)
    for i, b in enumerate(_BERNOULLI):
        rest = rest + part * rising * (b / math.factorial(2 * (i + 1)))
        rising = rising * (order + (2.0 * i + 1.0)) * (order + (2.0 * i + 2.0))
        part = part * square
    total = total + rest
    for term in terms[::-1]:  # from the smallest on
        total = total + term
    return total


def _hurwitz_and_slope(xp: Backend, x: Any, q: Any) -> tuple[Any, Any]:
    """The same with its derivative by the order, for q > 0."""
    inside = xp.logical_and(x > 1.0, q > 0.0)
    order, start = xp.where(inside, x, 2.0), xp.where(inside, q, 1.0)
    total, slope = xp.zeros_like(order), xp.zeros_like(order)
    for n in range(_TERMS):
        log = xp.log(start + float(n))
        power = xp.exp(-order * log)
        total, slope = total + power, slope - power * log
    far = start + float(_TERMS)
    log = xp.log(far)
    power = xp.exp(-order * log)
    less = order - 1.0
    total = total + power * (0.5 + far / less)
    slope = slope - power * (log * (0.5 + far / less) + far / (less * less))
    square = 1.0 / (far * far)
    rising, by_order, part = order, xp.ones_like(order), power / far
    for i, b in enumerate(_BERNOULLI):
        factor = part * (b / math.factorial(2 * (i + 1)))
        total = total + factor * rising
        slope = slope + factor * (by_order - log * rising)
        first, second = order + (2.0 * i + 1.0), order + (2.0 * i + 2.0)
        by_order = by_order * first * second + rising * (first + second)
        rising = rising * first * second
        part = part * square
    return total, xp.where(inside, slope, NAN)


def polygamma(n: int | Array, x: A, /) -> A:
    """The derivative of order `n` of `digamma`; n = 0 is `digamma` itself.

    >>> import numpy as np, trellis
    >>> trellis.special.polygamma(1, np.array([1.0, 2.0])).round(6)
    array([1.644934, 0.644934])
    """
    try:
        return evaluated("polygamma", _polygamma, _polygamma_slopes, n, x)
    except Exception as error:
        return explain(error, polygamma)


def _polygamma_slopes(y: Any, n: Array, x: Array) -> list[Any]:
    # The order is a whole number: there is no derivative by it.
    return [0.0 * n, polygamma(n + 1.0, x)]


def _polygamma(xp: Backend, n: Any, x: Any) -> Any:
    is_zero = n == 0.0
    order = xp.where(xp.logical_or(is_zero, n < 0.0), 1.0, n)
    odd = order - 2.0 * xp.floor(order * 0.5)
    sign = 2.0 * odd - 1.0
    value = sign * gamma(order + 1.0) * _zeta(xp, order + 1.0, x)
    value = xp.where(is_zero, digamma(x), value)
    return xp.where(xp.logical_and(n >= 0.0, is_whole(xp, n)), value, NAN)
