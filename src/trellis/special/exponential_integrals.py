"""Exponential integrals."""

import math
from typing import Any

from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.typing import A, Backend
from . import _coefficients as table
from ._calling import evaluated
from ._numbers import INF, NAN, less_parts, log1p, on_piece


def exp1(x: A, /) -> A:
    """The integral of exp(-t) / t from `x` on; infinite at 0, nan below.

    >>> import numpy as np, trellis
    >>> trellis.special.exp1(np.array([0.0, 1.0])).round(6)
    array([     inf, 0.219384])
    """
    try:
        return evaluated("exp1", _exp1, lambda y, x: [-xp_of(x).exp(-x) / x], x)
    except Exception as error:
        return explain(error, exp1)


def _exp1(xp: Backend, x: Any) -> Any:
    found = exp1_of_positive(xp, xp.where(x > 0.0, x, 1.0))
    return xp.where(x > 0.0, found, xp.where(x == 0.0, INF, NAN))


def exp1_of_positive(xp: Backend, x: Any) -> Any:
    near = xp.minimum(x, 1.0)
    close = on_piece(xp, near, table.EXP1_NEAR) - xp.log(near)
    inverse = 1.0 / xp.maximum(x, 1.0)
    away = xp.exp(-x) * (scaled_exp1(xp, inverse) * inverse)
    return xp.where(x < 1.0, close, away)


def scaled_exp1(xp: Backend, inverse: Any) -> Any:
    """x exp(x) exp1(x), for x of 1 at least, of which 1 / x is given."""
    middle = on_piece(xp, xp.maximum(inverse, 0.25), table.EXP1_1_TO_4)
    far = on_piece(xp, xp.minimum(inverse, 0.25), table.EXP1_FAR)
    return xp.where(inverse > 0.25, middle, far)


def expi(x: A, /) -> A:
    """The integral of exp(t) / t up to `x`, a principal value; -inf at 0.

    >>> import numpy as np, trellis
    >>> trellis.special.expi(np.array([-1.0, 1.0])).round(6)
    array([-0.219384,  1.895118])
    """
    try:
        return evaluated("expi", _expi, lambda y, x: [xp_of(x).exp(x) / x], x)
    except Exception as error:
        return explain(error, expi)


_PIECES = (
    (1.5, 4.0, table.EXPI_TO_4),
    (4.0, 10.0, table.EXPI_TO_10),
    (10.0, 20.0, table.EXPI_TO_20),
    (20.0, 48.0, table.EXPI_TO_48),
)


def _expi(xp: Backend, x: Any) -> Any:
    positive = xp.where(x > 0.0, x, 1.0)
    # The zero at 0.3725 is a factor: log(x / zero) + (x - zero) Q(x).
    zero = sum(table.EXPI_ZERO)
    near = xp.minimum(positive, 1.5)
    apart = less_parts(xp, near, table.EXPI_ZERO)
    relative = apart * (1.0 / zero)
    log = xp.where(near < 0.25, xp.log(near) - math.log(zero), log1p(xp, relative))
    close = log + apart * on_piece(xp, near, table.EXPI_NEAR)
    scaled = on_piece(xp, 1.0 / xp.maximum(positive, 48.0), table.EXPI_FAR)
    for low, high, piece in _PIECES[::-1]:
        scaled = xp.where(
            positive < high, on_piece(xp, xp.clip(positive, low, high), piece), scaled
        )
    half = xp.exp(0.5 * xp.minimum(positive, 800.0))
    away = half * (half * (scaled / positive))
    found = xp.where(positive < 1.5, close, away)
    found = xp.where(positive > 750.0, INF, found)
    below = -exp1_of_positive(xp, xp.where(x < 0.0, -x, 1.0))
    found = xp.where(x < 0.0, below, xp.where(x == 0.0, -INF, found))
    return xp.where(xp.isnan(x), NAN, found)
