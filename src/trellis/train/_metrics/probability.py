"""Metrics of predicted probabilities."""

import math
from typing import Any

from ..._core.dispatch import xp_of, xp_of_pair
from ..._core.kinds import check_arguments
from ..._core.typing import Nest
from ...functional import binary_cross_entropy, nll_loss
from .base import Metric, merged_means


class LogLoss(Metric):
    """The mean of `-log(p)` over all examples, p being the probability of the target.

    Scores are (..., classes) for targets that are classes, or have the shape of targets that are 0
    or 1.

    Args:
        from_logits: Whether the outputs are scores before softmax (or sigmoid), as models give
            them, and no probabilities.
        ignore_index: A target that does not count.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.LogLoss(from_logits=False)
    >>> found = metric.update(None, np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 0]))
    >>> round(metric.compute(found), 4)
    1.0397
    """

    def __init__(self, *, from_logits: bool = True, ignore_index: int | None = None):
        check_arguments(type(self), locals())
        self.from_logits, self.ignore_index = from_logits, ignore_index

    @property
    def name(self) -> str:
        return "log_loss"

    def measure(self, output: Any, *targets: Any) -> Nest:
        target = targets[0]
        xp = xp_of_pair(output, target)
        if len(output.shape) == len(target.shape):
            kind = output.dtype
            values = binary_cross_entropy(
                output, xp.astype(target, kind), from_logits=self.from_logits, reduction="none"
            )
        else:
            values = nll_loss(self._logs(output), self._inside(target), reduction="none")
        counted = xp.ones_like(values)
        if self.ignore_index is not None:
            is_counted = target != self.ignore_index
            counted = xp.astype(is_counted, values.dtype)
            values = xp.where(is_counted, values, xp.zeros_like(values))
        count = xp.sum(counted)
        return {"mean": xp.sum(values) / xp.maximum(count, 1), "count": xp.astype(count, xp.int32)}

    def _logs(self, output: Any) -> Any:
        xp = xp_of(output)
        if self.from_logits:
            return output - xp.logsumexp(output, axis=-1, keepdims=True)
        return xp.log(xp.maximum(output, xp.finfo(output.dtype).eps))

    def _inside(self, target: Any) -> Any:
        """Ignored targets may be no class at all."""
        if self.ignore_index is None:
            return target
        xp = xp_of(target)
        return xp.where(target == self.ignore_index, xp.zeros_like(target), target)

    def merge(self, first: Any, second: Any) -> Nest:
        return merged_means(first, second)

    def compute(self, statistics: Any) -> float:
        return float(statistics["mean"])


class Perplexity(LogLoss):
    """exp of the mean of `-log(p)` over all tokens, p being the probability of the right one.

    Args:
        from_logits: Whether the outputs are scores before softmax, as language models give them,
            and no probabilities.
        ignore_index: A target that does not count, such as that of padding.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.Perplexity()
    >>> round(metric.compute(metric.update(None, np.zeros((2, 7, 50)), np.ones((2, 7), int))), 4)
    50.0
    """

    @property
    def name(self) -> str:
        return "perplexity"

    def compute(self, statistics: Any) -> float:
        mean = float(statistics["mean"])
        return math.exp(mean) if mean < 700 else math.inf
