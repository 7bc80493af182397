"""The zeta functions of Riemann and Hurwitz, and polygamma, which is one of them."""

import math
from typing import Any

from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated, whole_order
from ._numbers import INF, NAN, cot_half_turns, horner, is_whole
from .gamma import digamma

_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330,
)  # fmt: skip
# Terms that are summed one by one before the rest is an integral and its corrections.
_TERMS = 9
HIGHEST_ORDER = 5


def zeta(x: A, q: Array | float = 1.0, /) -> A:
    """Hurwitz's zeta function: the sum of (n + q) ** -x over n = 0, 1, 2, ... for x > 1.

    With q = 1 it is Riemann's zeta function. Below x = 1, and for q below 0, the result is nan;
    it is infinite for x = 1, and for q = 0, -1, -2, ...

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
    limit = xp.where(q > 1.0, 0.0, xp.where(q == 1.0, xp.ones_like(q), INF))
    found = xp.where(xp.logical_and(x == INF, q > 0.0), limit, found)
    is_nan = xp.logical_or(xp.isnan(x), xp.isnan(q))
    return xp.where(is_nan, NAN, found)


def _is_inside(xp: Backend, x: Any, q: Any) -> Any:
    return xp.logical_and(x > 1.0, q > 0.0)


def hurwitz(xp: Backend, order: Any, start: Any, factor: float = 1.0) -> Any:
    """`factor` times zeta(order, start), by Euler's and Maclaurin's formula; orders above 1."""
    # A start that is large for the order needs no terms, and adding to it would round.
    is_far = start >= 10.0 + order
    # In eighths from 8 on: small powers would be lost before the sum, which is larger.
    unit = xp.where(xp.logical_or(is_far, start < 8.0), xp.ones_like(start), 8.0)
    near = xp.where(is_far, 1.0, start)
    bases = [(near + float(n)) / unit for n in range(_TERMS)]
    terms = [xp.where(is_far, 0.0, xp.pow(base, -order)) for base in bases]
    less = order - 1.0
    # With the factor between two halves of the power, which alone may be too small for a float.
    root = xp.pow(xp.where(is_far, start, 1.0), -0.5 * less)
    inner = near + float(_TERMS)
    power = xp.where(is_far, (root * factor) * root, factor * xp.pow(inner / unit, -less))
    inverse = 1.0 / xp.where(is_far, start, inner)
    rest = 0.5 * inverse
    rising, part = order, inverse * inverse
    for i, b in enumerate(_BERNOULLI):
        rest = rest + part * rising * (b / math.factorial(2 * (i + 1)))
        rising = rising * (order + (2.0 * i + 1.0)) * (order + (2.0 * i + 2.0))
        part = part * (inverse * inverse)
    total = power * (1.0 / less + rest)
    # (unit b)**-less is unit unit**-order b**-less.
    total = total * unit
    for term in terms[::-1]:  # from the smallest on
        total = total + factor * term
    return total * xp.pow(unit, -order)


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


def polygamma(n: int, x: A, /) -> A:
    """The derivative of order `n` of `digamma`; n = 0 is `digamma` itself.

    The order is an int from 0 to 5, and not an array: there is no derivative by it.

    >>> import numpy as np, trellis
    >>> trellis.special.polygamma(1, np.array([1.0, 2.0])).round(6)
    array([1.644934, 0.644934])
    """
    try:
        return _polygamma_of(whole_order("polygamma", n, 0, HIGHEST_ORDER), x)
    except Exception as error:
        return explain(error, polygamma)


def _polygamma_of(order: int, x: Any) -> Any:
    """Of any order: the derivative at the highest one is of the next."""
    if order == 0:
        return digamma(x)
    return evaluated(
        "polygamma",
        lambda xp, x: _polygamma(xp, order, x),
        lambda y, x: [_polygamma_of(order + 1, x)],
        x,
    )


def _polygamma(xp: Backend, n: int, x: Any) -> Any:
    """n! times a sum of powers; below 0, with Q from `_cotangents`,
    polygamma(n, -x) = pi**(n + 1) Q(cot(pi x)) - n! zeta(n + 1, 1 + x).
    """
    factor, sign = float(math.factorial(n)), 1.0 if n % 2 else -1.0
    is_negative = x < 0.0
    is_inside = xp.logical_and(xp.isfinite(x), x != 0.0)
    start = xp.where(is_inside, xp.where(is_negative, 1.0 - x, x), 1.0)
    right = hurwitz(xp, xp.full_like(x, n + 1.0), start, factor)
    cotangent = cot_half_turns(xp, xp.where(xp.logical_and(is_inside, is_negative), -x, 0.25))
    mirrored = factor * _cotangents(n, cotangent) - right
    is_pole = xp.logical_and(x <= 0.0, is_whole(xp, x))
    found = xp.where(is_negative, mirrored, sign * right)
    found = xp.where(is_pole, sign * INF, xp.where(x == INF, sign * 0.0, found))
    return xp.where(xp.logical_or(xp.isnan(x), x == -INF), NAN, found)


def _cotangents(n: int, c: Any) -> Any:
    """pi**(n + 1) Q(c) / n!, where Q is -1 or 1 times the polynomial that the derivative of order
    `n` of cot(x) is in c = cot(x). Its coefficients are above 0: nothing cancels."""
    powers = [0, 1]  # cot itself
    for _ in range(n):
        slope = [k * powers[k] for k in range(1, len(powers))]  # times 1 + c**2
        powers = [
            (slope[k] if k < len(slope) else 0) + (slope[k - 2] if k >= 2 else 0)
            for k in range(len(slope) + 2)
        ]
    scale = math.pi ** (n + 1)
    first = (n + 1) % 2
    even = tuple([scale * (p / math.factorial(n)) for p in powers[first::2]])
    return horner(c * c, even) * (c if first else 1.0)
