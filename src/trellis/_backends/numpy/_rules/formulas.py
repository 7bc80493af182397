"""NumPy functions that are short formulas over others, for arrays that are being differentiated."""

import math
from typing import Any

import numpy as np

from ...._core.shapes import normal_axes, normal_axis
from .._tape import array_from, composed, refuse_out, stop


@composed(np.append)
def _append(x: Any, values: Any, axis: int | None = None) -> Any:
    return np.concatenate((array_from(x, None), array_from(values, None)), axis=axis)


@composed(np.column_stack)
def _column_stack(tup: Any) -> Any:
    columns = [array_from(x, None) for x in tup]
    return np.concatenate([np.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in columns], axis=1)


@composed(np.vdot)
def _vdot(x: Any, y: Any) -> Any:
    return np.sum(np.conjugate(np.ravel(x)) * np.ravel(y))


@composed(np.average)
def _average(x: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    x = array_from(x, None)
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    weights = array_from(weights, None)
    if weights.shape != x.shape:
        # Weights with one axis belong to that axis of x.
        axes = normal_axes(axis, x.ndim)
        weights = np.reshape(weights, tuple([n if i in axes else 1 for i, n in enumerate(x.shape)]))
        weights = np.broadcast_to(weights, x.shape)
    total = np.sum(x * weights, axis=axis, keepdims=keepdims)
    return total / np.sum(weights, axis=axis, keepdims=keepdims)


def _enter_without_nan(function: Any, whole: Any) -> None:
    @composed(function)
    def rule(
        x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        return whole(x, axis, dtype, out, keepdims, where=~np.isnan(x))


_enter_without_nan(np.nansum, np.sum)
_enter_without_nan(np.nanmean, np.mean)


@composed(np.median)
def _median(
    x: Any,
    axis: int | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle of the sorted elements, or the mean of the two there; nan where one is nan."""
    refuse_out("median", out)
    flat, place = (np.ravel(x), 0) if axis is None else (x, normal_axis(axis, x.ndim))
    n = flat.shape[place]
    ordered = np.sort(flat, axis=place)
    middle = np.take(ordered, np.arange((n - 1) // 2, n // 2 + 1), axis=place)
    middle = np.mean(middle, axis=place)
    broken = np.any(np.isnan(stop(flat)), axis=place)
    middle = np.where(broken, np.asarray(np.nan, middle.dtype), middle)
    if not keepdims:
        return middle
    return np.reshape(middle, (1,) * x.ndim) if axis is None else np.expand_dims(middle, place)


@composed(np.select)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first true condition decides."""
    choices = [array_from(x, None) for x in choicelist]
    result = default
    for condition, choice in zip(condlist[::-1], choices[::-1], strict=True):
        result = np.where(condition, choice, result)
    return result


@composed(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    values = np.moveaxis(array_from(y, None), axis, -1)
    if x is None:
        steps = dx
    else:
        places = array_from(x, None)
        steps = np.diff(places) if places.ndim == 1 else np.diff(np.moveaxis(places, axis, -1))
    return np.sum((values[..., 1:] + values[..., :-1]) * 0.5 * steps, axis=-1)


@composed(np.kron)
def _kron(x: Any, y: Any) -> Any:
    x, y = array_from(x, None), array_from(y, None)
    ndim = max(x.ndim, y.ndim)
    rows = (1,) * (ndim - x.ndim) + x.shape
    columns = (1,) * (ndim - y.ndim) + y.shape
    left = np.reshape(x, tuple([n for size in rows for n in (size, 1)]))
    right = np.reshape(y, tuple([n for size in columns for n in (1, size)]))
    return np.reshape(left * right, tuple([n * m for n, m in zip(rows, columns, strict=True)]))


@composed(np.linspace)
def _linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    way = stop - start
    shares = np.linspace(0.0, 1.0, num, endpoint).astype(way.dtype)
    places = start + np.reshape(shares, (-1,) + (1,) * way.ndim) * way
    places = np.moveaxis(places if dtype is None else places.astype(dtype), 0, axis)
    return (places, way / max(num - endpoint, 1)) if retstep else places


@composed(np.sinc)
def _sinc(x: Any) -> Any:
    """At 0 the first terms of the series, which has the right derivatives there."""
    is_zero = stop(x) == 0
    angle = math.pi * x
    safe = np.where(is_zero, np.ones((), angle.dtype), angle)
    return np.where(is_zero, 1 - angle * angle / 6, np.sin(safe) / safe)


@composed(np.angle)
def _angle(z: Any, deg: bool = False) -> Any:
    angle = np.arctan2(np.imag(z), np.real(z))
    return angle * (180 / math.pi) if deg else angle


@composed(np.real_if_close)
def _real_if_close(x: Any, tol: float = 100) -> Any:
    return x if np.iscomplexobj(np.real_if_close(stop(x), tol)) else np.real(x)
