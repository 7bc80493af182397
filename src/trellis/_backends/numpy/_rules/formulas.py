"""NumPy functions that are short formulas over others, for arrays that are being differentiated."""

from typing import Any

import numpy as np

from ...._core.shapes import normal_axes, normal_axis
from .._tape import array_from, composed, no_rule, refuse_out, stop


@composed(np.gradient)
def _gradient(x: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    raise no_rule("gradient")  # autograd's rule fails at three elements or fewer


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
        # Weights of one axis stand beside that axis of x.
        axes = normal_axes(axis, x.ndim)
        weights = np.reshape(weights, tuple([n if i in axes else 1 for i, n in enumerate(x.shape)]))
        weights = np.broadcast_to(weights, x.shape)
    total = np.sum(x * weights, axis=axis, keepdims=keepdims)
    return total / np.sum(weights, axis=axis, keepdims=keepdims)


@composed(np.nansum)
def _nansum(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    return np.sum(x, axis, dtype, out, keepdims, where=~np.isnan(x))


@composed(np.nanmean)
def _nanmean(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    return np.mean(x, axis, dtype, out, keepdims, where=~np.isnan(x))


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
    """The first condition that holds decides."""
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
