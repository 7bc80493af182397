"""Metrics of regressions.

Sums of squares around a mean are joined by the formula of Chan, Golub and LeVeque, in float64: a
difference of two large sums would lose what is wanted.
"""

import math
from typing import Any

import numpy as np

from ..._array.creation import asarray
from ..._core.dispatch import backend_of, xp_of_pair
from ..._core.errors import ShapeError
from ..._core.kinds import check_arguments
from ..._core.typing import Nest
from .base import Metric, merged_means, wide


class MeanAbsoluteError(Metric):
    """The mean of `|output - target|` over all elements.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.MeanAbsoluteError()
    >>> found = metric.update(None, np.ones(3), np.zeros(3))
    >>> metric.compute(metric.update(found, np.ones(1), np.full(1, 5.0)))
    1.75
    """

    @property
    def name(self) -> str:
        return "mean_absolute_error"

    def measure(self, output: Any, *targets: Any) -> Nest:
        xp, x, y, _ = _pair(self, output, targets)
        errors = xp.abs(x - y)
        return {"mean": xp.mean(errors), "count": _count(errors, 2)}

    def merge(self, first: Any, second: Any) -> Nest:
        return merged_means(first, second)

    def compute(self, statistics: Any) -> float:
        return float(statistics["mean"])


class MeanSquaredError(MeanAbsoluteError):
    """The mean of `(output - target)**2` over all elements, or its root.

    Args:
        root: Whether the value is the square root of the mean over the whole epoch.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.MeanSquaredError(root=True)
    >>> metric.compute(metric.update(None, np.array([3.0, 1.0]), np.array([0.0, 0.0])))**2
    5.000000000000001
    """

    def __init__(self, *, root: bool = False):
        check_arguments(MeanSquaredError, locals())
        self.root = root

    @property
    def name(self) -> str:
        return "root_mean_squared_error" if self.root else "mean_squared_error"

    def measure(self, output: Any, *targets: Any) -> Nest:
        xp, x, y, _ = _pair(self, output, targets)
        errors = (x - y) ** 2
        return {"mean": xp.mean(errors), "count": _count(errors, 2)}

    def compute(self, statistics: Any) -> float:
        mean = float(statistics["mean"])
        return mean**0.5 if self.root else mean


class R2Score(Metric):
    """1 - sum of squared errors / sum of squared deviations of the targets from their mean; of
    several outputs the mean over them. Constant targets give nan.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.R2Score()
    >>> found = metric.update(None, np.array([2.5, 0.0]), np.array([3.0, -0.5]))
    >>> round(metric.compute(metric.update(found, np.array([2.0, 8.0]), np.array([2.0, 7.0]))), 4)
    0.9486
    """

    @property
    def name(self) -> str:
        return "r2"

    def measure(self, output: Any, *targets: Any) -> Nest:
        xp, x, y, rows = _pair(self, output, targets)
        center = xp.mean(y, axis=0)
        return {
            "count": rows,
            "errors": xp.sum((x - y) ** 2, axis=0),
            "mean": center,
            "squares": xp.sum((y - center) ** 2, axis=0),
        }

    def merge(self, first: Any, second: Any) -> Nest:
        one, other, total = _counts(first, second)
        moved = wide(second["mean"]) - wide(first["mean"])
        return {
            "count": total,
            "errors": wide(first["errors"]) + wide(second["errors"]),
            "mean": wide(first["mean"]) + moved * (other / total),
            "squares": _joined(first, second, "squares", moved * moved, one * other / total),
        }

    def compute(self, statistics: Any) -> float:
        squares = np.asarray(statistics["squares"], np.float64)
        errors = np.asarray(statistics["errors"], np.float64)
        return float(np.mean(1 - errors / np.where(squares == 0, np.nan, squares)))


class PearsonCorrelation(Metric):
    """The correlation of outputs and targets over all examples; of several outputs the mean over
    them. nan where one of both is constant.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.PearsonCorrelation()
    >>> found = metric.update(None, np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    >>> round(metric.compute(metric.update(found, np.array([4.0]), np.array([8.0]))), 6)
    1.0
    """

    @property
    def name(self) -> str:
        return "pearson"

    def measure(self, output: Any, *targets: Any) -> Nest:
        xp, x, y, rows = _pair(self, output, targets)
        x_mean, y_mean = xp.mean(x, axis=0), xp.mean(y, axis=0)
        dx, dy = x - x_mean, y - y_mean
        return {
            "count": rows,
            "products": xp.sum(dx * dy, axis=0),
            "x_mean": x_mean,
            "x_squares": xp.sum(dx * dx, axis=0),
            "y_mean": y_mean,
            "y_squares": xp.sum(dy * dy, axis=0),
        }

    def merge(self, first: Any, second: Any) -> Nest:
        one, other, total = _counts(first, second)
        dx = wide(second["x_mean"]) - wide(first["x_mean"])
        dy = wide(second["y_mean"]) - wide(first["y_mean"])
        weight = one * other / total
        return {
            "count": total,
            "products": _joined(first, second, "products", dx * dy, weight),
            "x_mean": wide(first["x_mean"]) + dx * (other / total),
            "x_squares": _joined(first, second, "x_squares", dx * dx, weight),
            "y_mean": wide(first["y_mean"]) + dy * (other / total),
            "y_squares": _joined(first, second, "y_squares", dy * dy, weight),
        }

    def compute(self, statistics: Any) -> float:
        found = {name: np.asarray(x, np.float64) for name, x in statistics.items()}
        scale = np.sqrt(found["x_squares"] * found["y_squares"])
        return float(np.mean(found["products"] / np.where(scale == 0, np.nan, scale)))


def _joined(first: Any, second: Any, name: str, moved: Any, weight: Any) -> Any:
    return wide(first[name]) + wide(second[name]) + moved * weight


def _counts(first: Any, second: Any) -> tuple[Any, Any, Any]:
    one, other = wide(first["count"]), wide(second["count"])
    return one, other, one + other


def _pair(metric: Metric, output: Any, targets: tuple[Any, ...]) -> tuple[Any, Any, Any, Any]:
    """Outputs and targets as (examples, outputs), in one float type, and how many examples."""
    target = targets[0]
    if tuple(output.shape) != tuple(target.shape):
        raise ShapeError(
            f"{type(metric).__name__}() expects outputs of the shape of the targets, got "
            f"{tuple(output.shape)} and {tuple(target.shape)}: broadcasting one against the other "
            "would compare every example with every other one."
        )
    xp = xp_of_pair(output, target)
    y = xp.astype(target, output.dtype, copy=False)
    rows = int(output.shape[0]) if len(output.shape) else 1
    x, y = xp.reshape(output, (rows, -1)), xp.reshape(y, (rows, -1))
    return xp, x, y, _count(x, 1)


def _count(x: Any, axes: int) -> Any:
    return asarray(math.prod(tuple(x.shape)[:axes]), dtype="int32", backend=backend_of(x))
