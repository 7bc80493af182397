"""Owen's T function, the part of the bivariate normal distribution in a wedge."""

import math
from typing import Any

from .._core.explain import explain
from .._core.typing import A, Array, Backend
from . import _coefficients as table
from ._calling import evaluated, is_double
from ._numbers import NAN, exp_of_half_square
from .error import erf_of, ndtr_of

# The interval that the rule of integration is exact on: for wider ones the complement.
_WIDEST = 1.5


def owens_t(h: A, a: A, /) -> A:
    """Owen's T: the probability that a standard normal x is above `h` and another from 0 to a x.

    >>> import numpy as np, trellis
    >>> trellis.special.owens_t(np.array([0.0, 1.0]), 1.0).round(6)
    array([0.125   , 0.066742])
    """
    try:
        return evaluated("owens_t", _owens_t, _slopes, h, a)
    except Exception as error:
        return explain(error, owens_t)


def _slopes(y: Any, h: Array, a: Array) -> list[Any]:
    return [_by_h(h, a), _by_a(h, a)]


def _by_h(h: Array, a: Array) -> Any:
    """-exp(-h**2 / 2) erf(a h / sqrt 2) / sqrt(8 pi)."""

    def formula(xp: Backend, h: Any, a: Any) -> Any:
        # 0 times infinity would be nan.
        is_zero = xp.logical_or(h == 0.0, a == 0.0)
        along = xp.where(is_zero, xp.zeros_like(h), h * a)
        scaled = exp_of_half_square(xp, h) * erf_of(xp, math.sqrt(0.5) * along)
        return scaled * (-1.0 / math.sqrt(8.0 * math.pi))

    def slopes(y: Any, h: Array, a: Array) -> list[Any]:
        density = (1.0 + a * a) * _by_a(h, a)
        return [-h * y() - a * density, -h * density]

    return evaluated("owens_t", formula, slopes, h, a)


def _by_a(h: Array, a: Array) -> Any:
    """exp(-h**2 (1 + a**2) / 2) / (1 + a**2) / (2 pi)."""

    def formula(xp: Backend, h: Any, a: Any) -> Any:
        is_zero = xp.logical_or(h == 0.0, a == 0.0)
        along = xp.where(is_zero, xp.zeros_like(h), h * a)
        both = exp_of_half_square(xp, h) * exp_of_half_square(xp, along)
        return both / (1.0 + a * a) * (0.5 / math.pi)

    def slopes(y: Any, h: Array, a: Array) -> list[Any]:
        square = 1.0 + a * a
        return [-h * square * y(), -a * (h * h + 2.0 / square) * y()]

    return evaluated("owens_t", formula, slopes, h, a)


def _owens_t(xp: Backend, h: Any, a: Any) -> Any:
    height, slope = xp.abs(h), xp.abs(a)
    reach = 8.5 if is_double(xp, h) else 5.8
    # From h on the integrand falls as exp(-(h x)**2 / 2): the rest of the interval adds nothing.
    is_wide = xp.logical_and(slope > _WIDEST, height * _WIDEST < reach)
    along = xp.where(xp.logical_and(is_wide, height > 0.0), height * slope, 0.0)
    inverse = 1.0 / xp.where(is_wide, slope, 1.0)
    area = _integral(xp, xp.where(is_wide, along, height), xp.where(is_wide, inverse, slope), reach)
    # T(h, a) + T(a h, 1 / a), by the parts of the normal distribution above h and above a h.
    above, further = ndtr_of(xp, -height), ndtr_of(xp, -along)
    complement = 0.5 * (above + further) - above * further
    found = xp.where(is_wide, complement - area, area)
    found = xp.where(a < 0.0, -found, found)
    return xp.where(xp.logical_or(xp.isnan(h), xp.isnan(a)), NAN, found)


def _integral(xp: Backend, h: Any, a: Any, reach: float) -> Any:
    """By Gauss' and Legendre's rule; h of 0 or more, and `a` up to `_WIDEST`, or far more than
    `reach` / h is."""
    h = xp.minimum(h, 60.0)
    high = xp.minimum(a, reach / xp.maximum(h, reach / _WIDEST))
    step = h * high
    total = xp.zeros_like(h)
    for point, weight in table.QUADRATURE_64 if is_double(xp, h) else table.QUADRATURE_32:
        t, x = point * step, point * high
        total = total + weight * xp.exp(-0.5 * t * t) / (1.0 + x * x)
    return exp_of_half_square(xp, h) * (high * total * (0.5 / math.pi))
