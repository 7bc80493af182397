"""Metrics of training: functions of (prediction, target) that give one number for a batch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core.errors import ArgumentError, ArgumentTypeError
from ..functional import accuracy, mae_loss, mse_loss

Metric = Callable[..., Any]

_NAMED: dict[str, Metric] = {
    "accuracy": accuracy,
    "mean_absolute_error": mae_loss,
    "mean_squared_error": mse_loss,
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
        named = {}
        for item in items:
            name = item if isinstance(item, str) else getattr(item, "__name__", "metric")
            if name in named:
                raise ArgumentError(
                    f"Two metrics are called {name!r}, and only one could be recorded. Name them: "
                    'metrics={"first": fn, "second": other}.'
                )
            named[name] = _function(item)
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
