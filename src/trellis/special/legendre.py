"""Legendre polynomials, with those of Gegenbauer, which are their derivatives."""

from typing import Any

from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated, whole_order

HIGHEST_ORDER = 64


def eval_legendre(n: int, x: A, /) -> A:
    """The Legendre polynomial of degree `n` at `x`.

    The degree is an int from 0 to 64, and not an array: there is no derivative by it.

    >>> import numpy as np, trellis
    >>> trellis.special.eval_legendre(2, np.array([0.0, 0.5, 1.0]))
    array([-0.5  , -0.125,  1.   ])
    """
    try:
        return _polynomial(whole_order("eval_legendre", n, 0, HIGHEST_ORDER), 1.0, x)
    except Exception as error:
        return explain(error, eval_legendre)


def _polynomial(n: int, twice: float, x: Any) -> Any:
    """Gegenbauer's polynomial of degree `n` and order `twice` / 2, over its value at 1; Legendre's
    has order 1/2. The derivative is a multiple of the next order's.
    """

    def slopes(y: Any, x: Array) -> list[Any]:
        if n == 0:
            return [0.0 * x]
        return [(n * (n + twice) / (twice + 1.0)) * _polynomial(n - 1, twice + 2.0, x)]

    return evaluated("eval_legendre", lambda xp, x: _by_recurrence(xp, n, twice, x), slopes, x)


def _by_recurrence(xp: Backend, n: int, twice: float, x: Any) -> Any:
    size = xp.abs(x)
    # Towards 1 and above by differences, which are exact there; towards 0 by three terms, which
    # are odd or even themselves.
    small = xp.minimum(size, 0.5)
    before, here = xp.ones_like(x), small
    less, value = size - 1.0, xp.ones_like(x)
    rise = less
    for k in range(1, n):
        over = 1.0 / (k + twice)
        before, here = here, ((2 * k + twice) * small * here - k * before) * over
        value = value + rise
        rise = ((2 * k + twice) * less * value + k * rise) * over
    found = xp.where(size < 0.5, here, value + rise) if n else xp.where(size >= 0.0, value, size)
    return xp.where(x < 0.0, -found, found) if n % 2 else found
