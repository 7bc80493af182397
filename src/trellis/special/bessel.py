"""Bessel functions of the first and second kind, of order 0 and 1."""

import math
from typing import Any

from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from . import _coefficients as table
from ._calling import evaluated
from ._numbers import INF, NAN, on_piece

# Polynomials below, Hankel's form above.
_FAR = 5.0


def j0(x: A, /) -> A:
    """The Bessel function of the first kind of order 0.

    >>> import numpy as np, trellis
    >>> trellis.special.j0(np.array([0.0, 1.0])).round(6)
    array([1.      , 0.765198])
    """
    try:
        return evaluated("j0", lambda xp, x: first_kind(xp, 0, x), lambda y, x: [-j1(x)], x)
    except Exception as error:
        return explain(error, j0)


def j1(x: A, /) -> A:
    """The Bessel function of the first kind of order 1.

    >>> import numpy as np, trellis
    >>> trellis.special.j1(np.array([0.0, 1.0])).round(6)
    array([0.      , 0.440051])
    """
    try:
        return evaluated("j1", lambda xp, x: first_kind(xp, 1, x), _j1_slopes, x)
    except Exception as error:
        return explain(error, j1)


def _j1_slopes(y: Any, x: Array) -> list[Any]:
    xp = xp_of(x)
    # j1(x) / x is 1/2 at 0.
    is_zero = x == 0.0
    return [j0(x) - xp.where(is_zero, 0.5, j1(x) / xp.where(is_zero, 1.0, x))]


def y0(x: A, /) -> A:
    """The Bessel function of the second kind of order 0; -inf at 0, nan below.

    >>> import numpy as np, trellis
    >>> trellis.special.y0(np.array([0.0, 1.0])).round(6)
    array([    -inf, 0.088257])
    """
    try:
        return evaluated("y0", lambda xp, x: second_kind(xp, 0, x), lambda y, x: [-y1(x)], x)
    except Exception as error:
        return explain(error, y0)


def y1(x: A, /) -> A:
    """The Bessel function of the second kind of order 1; -inf at 0, nan below.

    >>> import numpy as np, trellis
    >>> trellis.special.y1(np.array([0.0, 1.0])).round(6)
    array([     -inf, -0.781213])
    """
    try:
        return evaluated(
            "y1", lambda xp, x: second_kind(xp, 1, x), lambda y, x: [y0(x) - y1(x) / x], x
        )
    except Exception as error:
        return explain(error, y1)


def _y1_slopes(y: Any, x: Array) -> list[Any]:
    return [y0(x) - y1(x) / x]


_RESTS = {0: table.Y0_NEAR, 1: table.Y1_NEAR}
_PHASES = {0: (table.P0_FAR, table.Q0_FAR), 1: (table.P1_FAR, table.Q1_FAR)}


def _far(xp: Backend, order: int, x: Any, second: bool) -> Any:
    """Hankel's form for x > 5, whose angle x - pi / 4 needs the sine and cosine of x alone."""
    inverse = _FAR / x
    slow = inverse * inverse
    p, q = _PHASES[order]
    even, odd = on_piece(xp, slow, p), inverse * on_piece(xp, slow, q)
    sine, cosine = xp.sin(x), xp.cos(x)
    plus, minus = sine + cosine, sine - cosine
    # cos and sin of the angle, times sqrt 2.
    angle_cos, angle_sin = (plus, minus) if order == 0 else (minus, -plus)
    mixed = even * angle_sin + odd * angle_cos if second else even * angle_cos - odd * angle_sin
    return mixed / (math.sqrt(math.pi) * xp.sqrt(x))


def _j_near(xp: Backend, order: int, x: Any) -> Any:
    y = x * x
    if order == 1:
        return x * on_piece(xp, y, table.J1_NEAR)
    tiny = 1.0 + y * on_piece(xp, xp.minimum(y, 4.0), table.J0_TINY)
    return xp.where(y < 4.0, tiny, on_piece(xp, xp.maximum(y, 4.0), table.J0_NEAR))


def first_kind(xp: Backend, order: int, x: Any) -> Any:
    """The value of `j0` or `j1`, without its derivative."""
    size = xp.abs(x)
    near = _j_near(xp, order, xp.minimum(size, _FAR))
    is_far = xp.logical_and(size > _FAR, xp.isfinite(x))
    far = _far(xp, order, xp.where(is_far, size, 2 * _FAR), False)
    found = xp.where(size > _FAR, far, near)
    found = xp.where(xp.isinf(x), 0.0, found)
    found = xp.where(xp.isnan(x), NAN, found)
    return xp.where(x < 0.0, -found, found) if order == 1 else found


def second_kind(xp: Backend, order: int, x: Any) -> Any:
    """The value of `y0` or `y1`, without its derivative."""
    is_near = xp.logical_and(x > 0.0, x <= _FAR)
    close = xp.where(is_near, x, 1.0)
    rest = on_piece(xp, close * close, _RESTS[order])
    log = (2.0 / math.pi) * xp.log(close) * _j_near(xp, order, close)
    near = rest + log if order == 0 else close * rest + (log - (2.0 / math.pi) / close)
    is_far = xp.logical_and(x > _FAR, xp.isfinite(x))
    far = _far(xp, order, xp.where(is_far, x, 2 * _FAR), True)
    found = xp.where(is_near, near, far)
    found = xp.where(x == INF, 0.0, xp.where(x == 0.0, -INF, found))
    return xp.where(x >= 0.0, found, NAN)
