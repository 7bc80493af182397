"""Exponential integrals of whole orders."""

from typing import Any

from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated, is_double, whole_order
from ._numbers import INF, NAN
from .exponential_integrals import exp1_of_positive, scaled_exp1

HIGHEST_ORDER = 24
# Up to here the recurrence from order 1 on, from here on a continued fraction.
_TURN = 2.0
# Enough for the order 2 at x = 2; it converges faster elsewhere.
_STEPS = {True: 52, False: 20}


def expn(n: int, x: A, /) -> A:
    """The integral of exp(-x t) / t**n over t from 1 on: the exponential integral of order `n`.

    The order is an int from 0 to 24, and not an array: there is no derivative by it.

    >>> import numpy as np, trellis
    >>> trellis.special.expn(2, np.array([0.0, 1.0])).round(6)
    array([1.      , 0.148496])
    """
    try:
        return _expn_of(whole_order("expn", n, 0, HIGHEST_ORDER), x)
    except Exception as error:
        return explain(error, expn)


def _expn_of(order: int, x: Any) -> Any:
    def slopes(y: Any, x: Array) -> list[Any]:
        return [-_expn_of(order - 1, x) if order else -y() * (1.0 + 1.0 / x)]

    return evaluated("expn", lambda xp, x: _expn(xp, order, x), slopes, x)


def _expn(xp: Backend, n: int, x: Any) -> Any:
    positive = xp.where(x > 0.0, x, 1.0)
    if n == 0:
        found = xp.exp(-positive) / positive
    else:
        near = _by_recurrence(xp, n, xp.minimum(positive, _TURN))
        far = _by_fraction(xp, n, xp.maximum(positive, _TURN))
        found = xp.where(positive < _TURN, near, far)
    at_zero = 1.0 / (n - 1) if n > 1 else INF
    found = xp.where(x == 0.0, at_zero, xp.where(x > 0.0, found, NAN))
    return xp.where(x == INF, 0.0, found)


def _by_recurrence(xp: Backend, n: int, x: Any) -> Any:
    """n E(n + 1, x) = exp(-x) - x E(n, x); from 1 on all is times exp(x), which has fewer roundings
    before the difference.
    """
    is_small = x < 1.0
    decay = xp.exp(-x)
    lead = xp.where(is_small, decay, 1.0)
    small = exp1_of_positive(xp, xp.minimum(x, 1.0))
    scaled = scaled_exp1(xp, 1.0 / xp.maximum(x, 1.0))
    total = xp.where(is_small, small, scaled / x)
    product = xp.where(is_small, x * small, scaled)
    for k in range(1, n):
        total = (lead - product) / float(k)
        product = x * total
    return xp.where(is_small, total, decay * total)


def _by_fraction(xp: Backend, n: int, x: Any) -> Any:
    """exp(-x) / (x + n - n / (x + n + 2 - 2 (n + 1) / (x + n + 4 - ...))), from its end on."""
    steps = _STEPS[is_double(xp, x)]
    start = xp.minimum(x, 1e4)
    # What follows is about as if it went on with the same numbers: the larger root.
    last = start + (n + 2.0 * (steps + 1))
    denominator = 0.5 * (last + xp.sqrt(last * last - 4.0 * (steps + 2) * (n + steps + 1)))
    for k in range(steps + 1, 0, -1):
        denominator = (x + (n + 2.0 * (k - 1))) - (k * (n + k - 1.0)) / denominator
    return xp.exp(-x) / denominator
