"""The metrics of a call: from names, functions and objects to the values of an epoch."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import functional
from .._array.casting import dtype as dtype_of
from .._array.interchange import to_backend
from .._core import tree
from .._core.errors import ArgumentError, ArgumentTypeError
from ._metrics import Accuracy, Mean, Metric, WholeEpoch, as_host
from ._names import as_metric

# A function that nobody calls a mean keeps no more than this, in bytes.
_LIMIT = 2**30


def as_metrics(metrics: Any) -> dict[str, Metric]:
    """Names, functions and Metrics, or a dict of them, as a dict of Metrics."""
    if metrics is None:
        return {}
    if isinstance(metrics, Mapping):
        named = {str(name): _as_metric(metric) for name, metric in metrics.items()}
    else:
        items = (
            metrics if isinstance(metrics, Sequence) and not isinstance(metrics, str) else [metrics]
        )
        named = {}
        for item in items:
            metric = _as_metric(item)
            name = item if isinstance(item, str) else metric.name
            if name in named:
                raise ArgumentError(
                    f"Two metrics are called {name!r}, and only one could be recorded. Name them: "
                    'metrics={"first": fn, "second": other}.'
                )
            named[name] = metric
    if "loss" in named:
        raise ArgumentError(
            'A metric cannot be called "loss": the loss is recorded under that name.'
        )
    return named


def _as_metric(given: Any) -> Metric:
    if isinstance(given, Metric):
        return given
    if isinstance(given, str):
        return as_metric(given)
    if isinstance(given, type) and issubclass(given, Metric):
        raise ArgumentTypeError(
            f"A metric is the class {given.__name__}: pass an instance, {given.__name__}()."
        )
    if not callable(given):
        raise ArgumentTypeError(
            "A metric is a name, a function of (prediction, target) or a trellis.train.Metric, "
            f"got {given!r}."
        )
    if given is functional.accuracy:
        return Accuracy()
    return Mean(given) if _is_mean(given) else WholeEpoch(given, limit=_LIMIT)


def _is_mean(fn: Callable[..., Any]) -> bool:
    """Whether it is a loss of this library, which is a mean over examples by default."""
    if getattr(functional, getattr(fn, "__name__", ""), None) is not fn:
        return False
    reduction = inspect.signature(fn).parameters.get("reduction")
    return reduction is not None and reduction.default == "mean"


class Statistics:
    """The statistics of the batches of an epoch so far: of the loss and of the metrics."""

    def __init__(self, metrics: dict[str, Metric]):
        self._metrics: dict[str, Metric] = {"loss": Mean(_of_step), **metrics}
        self._found: dict[str, Any] = {}
        self._bytes = dict.fromkeys(metrics, 0)

    def add(self, values: dict[str, Any], examples: int, *, only_loss: bool = False) -> None:
        """Those of one more batch, as the step returned them; its loss counts `examples` times."""
        for name, metric in self._metrics.items():
            if name == "loss":
                self._merge(name, {"mean": as_host(values[name]), "count": np.asarray(examples)})
            elif not only_loss:
                new = metric.keep(values[name])
                if isinstance(metric, WholeEpoch) and metric.limit is not None:
                    self._check_size(name, new, metric.limit)
                self._merge(name, new)

    def _merge(self, name: str, new: Any) -> None:
        is_first = name not in self._found
        self._found[name] = new if is_first else self._metrics[name].merge(self._found[name], new)

    def _check_size(self, name: str, new: Any, limit: int) -> None:
        for x in tree.leaves(new):
            if hasattr(x, "dtype"):
                self._bytes[name] += math.prod(tuple(x.shape)) * _bytes_of(x)
        if self._bytes[name] > limit:
            raise ArgumentError(
                f"The metric {name!r} is a function of the outputs of a whole epoch, and those are "
                f"more than {limit:,} bytes. If it is a mean over examples, write "
                "trellis.train.Mean(fn), which keeps two numbers. If not, define a "
                "trellis.train.Metric with smaller statistics, or write trellis.train."
                "WholeEpoch(fn) to keep all outputs."
            )

    def glance(self) -> dict[str, float]:
        """The values so far of the metrics whose statistics are a few numbers."""
        small = [name for name, found in self._found.items() if isinstance(found, dict)]
        return {name: self._value(name) for name in small}

    def compute(self) -> dict[str, float]:
        """The loss and the values of all metrics; each is one number."""
        return {name: self._value(name) for name in self._metrics}

    def _value(self, name: str) -> float:
        value = as_host(self._metrics[name].compute(self._found[name]))
        if value.size != 1:
            raise ArgumentError(
                f"The metric {name!r} returned an array of shape {value.shape}; fit() and "
                "evaluate() record one number. For the mean of one value per example write "
                "trellis.train.Mean(fn)."
            )
        return float(value.reshape(()))

    # Between processes and runs

    def packed(self) -> list[Any]:
        """The statistics as NumPy arrays, in the order of the metrics; None where no batch was."""
        return [
            tree.map(as_host, self._found[name]) if name in self._found else None
            for name in self._metrics
        ]

    def merge_packed(self, packed: Sequence[Any], backend: str) -> None:
        """Add what `packed` gave in another process, or in an earlier run."""
        for name, new in zip(self._metrics, packed, strict=True):
            if new is not None:
                if self._metrics[name].is_native:
                    new = tree.map(lambda x: to_backend(np.asarray(x), backend), new)
                self._merge(name, new)


def _of_step(output: Any, *targets: Any) -> Any:
    """The step computes the loss itself."""
    raise NotImplementedError


def _bytes_of(x: Any) -> int:
    digits = "".join([c for c in str(dtype_of(x)) if c.isdigit()])
    return int(digits) // 8 if digits else 1
