"""Bessel functions of the first and second kind, of whole orders, by recurrence from 0 and 1."""

import math
from typing import Any

from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated, is_double, whole_order
from ._numbers import INF
from .bessel import first_kind, second_kind

# Numbers of float32 hold (x / 2)**n up to x = n, and derivatives go some orders further.
HIGHEST_ORDER = 24


def jn(n: int, x: A, /) -> A:
    """The Bessel function of the first kind of a whole order: `jv` of SciPy for such ones.

    The order is an int from -24 to 24, and not an array: there is no derivative by it.

    >>> import numpy as np, trellis
    >>> trellis.special.jn(2, np.array([0.0, 1.0, 10.0])).round(6)
    array([0.      , 0.114903, 0.25463 ])
    """
    try:
        return _jn_of(whole_order("jn", n, -HIGHEST_ORDER, HIGHEST_ORDER), x)
    except Exception as error:
        return explain(error, jn)


def yn(n: int, x: A, /) -> A:
    """The Bessel function of the second kind of a whole order; nan below 0.

    The order is an int from -24 to 24, and not an array: there is no derivative by it.

    >>> import numpy as np, trellis
    >>> trellis.special.yn(2, np.array([0.0, 1.0, 10.0])).round(6)
    array([     -inf, -1.650683, -0.005868])
    """
    try:
        return _yn_of(whole_order("yn", n, -HIGHEST_ORDER, HIGHEST_ORDER), x)
    except Exception as error:
        return explain(error, yn)


def _jn_of(order: int, x: Any) -> Any:
    def slopes(y: Any, x: Array) -> list[Any]:
        return [0.5 * (_jn_of(order - 1, x) - _jn_of(order + 1, x))]

    return evaluated("jn", lambda xp, x: _sign(order) * _jn(xp, abs(order), x), slopes, x)


def _yn_of(order: int, x: Any) -> Any:
    def slopes(y: Any, x: Array) -> list[Any]:
        slope = 0.5 * (_yn_of(order - 1, x) - _yn_of(order + 1, x))
        # There the difference of infinities is nan.
        return [xp_of(x).where(x == 0.0, _sign(order) * INF, slope)]

    return evaluated("yn", lambda xp, x: _sign(order) * _yn(xp, abs(order), x), slopes, x)


def _sign(order: int) -> float:
    """That of the function of order -n over that of order n."""
    return -1.0 if order < 0 and order % 2 else 1.0


def _jn(xp: Backend, n: int, x: Any) -> Any:
    size = xp.abs(x)
    first, second = first_kind(xp, 0, size), first_kind(xp, 1, size)
    is_far = size > float(n)
    far = _upward(xp, n, xp.where(is_far, size, n + 1.0), first, second)
    found = xp.where(is_far, far, _downward(xp, n, xp.minimum(size, float(n)), first, second))
    return xp.where(x < 0.0, -found, found) if n % 2 else found


def _upward(xp: Backend, n: int, x: Any, first: Any, second: Any) -> Any:
    """J(k + 1) = 2 k / x J(k) - J(k - 1): exact while the order is below x, and always for Y."""
    if n == 0:
        return first
    # Of small x, Y overflows; after that, infinity less infinity would be nan.
    least = -1.7e308 if is_double(xp, x) else -3.3e38
    for k in range(1, n):
        first, second = second, 2.0 * k * second / x - xp.maximum(first, least)
    return second


def _downward(xp: Backend, n: int, x: Any, first: Any, second: Any) -> Any:
    """Miller's recurrence for x from 0 to n, in terms of h(k) = J(k) / (x / 2)**k, which are of
    ordinary size for small x: h(k - 1) = k h(k) - (x / 2)**2 h(k + 1).
    """
    if n == 0:
        return first
    half = 0.5 * x
    square = half * half
    # From there on h(k) / h(k - 1) does not matter: it falls fast where k is above x.
    ratio = xp.zeros_like(x)
    for k in range(n + _further(n, is_double(xp, x)), n, -1):
        ratio = 1.0 / (k - square * ratio)
    above, here = ratio, xp.ones_like(x)
    for k in range(n, 1, -1):
        above, here = here, k * here - square * above
    # `here` is h(1) over h(n).
    before = (here - square * above) * (1.0 / math.factorial(n))
    here = half * here * (1.0 / math.factorial(n))
    # Their multiple that is (J0, J1): these have no zero in common.
    factor = (before * first + here * second) / (before * before + here * here)
    power = half
    for _ in range(n - 1):
        power = power * half
    return power * (factor * (1.0 / math.factorial(n)))


def _further(n: int, is_precise: bool) -> int:
    """Orders above n = x whose ratios count: their product falls as exp(-k**1.5 sqrt(2 / n))."""
    digits = 30.0 if is_precise else 14.0
    return 4 + math.ceil((digits * math.sqrt(n / 2)) ** (2 / 3))


def _yn(xp: Backend, n: int, x: Any) -> Any:
    return _upward(xp, n, xp.abs(x), second_kind(xp, 0, x), second_kind(xp, 1, x))
