"""Functions whose kernels of MLX are exact to float32 alone, in float64.

They are written over those that are exact (pow, tan, expm1, log, arithmetic), with derivatives that
do not use the others either.
"""

import math
from typing import Any

import mlx.core as mx
import numpy as np
from scipy import special

from .gradients import of_one

_E = math.e
# log(e) - log(the float64 nearest to e): what pow(e, x) lacks, for each unit of x.
_LACKING = 5.318e-17


def exp(x: Any) -> Any:
    """pow(e, x), corrected for the rounding of e."""
    power = mx.power(mx.array(_E, dtype=mx.float64), x)
    near = mx.stop_gradient(mx.where(mx.abs(x) < 800, x, mx.zeros_like(x)))
    return power * (1 + _LACKING * near)


expm1 = of_one(lambda x: mx.expm1(x), lambda x, y, upstream: upstream * exp(x))
tan = of_one(lambda x: mx.tan(x), lambda x, y, upstream: upstream * (1 + tan(x) * tan(x)))


def _sin(x: Any) -> Any:
    """By the tangent of half the angle."""
    half = mx.tan(x / 2)
    huge = mx.abs(half) > 1e8  # its square may overflow
    safe = mx.where(huge, mx.ones_like(half), half)
    return mx.where(huge, 2 / half, 2 * safe / (1 + safe * safe))


def _cos(x: Any) -> Any:
    half = mx.tan(x / 2)
    huge = mx.abs(half) > 1e8
    safe = mx.where(huge, mx.ones_like(half), half)
    return mx.where(huge, -mx.ones_like(half), (1 - safe) * (1 + safe) / (1 + safe * safe))


sin = of_one(_sin, lambda x, y, upstream: upstream * cos(x))
cos = of_one(_cos, lambda x, y, upstream: -upstream * sin(x))


def _sigmoid(x: Any) -> Any:
    """By the exponential that does not overflow."""
    small = exp(-mx.abs(x))
    return mx.where(x >= 0, 1 / (1 + small), small / (1 + small))


sigmoid = of_one(_sigmoid, lambda x, y, upstream: upstream * sigmoid(x) * sigmoid(-x))


def logaddexp(a: Any, b: Any) -> Any:
    high = mx.maximum(a, b)
    shift = mx.stop_gradient(mx.where(mx.isfinite(high), high, mx.zeros_like(high)))
    return mx.log(exp(a - shift) + exp(b - shift)) + shift


# The error function -------------------------------------------------------------------------------

_FAR = 2.0  # x = _FAR (1 + t) / (1 - t) maps t in [-1, 1) to x from 0 on


def _series(fn: Any, terms: int) -> list[float]:
    """Chebyshev's coefficients of a function on [-1, 1]."""
    found = np.polynomial.chebyshev.chebinterpolate(fn, terms)
    return [float(c) for c in found]


def _erf_ratio(square: Any) -> Any:
    root = np.sqrt(np.maximum(square, 1e-300))
    return special.erf(root) / root


# erf(x) / x as a function of x ** 2 in [0, 1], and exp(x ** 2) erfc(x) for x from 0 on.
_NEAR_ZERO = _series(lambda t: _erf_ratio((t + 1) / 2), 20)
_SCALED = _series(lambda t: special.erfcx(_FAR * (1 + t) / np.maximum(1 - t, 1e-300)), 44)


def _summed(coefficients: list[float], t: Any) -> Any:
    """Clenshaw's sum of a Chebyshev series."""
    double, one, two = 2 * t, mx.zeros_like(t), mx.zeros_like(t)
    for c in coefficients[:0:-1]:
        one, two = double * one - two + c, one
    return t * one - two + coefficients[0]


def _erfc(x: Any) -> Any:
    size = mx.abs(x)
    capped = mx.minimum(size, 30.0)
    t = (capped - _FAR) / (capped + _FAR)
    far = _summed(_SCALED, t) * exp(-capped * capped)
    near = 1 - _erf_near(x)
    found = mx.where(x < 0, 2 - far, far)
    found = mx.where(size < 0.5, near, found)
    return mx.where(mx.isnan(x), x, found)


def _erf_near(x: Any) -> Any:
    inside = mx.clip(x, -1.0, 1.0)
    return inside * _summed(_NEAR_ZERO, 2 * inside * inside - 1)


def _erf(x: Any) -> Any:
    outside = mx.where(x < 0, _erfc(-x) - 1, 1 - _erfc(x))
    return mx.where(mx.abs(x) < 1, _erf_near(x), outside)


def _bell(x: Any) -> Any:
    return (2 / math.sqrt(math.pi)) * exp(-x * x)


erf = of_one(_erf, lambda x, y, upstream: upstream * _bell(x))
erfc = of_one(_erfc, lambda x, y, upstream: -upstream * _bell(x))


def in_float64(fn: Any) -> Any:
    """A function of narrower floats, computed in float64 and rounded once."""
    return lambda x: fn(x.astype(mx.float64)).astype(x.dtype)
