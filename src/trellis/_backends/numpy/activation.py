"""Activations with their own derivatives: fewer passes over memory than those of the tape."""

from typing import Any

import numpy as np

from ..._core.guards import unordered
from . import _scipy
from ._class_losses import class_losses as class_losses
from ._gates import fused_gelu as _gelu
from ._gates import fused_silu as _silu
from ._gates import fused_tanh_gelu as _tanh_gelu
from ._tape import differentiable


def _relu(x: Any, /) -> Any:
    if x.dtype.kind in "bc":
        if x.dtype.kind == "c":
            raise unordered("relu")
        return np.array(x)  # NumPy returns integers
    return np.maximum(x, 0)


def _sigmoid(x: Any, /) -> Any:
    return _scipy.special.expit(x)


def _softplus(x: Any, /) -> Any:
    y = np.abs(x)
    y = np.log1p(np.exp(-y))
    return y + np.maximum(x, 0)


def _leaky_relu(x: Any, slope: float) -> Any:
    return np.where(x > 0, x, slope * x)


def _elu(x: Any, alpha: float, scale: float) -> Any:
    return np.where(x > 0, scale * x, (scale * alpha) * np.expm1(np.minimum(x, 0)))


def _hard_tanh(x: Any, low: float, high: float) -> Any:
    return np.clip(x, low, high)


def _peak(x: Any, axis: Any) -> Any:
    """The largest element; -inf for an empty axis."""
    return np.max(x, axis=axis, keepdims=True, initial=-np.inf)


def _softmax(x: Any, axis: Any) -> Any:
    with np.errstate(
        invalid="ignore"
    ):  # a row of nothing but -inf is nan, as in the other frameworks
        parts = np.exp(x - _peak(x, axis))
        return parts / np.sum(parts, axis=axis, keepdims=True)


def _log_softmax(x: Any, axis: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):  # the sum of no elements is 0
        away = x - _peak(x, axis)
        return away - np.log(np.sum(np.exp(away), axis=axis, keepdims=True))


_relu = differentiable(_relu, lambda ans, x: lambda g: g * (ans > 0))
sigmoid = differentiable(_sigmoid, lambda ans, x: lambda g: g * (ans * (1 - ans)))
softplus = differentiable(_softplus, lambda ans, x: lambda g: g * sigmoid(x))
_leaky_relu = differentiable(
    _leaky_relu, lambda ans, x, slope: lambda g: np.where(x > 0, g, slope * g)
)
_elu = differentiable(
    _elu,
    lambda ans, x, a, s: lambda g: np.where(x > 0, s * g, g * ((s * a) * np.exp(np.minimum(x, 0)))),
)
_hard_tanh = differentiable(
    _hard_tanh, lambda ans, x, low, high: lambda g: g * ((x > low) & (x < high))
)
_softmax = differentiable(
    _softmax, lambda ans, x, axis: lambda g: ans * (g - np.sum(g * ans, axis=axis, keepdims=True))
)
_log_softmax = differentiable(
    _log_softmax,
    lambda ans, x, axis: lambda g: g - np.exp(ans) * np.sum(g, axis=axis, keepdims=True),
)
relu = _relu


def silu(x: Any, /) -> Any:
    return _silu(x)[0]


def gelu(x: Any, /, *, approximate: bool = False) -> Any:
    return (_tanh_gelu if approximate else _gelu)(x)[0]


def elu(x: Any, /, *, alpha: float, scale: float) -> Any:
    return _elu(x, alpha, scale)


def leaky_relu(x: Any, /, *, negative_slope: float) -> Any:
    return _leaky_relu(x, negative_slope)


def hard_tanh(x: Any, /, *, low: float, high: float) -> Any:
    return _hard_tanh(x, low, high)


def softmax(x: Any, /, *, axis: Any) -> Any:
    return _softmax(x, axis)


def log_softmax(x: Any, /, *, axis: Any) -> Any:
    return _log_softmax(x, axis)
