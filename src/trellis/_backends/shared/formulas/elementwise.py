"""Element-wise functions that are composed of a few others."""

import math

from ...._core.dtypes import INTEGER, fitted
from ...._core.errors import DtypeError
from ...._core.guards import unordered
from ...._core.typing import Scalar
from ...array_api import Native
from ..promotion import INEXACT, floating, is_complex, together, type_name
from . import xp


def clip(
    x: Native, /, min: Scalar | Native | None = None, max: Scalar | Native | None = None
) -> Native:
    """Bounds take the type of x, as the standard asks; integers are compared in a wider one."""
    name = type_name(xp, x)
    if name == "bool" or is_complex(xp, x):
        raise (
            DtypeError("clip() is for numbers, got an array of bool.")
            if name == "bool"
            else (unordered("clip"))
        )
    y = x
    for bound in (min, max):
        is_integer = hasattr(bound, "dtype") and type_name(xp, bound) in INTEGER
        if is_integer and name in INTEGER:
            y = together(xp, y, bound)[0]
    if min is not None:
        y = _bounded(y, min, True)
    if max is not None:
        y = _bounded(y, max, False)
    return xp.astype(y, name, copy=y is x)


def _bounded(x: Native, bound: Scalar | Native, is_low: bool) -> Native:
    if hasattr(bound, "dtype"):
        bound = xp.astype(bound, x.dtype, copy=False)
    else:
        bound = xp.asarray(fitted(bound, type_name(xp, x)), dtype=x.dtype, device=xp.device(x))
    is_beyond = xp.less(x, bound) if is_low else xp.greater(x, bound)
    if type_name(xp, x) in INEXACT:
        is_beyond = xp.logical_or(is_beyond, xp.isnan(bound))
    return xp.where(is_beyond, bound, x)


def isclose(
    x1: Native,
    x2: Native,
    /,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Native:
    x1, x2 = together(xp, x1, x2)
    is_same = xp.equal(x1, x2)
    if type_name(xp, x1) == "bool":
        return is_same
    a, b = floating(xp, x1), floating(xp, x2)
    is_finite = xp.isfinite(b)
    near = xp.where(is_finite, b, xp.zeros_like(b))  # infinities have no difference
    is_near = xp.less_equal(xp.abs(a - near), atol + rtol * xp.abs(near))
    found = xp.logical_or(is_same, xp.logical_and(is_near, is_finite))
    if equal_nan:
        found = xp.logical_or(found, xp.logical_and(xp.isnan(a), xp.isnan(b)))
    return found


def nan_to_num(
    x: Native,
    /,
    *,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Native:
    if type_name(xp, x) not in INEXACT:
        return x
    if is_complex(xp, x):
        parts = [
            nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf)
            for part in (xp.real(x), xp.imag(x))
        ]
        return xp.astype(parts[0], x.dtype) + xp.astype(parts[1], x.dtype) * 1j
    limits = xp.finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    x = xp.where(xp.isnan(x), xp.full_like(x, nan), x)
    x = xp.where(xp.equal(x, math.inf), xp.full_like(x, high), x)
    return xp.where(xp.equal(x, -math.inf), xp.full_like(x, low), x)


def positive(x: Native, /) -> Native:
    return xp.astype(x, x.dtype)


def reciprocal(x: Native, /) -> Native:
    return xp.divide(1.0, x)


def rsqrt(x: Native, /) -> Native:
    return xp.divide(1.0, xp.sqrt(x))


def square(x: Native, /) -> Native:
    return xp.multiply(x, x)


def logaddexp(x1: Native, x2: Native, /) -> Native:
    x1, x2 = together(xp, x1, x2)
    high, low = xp.maximum(x1, x2), xp.minimum(x1, x2)
    is_same, zero = xp.equal(high, low), xp.zeros_like(high)  # infinities have no difference
    away = xp.where(is_same, zero, low) - xp.where(is_same, zero, high)
    return high + xp.log1p(xp.exp(away))


def logical_xor(x1: Native, x2: Native, /) -> Native:
    return xp.not_equal(x1, x2)
