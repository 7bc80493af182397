"""Modified Bessel functions of the first kind, of order 0 and 1, also scaled by exp(-abs(x))."""

import math
from typing import Any

from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from . import _coefficients as table
from ._calling import evaluated, is_double
from ._numbers import INF, horner, on_piece

_FAR = 8.0
# The power series in x**2 / 4 has 1 / k!**2, or 1 / (k! (k + 1)!), for coefficients.
_SERIES = {
    order: tuple([1.0 / (math.factorial(k) * math.factorial(k + order)) for k in range(30)])
    for order in (0, 1)
}
_PIECES = {0: table.I0_FAR, 1: table.I1_FAR}


def i0(x: A, /) -> A:
    """The modified Bessel function of the first kind of order 0.

    >>> import numpy as np, trellis
    >>> trellis.special.i0(np.array([0.0, 1.0])).round(6)
    array([1.      , 1.266066])
    """
    try:
        return evaluated("i0", lambda xp, x: _i(xp, 0, x), lambda y, x: [i1(x)], x)
    except Exception as error:
        return explain(error, i0)


def i0e(x: A, /) -> A:
    """exp(-abs(x)) i0(x), which does not overflow.

    >>> import numpy as np, trellis
    >>> trellis.special.i0e(np.array([0.0, 1000.0])).round(6)
    array([1.      , 0.012617])
    """
    try:
        return evaluated("i0e", lambda xp, x: _scaled(xp, 0, x), _i0e_slopes, x, has_kernels=True)
    except Exception as error:
        return explain(error, i0e)


def _i0e_slopes(y: Any, x: Array) -> list[Any]:
    return [i1e(x) - xp_of(x).sign(x) * y()]


def i1(x: A, /) -> A:
    """The modified Bessel function of the first kind of order 1.

    >>> import numpy as np, trellis
    >>> trellis.special.i1(np.array([0.0, 1.0])).round(6)
    array([0.      , 0.565159])
    """
    try:
        return evaluated("i1", lambda xp, x: _i(xp, 1, x), lambda y, x: [i0(x) - _i1_over_x(x)], x)
    except Exception as error:
        return explain(error, i1)


def i1e(x: A, /) -> A:
    """exp(-abs(x)) i1(x), which does not overflow.

    >>> import numpy as np, trellis
    >>> trellis.special.i1e(np.array([0.0, 1000.0])).round(6)
    array([0.      , 0.012611])
    """
    try:
        return evaluated("i1e", lambda xp, x: _scaled(xp, 1, x), _i1e_slopes, x, has_kernels=True)
    except Exception as error:
        return explain(error, i1e)


def _i1e_slopes(y: Any, x: Array) -> list[Any]:
    xp = xp_of(x)
    is_zero = x == 0.0
    quotient = xp.where(is_zero, 0.5, i1e(x) / xp.where(is_zero, 1.0, x))
    return [i0e(x) - quotient - xp.sign(x) * i1e(x)]


def _i1_over_x(x: Array) -> Any:
    xp = xp_of(x)
    is_zero = x == 0.0
    return xp.where(is_zero, 0.5, i1(x) / xp.where(is_zero, 1.0, x))


def _near(xp: Backend, order: int, size: Any) -> Any:
    """The power series, all of whose terms are above 0, for numbers up to 8."""
    half = 0.5 * size
    coefficients = _SERIES[order] if is_double(xp, size) else _SERIES[order][:22]
    value = horner(half * half, coefficients)
    return half * value if order == 1 else value


def _far_scaled(xp: Backend, order: int, size: Any) -> Any:
    return on_piece(xp, _FAR / size, _PIECES[order]) / xp.sqrt(size)


def _scaled(xp: Backend, order: int, x: Any) -> Any:
    size = xp.abs(x)
    near = xp.minimum(size, _FAR)
    close = xp.exp(-near) * _near(xp, order, near)
    found = xp.where(size > _FAR, _far_scaled(xp, order, xp.maximum(size, _FAR)), close)
    return xp.where(x < 0.0, -found, found) if order == 1 else found


def _i(xp: Backend, order: int, x: Any) -> Any:
    size = xp.abs(x)
    # The exponential in two halves: the product is in range where the exponential alone is not.
    far = xp.clip(size, _FAR, 800.0)
    half = xp.exp(0.5 * far)
    away = (_far_scaled(xp, order, far) * half) * half
    found = xp.where(size > _FAR, away, _near(xp, order, xp.minimum(size, _FAR)))
    found = xp.where(size > 750.0, INF, found)
    return xp.where(x < 0.0, -found, found) if order == 1 else found
