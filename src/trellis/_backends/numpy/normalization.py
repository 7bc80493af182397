"""Layer normalisation by its formula, with its own derivative along the last axes."""

import math
from typing import Any

import numpy as np

from ._fused import fused
from ._tape import stop


def layer_norm(x: Any, weight: Any, bias: Any, /, *, axes: tuple[int, ...], epsilon: float) -> Any:
    """Mean 0 and variance 1 along `axes`, then times weight plus bias, which have those axes."""
    return _layer_norm(x, weight, bias, axes, epsilon)[0]


def _formula(x: Any, weight: Any, bias: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any]:
    # Two passes: the mean of what the rounded mean leaves is subtracted too.
    away = x - np.mean(stop(x), axis=axes, keepdims=True)
    away = away - np.mean(away, axis=axes, keepdims=True)
    y = away / np.sqrt(np.mean(away * away, axis=axes, keepdims=True) + epsilon)
    shape = tuple([n if i in axes else 1 for i, n in enumerate(x.shape)])
    y = y if weight is None else y * np.reshape(weight, shape)
    return (y if bias is None else y + np.reshape(bias, shape),)


def _forward(
    x: Any, weight: Any, bias: Any, axes: tuple[int, ...], epsilon: float
) -> tuple[tuple[Any], Any]:
    size = math.prod(x.shape[axes[0] :])
    rows = x.reshape(x.size // size, size)
    # Sums along rows are products with ones: BLAS is faster at them than NumPy.
    share = np.full(size, 1 / size, x.dtype)
    unit = rows - (rows @ share)[:, None]
    unit -= (unit @ share)[:, None]
    y = unit * unit
    scale = (1 / np.sqrt(y @ share + epsilon))[:, None]
    unit *= scale
    if weight is None:
        y = unit if bias is None else np.add(unit, bias.reshape(-1), out=y)
    else:
        np.multiply(unit, weight.reshape(-1), out=y)
        if bias is not None:
            y += bias.reshape(-1)
    return (y.reshape(x.shape),), (unit, scale, weight, bias, x.shape)


def _backward(gs: list[Any], kept: Any, places: list[int]) -> list[Any]:
    (g,), (unit, scale, weight, bias, shape) = gs, kept
    g = g.reshape(unit.shape)
    size = unit.shape[1]
    product = g * unit
    found: list[Any] = []
    if 1 in places:
        found.append(np.add.reduce(product, axis=0).reshape(weight.shape))
    if 2 in places:
        found.append(np.add.reduce(g, axis=0).reshape(bias.shape))
    if 0 in places:
        share = np.full(size, 1 / size, unit.dtype)
        share = share if weight is None else weight.reshape(-1) * share
        level, slope = (g @ share)[:, None], (product @ share)[:, None]
        np.multiply(unit, slope, out=product)
        product += level
        into = g * (1 if weight is None else weight.reshape(-1))
        into -= product
        into *= scale
        found.insert(0, into.reshape(shape))
    return found


_fused = fused(_forward, _backward, _formula)


def _layer_norm(x: Any, weight: Any, bias: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    first = x.ndim - len(axes)
    if axes == tuple(range(first, x.ndim)) and 0 not in x.shape:
        return _fused(x, weight, bias, axes, epsilon)
    return _formula(x, weight, bias, axes, epsilon)
