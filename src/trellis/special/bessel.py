"""Bessel functions of the first and second kind: of order 0 and 1, and of low whole orders."""

import math
from typing import Any

from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from . import _coefficients as table
from ._calling import evaluated
from ._numbers import INF, NAN, on_piece

# Polynomials below, Hankel's form above.
_FAR = 5.0
HIGHEST_ORDER = 30


def j0(x: A, /) -> A:
    """The Bessel function of the first kind of order 0.

    >>> import numpy as np, trellis
    >>> trellis.special.j0(np.array([0.0, 1.0])).round(6)
    array([1.      , 0.765198])
    """
    try:
        return evaluated("j0", lambda xp, x: _j(xp, 0, x), lambda y, x: [-j1(x)], x)
    except Exception as error:
        return explain(error, j0)


def j1(x: A, /) -> A:
    """The Bessel function of the first kind of order 1.

    >>> import numpy as np, trellis
    >>> trellis.special.j1(np.array([0.0, 1.0])).round(6)
    array([0.      , 0.440051])
    """
    try:
        return evaluated(
            "j1", lambda xp, x: _j(xp, 1, x), lambda y, x: [0.5 * (j0(x) - jn(2, x))], x
        )
    except Exception as error:
        return explain(error, j1)


def y0(x: A, /) -> A:
    """The Bessel function of the second kind of order 0; -inf at 0, nan below.

    >>> import numpy as np, trellis
    >>> trellis.special.y0(np.array([0.0, 1.0])).round(6)
    array([    -inf, 0.088257])
    """
    try:
        return evaluated("y0", lambda xp, x: _y(xp, 0, x), lambda y, x: [-y1(x)], x)
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
            "y1", lambda xp, x: _y(xp, 1, x), lambda y, x: [0.5 * (y0(x) - yn(2, x))], x
        )
    except Exception as error:
        return explain(error, y1)


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


def _j(xp: Backend, order: int, x: Any) -> Any:
    size = xp.abs(x)
    near = _j_near(xp, order, xp.minimum(size, _FAR))
    is_far = xp.logical_and(size > _FAR, xp.isfinite(x))
    far = _far(xp, order, xp.where(is_far, size, 2 * _FAR), False)
    found = xp.where(size > _FAR, far, near)
    found = xp.where(xp.isinf(x), 0.0, found)
    found = xp.where(xp.isnan(x), NAN, found)
    return xp.where(x < 0.0, -found, found) if order == 1 else found


def _y(xp: Backend, order: int, x: Any) -> Any:
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


# Higher orders ------------------------------------------------------------------------------------


def jn(n: int, x: A, /) -> A:
    """The Bessel function of the first kind of order `n`, a whole number from -30 to 30.

    >>> import numpy as np, trellis
    >>> trellis.special.jn(2, np.array([1.0, 10.0])).round(6)
    array([0.114903, 0.25463 ])
    """
    try:
        order = _checked("jn", n)
        if order < 0:
            return (-1.0) ** order * jn(-order, x)
        return evaluated(
            "jn", lambda xp, x: _jn(xp, order, x), lambda y, x: _slopes(jn, order, x), x
        )
    except Exception as error:
        return explain(error, jn)


def yn(n: int, x: A, /) -> A:
    """The Bessel function of the second kind of order `n`, a whole number from -30 to 30.

    >>> import numpy as np, trellis
    >>> trellis.special.yn(2, np.array([1.0, 10.0])).round(6)
    array([-1.650683, -0.005868])
    """
    try:
        order = _checked("yn", n)
        if order < 0:
            return (-1.0) ** order * yn(-order, x)
        return evaluated(
            "yn", lambda xp, x: _yn(xp, order, x), lambda y, x: _slopes(yn, order, x), x
        )
    except Exception as error:
        return explain(error, yn)


def _checked(name: str, n: object) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or abs(n) > HIGHEST_ORDER:
        raise ArgumentError(
            f"{name}() expects the order as an int from -{HIGHEST_ORDER} to {HIGHEST_ORDER}, "
            f"got {n!r}. scipy.special.{name} takes others, on NumPy."
        )
    return n


def _slopes(fn: Any, order: int, x: Array) -> list[Any]:
    if order == 0:
        return [-fn(1, x)]
    # At the highest order, the one above it is not needed: fn' = fn(n - 1) - n / x fn(n).
    if order == HIGHEST_ORDER:
        return [fn(order - 1, x) - order / x * fn(order, x)]
    return [0.5 * (fn(order - 1, x) - fn(order + 1, x))]


def _jn(xp: Backend, order: int, x: Any) -> Any:
    if order < 2:
        return _j(xp, order, x)
    size = xp.abs(x)
    # Upwards where the order is below x; else downwards from where the function vanishes.
    is_up = size > order
    safe = xp.where(xp.logical_and(is_up, xp.isfinite(x)), size, float(order + 1))
    before, value = _j(xp, 0, safe), _j(xp, 1, safe)
    for k in range(1, order):
        before, value = value, 2.0 * k / safe * value - before
    # By the quotients r_k = J_k / J_{k-1}, from far above on.
    small = xp.where(xp.logical_or(is_up, size == 0.0), 1.0, size)
    ratio, product = xp.zeros_like(small), xp.ones_like(small)
    total = xp.zeros_like(small)  # J_0 + 2 J_2 + 2 J_4 + ... = 1, over J_0
    for k in range(2 * order + 32, 0, -1):
        ratio = small / (2.0 * k - small * ratio)
        total = ratio * (total + (2.0 if k % 2 == 0 else 0.0))
        product = product * ratio if k <= order else product
    down = product / (1.0 + total)
    found = xp.where(is_up, value, xp.where(size == 0.0, 0.0, down))
    found = xp.where(xp.isinf(x), 0.0, xp.where(xp.isnan(x), NAN, found))
    return xp.where(x < 0.0, -found, found) if order % 2 else found


def _yn(xp: Backend, order: int, x: Any) -> Any:
    if order < 2:
        return _y(xp, order, x)
    safe = xp.where(xp.logical_and(x > 0.0, xp.isfinite(x)), x, 1.0)
    before, value = _y(xp, 0, safe), _y(xp, 1, safe)
    for k in range(1, order):
        # Once infinite, it stays so: inf - inf has no value.
        following = 2.0 * k / safe * value - before
        before, value = value, xp.where(value == -INF, -INF, following)
    found = xp.where(x == INF, 0.0, xp.where(x == 0.0, -INF, value))
    return xp.where(x >= 0.0, found, NAN)
