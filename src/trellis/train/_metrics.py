"""Metrics: functions of (prediction, target) that give one number for a batch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._array.casting import astype
from .._array.reduction import mean
from .._array.searching import argmax
from .._core.dispatch import xp_of
from .._core.errors import ArgumentError, ArgumentTypeError

Metric = Callable[..., Any]


def accuracy(prediction: Any, target: Any, /) -> Any:
    """How often the largest score along the last axis is the target's class, given by number or one-hot.

    >>> import numpy as np
    >>> float(accuracy(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1])))
    0.5
    """
    xp = xp_of(prediction)
    chosen = argmax(prediction, axis=-1)
    right = argmax(target, axis=-1) if len(target.shape) == len(prediction.shape) else target
    is_right = xp.equal(chosen, astype(right, chosen.dtype))
    return mean(astype(is_right, xp.float32))


def mean_absolute_error(prediction: Any, target: Any, /) -> Any:
    """The mean of |prediction - target|.

    >>> import numpy as np
    >>> float(mean_absolute_error(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """
    xp = xp_of(prediction)
    return mean(xp.abs(prediction - target))


def mean_squared_error(prediction: Any, target: Any, /) -> Any:
    """The mean of (prediction - target)**2.

    >>> import numpy as np
    >>> float(mean_squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    2.0
    """
    return mean(xp_of(prediction).square(prediction - target))


_NAMED: dict[str, Metric] = {
    "accuracy": accuracy,
    "mean_absolute_error": mean_absolute_error,
    "mean_squared_error": mean_squared_error,
}


def as_metrics(metrics: Any) -> dict[str, Metric]:
    """Names, functions or a dict of functions as a dict."""
    if metrics is None:
        return {}
    if isinstance(metrics, Mapping):
        named = {str(name): _function(metric) for name, metric in metrics.items()}
    else:
        items = (
            metrics if isinstance(metrics, Sequence) and not isinstance(metrics, str) else [metrics]
        )
        named = {
            item if isinstance(item, str) else getattr(item, "__name__", "metric"): _function(item)
            for item in items
        }
    if "loss" in named:
        raise ArgumentError(
            'A metric cannot be called "loss": the loss is recorded under that name.'
        )
    return named


def _function(metric: Any) -> Metric:
    if isinstance(metric, str):
        if metric not in _NAMED:
            raise ArgumentError(
                f"Unknown metric {metric!r}; known are {', '.join(_NAMED)}, or give a function."
            )
        return _NAMED[metric]
    if not callable(metric):
        raise ArgumentTypeError(
            f"A metric is a name or a function of (prediction, target), got {metric!r}."
        )
    return metric  # type: ignore[no-any-return]
