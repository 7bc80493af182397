"""Modified Bessel functions of the first kind, of whole orders."""

import math
from typing import Any

from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated, is_double, whole_order
from ._numbers import INF, horner

# Hankel's series is exact from the square of the order on, until where the power series goes.
HIGHEST_ORDER = 8
_FAR = 25.0


def iv(n: int, x: A, /) -> A:
    """The modified Bessel function of the first kind of a whole order.

    The order is an int from -8 to 8, and not an array: there is no derivative by it.

    >>> import numpy as np, trellis
    >>> trellis.special.iv(2, np.array([0.0, 1.0])).round(6)
    array([0.      , 0.135748])
    """
    try:
        return _iv_of(whole_order("iv", n, -HIGHEST_ORDER, HIGHEST_ORDER), x)
    except Exception as error:
        return explain(error, iv)


def _iv_of(order: int, x: Any) -> Any:
    def slopes(y: Any, x: Array) -> list[Any]:
        return [0.5 * (_iv_of(order - 1, x) + _iv_of(order + 1, x))]

    return evaluated("iv", lambda xp, x: _iv(xp, abs(order), x), slopes, x)


def _iv(xp: Backend, n: int, x: Any) -> Any:
    turn = max(_FAR, float(n * n))
    size = xp.abs(x)
    near = _series(xp, n, xp.minimum(size, turn), turn)
    far = _hankel(xp, n, xp.clip(size, turn, 800.0), turn)
    found = xp.where(size > turn, far, near)
    found = xp.where(size > 750.0, INF, found)
    return xp.where(x < 0.0, -found, found) if n % 2 else found


def _series(xp: Backend, n: int, x: Any, turn: float) -> Any:
    """(x / 2)**n times the power series in x**2 / 4, all of whose terms are above 0."""
    half = 0.5 * x
    square = half * half
    total = xp.ones_like(x)
    for k in range(_terms(n, turn), 0, -1):
        total = 1.0 + (square * (1.0 / (k * (k + n)))) * total
    # The rounding of the square, magnified x / 2 times: d log I / d square is I(n + 1) / I(n) over
    # x / 2, and that quotient is about x over the denominator here.
    step = 2.0**20 if is_double(xp, x) else 2.0**6
    high = xp.floor(half * step) * (1.0 / step)
    lost = (high * high - square) + (half - high) * (half + high)
    denominator = n + 1.0 + xp.sqrt(x * x + (n + 1.0) ** 2)
    total = total + total * (2.0 * lost / denominator)
    power = xp.ones_like(x)
    for _ in range(n):
        power = power * half
    return power * (total * (1.0 / math.factorial(n)))


def _terms(n: int, turn: float) -> int:
    """How many terms of the series at `turn` are more than a rounding of its sum."""
    term, total, k = 1.0, 1.0, 0
    while term > 2.0**-56 * total:
        k += 1
        term *= turn * turn / 4 / (k * (k + n))
        total += term
    return k


def _hankel(xp: Backend, n: int, x: Any, turn: float) -> Any:
    """The series in 1 / x times exp(x), which is in two halves: it may be too large for a float."""
    coefficients, size = [1.0], 1.0
    while abs(size) > 2.0**-57:
        k = len(coefficients)
        factor = -(4.0 * n * n - (2 * k - 1) ** 2) / (8.0 * k)
        coefficients.append(coefficients[-1] * factor / turn)
        size *= factor / turn
    scaled = horner(turn / x, tuple(coefficients)) / xp.sqrt(2.0 * math.pi * x)
    half = xp.exp(0.5 * x)
    return (scaled * half) * half
