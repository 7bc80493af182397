"""Metrics that are exact over an epoch, whatever the batches are.

A metric is three pure functions. `measure` gives the statistics of one batch and is part of the
compiled step; `merge` joins the statistics of two batches, or of two processes; `compute` makes the
value of them. A mean of the values of batches would be another number: F1 is no mean over examples,
and a last batch may be smaller.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._array.creation import asarray
from ..._array.interchange import to_numpy
from ..._array.manipulation import concat
from ..._array.reduction import mean
from ..._core import tree
from ..._core.dispatch import backend_of
from ..._core.errors import ShapeError
from ..._core.kinds import check_arguments
from ..._core.typing import Nest


class Metric:
    """The base class of metrics that are exact over an epoch, over batches of any sizes and over
    processes.

    A subclass defines `measure` and `compute`, and `merge` where statistics are not sums. Instances
    are passed to `fit` and `evaluate`; in a loop of your own, `update` collects the statistics.

    >>> import numpy as np, trellis
    >>> class Largest(trellis.train.Metric):
    ...     def measure(self, output, target):
    ...         return {"error": trellis.max(trellis.abs(output - target))}
    ...     def merge(self, first, second):
    ...         return {"error": np.maximum(first["error"], second["error"])}
    ...     def compute(self, statistics):
    ...         return float(statistics["error"])
    >>> metric, found = Largest(), None
    >>> for x in (np.array([1.0, 5.0]), np.array([2.0])):
    ...     found = metric.update(found, x, np.ones_like(x))
    >>> metric.compute(found)
    4.0
    """

    # Whether statistics stay arrays of the model's framework; they are NumPy's otherwise.
    is_native = False

    def __init__(self) -> None:
        """A metric without options; subclasses name theirs."""

    @property
    def name(self) -> str:
        """What the metric is called in the history of a run."""
        return type(self).__name__.lower()

    def measure(self, output: Any, *targets: Any) -> Nest:
        """The statistics of one batch: a dict of arrays. `fit` compiles it with the step."""
        raise NotImplementedError(f"{type(self).__name__} does not define measure().")

    def merge(self, first: Any, second: Any) -> Nest:
        """The statistics of two batches together; their sums, unless a subclass says otherwise."""
        return tree.map(lambda x, y: wide(x) + wide(y), first, second)

    def compute(self, statistics: Any) -> Nest:
        """The value for all batches whose statistics were merged."""
        raise NotImplementedError(f"{type(self).__name__} does not define compute().")

    def update(self, statistics: Nest, output: Nest, *targets: Nest) -> Nest:
        """The statistics with those of one more batch; None stands for none so far."""
        new = self.keep(self.measure(output, *targets))
        return new if statistics is None else self.merge(statistics, new)

    def keep(self, statistics: Nest) -> Nest:
        """What is kept of the statistics of a batch: NumPy arrays, in whose 64 bits sums over an
        epoch stay exact."""
        return statistics if self.is_native else tree.map(as_host, statistics)


class Mean(Metric):
    """The mean of a function over all examples.

    `fn(output, target)` returns one value for each example, or their mean over the batch, which
    then counts as often as the batch has examples.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.Mean(trellis.functional.mae_loss)
    >>> found = metric.update(None, np.ones(3), np.zeros(3))
    >>> metric.compute(metric.update(found, np.ones(1), np.full(1, 5.0)))
    1.75
    """

    def __init__(self, fn: Callable[..., Any]):
        check_arguments(Mean, locals())
        self.fn = fn

    @property
    def name(self) -> str:
        return getattr(self.fn, "__name__", "mean")

    def measure(self, output: Any, *targets: Any) -> Nest:
        value = self.fn(output, *targets)
        shape = tuple(getattr(value, "shape", ()))
        count = math.prod(shape) if shape else rows_of((*targets, output))
        like = tree.leaves(output)[0]
        if not hasattr(value, "dtype"):
            value = asarray(value, backend=backend_of(like))
        return {
            "mean": mean(value) if shape else value,
            "count": asarray(count, dtype="int32", backend=backend_of(like)),
        }

    def merge(self, first: Any, second: Any) -> Nest:
        return merged_means(first, second)

    def compute(self, statistics: Any) -> float:
        return float(statistics["mean"])


class WholeEpoch(Metric):
    """A function of the outputs and targets of the whole epoch, which are all kept until its end.

    This is exact for any function, and needs the memory for all outputs; beyond `limit` bytes it
    raises. For a mean over examples, `Mean(fn)` keeps two numbers.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.WholeEpoch(lambda output, target: np.median(abs(output - target)))
    >>> found = metric.update(None, np.array([1.0, 2.0, 9.0]), np.zeros(3))
    >>> float(metric.compute(metric.update(found, np.array([3.0, 4.0]), np.zeros(2))))
    3.0
    """

    is_native = True

    def __init__(self, fn: Callable[..., Any], *, limit: int | None = None):
        check_arguments(WholeEpoch, locals())
        self.fn, self.limit = fn, limit

    @property
    def name(self) -> str:
        return getattr(self.fn, "__name__", "metric")

    def measure(self, output: Any, *targets: Any) -> Nest:
        return [[output, *targets]]

    def merge(self, first: Any, second: Any) -> Nest:
        return first + second

    def compute(self, statistics: Any) -> Nest:
        if len(statistics) == 1:
            return self.fn(*statistics[0])
        return self.fn(*tree.map(lambda *parts: concat(list(parts), axis=0), *statistics))


# Helpers ------------------------------------------------------------------------------------------


def as_host(x: Any) -> Any:
    """An array or a number as a NumPy array."""
    return np.asarray(to_numpy(x)) if hasattr(x, "dtype") else np.asarray(x)


def wide(x: Any) -> Any:
    """NumPy's widest type of a kind, in which sums over an epoch are exact."""
    if x.dtype.kind in "biu":
        return x.astype(np.int64)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def merged_means(first: Any, second: Any) -> dict[str, Any]:
    """The mean and the count of two groups together."""
    one, other = wide(first["count"]), wide(second["count"])
    total = one * wide(first["mean"]) + other * wide(second["mean"])
    return {"mean": total / max(one + other, 1), "count": one + other}


def rows_of(nest: Nest) -> int:
    """The number of examples of a batch."""
    for x in tree.leaves(nest):
        if len(getattr(x, "shape", ())):
            return int(x.shape[0])
    raise ShapeError("A metric needs outputs or targets with a first axis of examples.")
