"""Statistics along axes."""

import math

from ...._core.shapes import check_order, normal_axes, normal_axis
from ...array_api import Axes, Native
from ..promotion import floating, is_complex, type_name
from . import xp


def all(x: Native, /, *, axis: Axes = None, keepdims: bool = False) -> Native:
    is_false = xp.equal(x, 0) if type_name(xp, x) != "bool" else xp.logical_not(x)
    return xp.logical_not(xp.any(is_false, axis=axis, keepdims=keepdims))


def mean(x: Native, /, *, axis: Axes = None, keepdims: bool = False) -> Native:
    x = floating(xp, x)
    total = xp.sum(x, axis=axis, keepdims=keepdims)
    return xp.divide(total, xp.full_like(total, _count(x, axis)))


def _count(x: Native, axis: Axes) -> int:
    return math.prod([x.shape[a] for a in normal_axes(axis, len(x.shape))])


def var(
    x: Native, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Native:
    x = floating(xp, x)
    away = x - xp.mean(x, axis=axis, keepdims=True)
    if is_complex(xp, x):
        away = xp.abs(away)
    total = xp.sum(xp.multiply(away, away), axis=axis, keepdims=keepdims)
    divisor = _count(x, axis) - correction
    return total / (divisor if divisor > 0 else math.nan)


def std(
    x: Native, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Native:
    variance = xp.var(x, axis=axis, correction=correction, keepdims=keepdims)
    # The root has no derivative at 0: there the gradient is 0.
    is_zero = xp.equal(variance, 0)
    root = xp.sqrt(xp.where(is_zero, xp.ones_like(variance), variance))
    return xp.where(is_zero, xp.zeros_like(root), root)


def logsumexp(x: Native, /, *, axis: Axes = None, keepdims: bool = False) -> Native:
    x = floating(xp, x)
    if 0 in x.shape:
        return xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=keepdims))
    size = xp.stop_gradient(xp.real(x) if is_complex(xp, x) else x)
    peak = xp.max(size, axis=axis, keepdims=True)
    peak = xp.where(xp.isfinite(peak), peak, xp.zeros_like(peak))
    total = xp.log(xp.sum(xp.exp(xp.subtract(x, peak)), axis=axis, keepdims=keepdims))
    return xp.add(total, peak if keepdims else xp.reshape(peak, total.shape))


def diff(
    x: Native,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Native | None = None,
    append: Native | None = None,
) -> Native:
    axis = normal_axis(axis, len(x.shape))
    check_order(n)
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = xp.concat(parts, axis=axis)
    before = (slice(None),) * axis
    for _ in range(n):
        high, low = x[(*before, slice(1, None), ...)], x[(*before, slice(None, -1), ...)]
        is_bool = type_name(xp, x) == "bool"
        x = xp.not_equal(high, low) if is_bool else xp.subtract(high, low)
    return x
