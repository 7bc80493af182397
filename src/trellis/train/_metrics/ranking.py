"""Metrics of rankings: they need all scores of an epoch, which are kept on the host."""

from typing import Any, Literal

import numpy as np

from ..._core.dispatch import xp_of
from ..._core.errors import ArgumentError, ShapeError
from ..._core.kinds import check_arguments
from ..._core.typing import Nest
from .base import Metric

# Probabilities in float16 add up to 1 with an error below this; logits of a whole epoch do not.
_NEAR_ONE = 1e-2


class _Ranking(Metric):
    """Something of the scores of a class and of whether it was the target."""

    def __init__(
        self, *, average: Literal["macro", "weighted", "none"] = "macro", from_logits: bool = True
    ):
        check_arguments(type(self), locals())
        self.average, self.from_logits = average, from_logits

    def measure(self, output: Any, *targets: Any) -> Nest:
        target = targets[0]
        shape, rank = tuple(output.shape), len(target.shape)
        xp = xp_of(output)
        is_paired = shape == tuple(target.shape) and (rank == 1 or shape[-1] == 1)
        if len(shape) == rank + 1 and shape[-1] > 1:
            output = xp.reshape(output, (-1, shape[-1]))
        elif is_paired or (len(shape) == rank + 1):
            output = xp.reshape(output, (-1,))
        else:
            raise ShapeError(
                f"{type(self).__name__}() expects scores (examples,) or (examples, classes) for "
                f"targets (examples,), got shapes {shape} and {tuple(target.shape)}. One-hot "
                "targets become classes by argmax(targets, axis=-1)."
            )
        return [[output, xp_of(target).reshape(target, (-1,))]]

    def merge(self, first: Any, second: Any) -> Nest:
        return first + second

    def compute(self, statistics: Any) -> Nest:
        scores = np.concatenate([np.asarray(each[0], np.float64) for each in statistics])
        targets = np.concatenate([np.asarray(each[1]) for each in statistics])
        if scores.ndim == 2:
            scores = self._compared(scores)
        if scores.ndim == 1:
            return self._of_class(scores, targets.astype(np.int64) == 1)
        classes = range(scores.shape[-1])
        values = np.array([self._of_class(scores[:, i], targets == i) for i in classes])
        if self.average == "none":
            return values
        weights = None
        if self.average == "weighted":
            weights = [np.count_nonzero(targets == i) for i in classes]
        return float(np.average(values, weights=weights))

    def _compared(self, scores: np.ndarray) -> np.ndarray:
        """Scores that can be compared between examples. A number that is added to all logits of an
        example means nothing, so that logits themselves cannot be."""
        is_pair = scores.shape[-1] == 2
        if not self.from_logits:
            return scores[:, 1] if is_pair else scores
        if is_pair:
            return scores[:, 1] - scores[:, 0]
        sums = scores.sum(-1)
        if len(scores) > 1 and scores.min() >= 0 and np.abs(sums - 1).max() < _NEAR_ONE:
            raise ArgumentError(
                f"{type(self).__name__}() was given probabilities, which add up to 1 in every "
                f"example, and expects logits: write {type(self).__name__}(from_logits=False)."
            )
        top = scores.max(-1, keepdims=True)
        return scores - top - np.log(np.exp(scores - top).sum(-1, keepdims=True))

    def _of_class(self, scores: np.ndarray, is_right: np.ndarray) -> float:
        raise NotImplementedError


class AUC(_Ranking):
    """The area under the ROC curve: how often an example of the class has a higher score than one
    of another class, ties counting half. Of several classes each is compared with the rest.

    Targets are classes. Scores are (examples,) or (examples, 2) for two classes, (examples,
    classes) for several. The value is exact, so all scores are kept until the end of the epoch. A
    class without examples, or with nothing else, has no curve: the value is nan.

    Args:
        average: Of several classes: "macro" (their mean), "weighted" (by how often they are
            targets) or "none" (one per class, which `fit` and `evaluate` do not take).
        from_logits: Whether scores (examples, classes) are those before softmax, as models give
            them, and no probabilities. One score for each example is either: its order counts.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.AUC()
    >>> found = metric.update(None, np.array([0.1, 0.4]), np.array([0, 0]))
    >>> metric.compute(metric.update(found, np.array([0.35, 0.8]), np.array([1, 1])))
    0.75
    """

    def _of_class(self, scores: np.ndarray, is_right: np.ndarray) -> float:
        right = int(np.count_nonzero(is_right))
        wrong = len(is_right) - right
        if not right or not wrong or np.isnan(scores).any():
            return float("nan")
        _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
        return float((ranks[is_right].sum() - right * (right + 1) / 2) / (right * wrong))


class AveragePrecision(_Ranking):
    """The area under the curve of precision and recall as a sum of steps: the mean of the precision
    at every example of the class, from the highest score down. Of several classes each is compared
    with the rest.

    Targets, scores and their memory are as for `AUC`; the value of a class without examples is nan.

    Args:
        average: Of several classes: "macro", "weighted" or "none", as for `AUC`.
        from_logits: Whether scores (examples, classes) are those before softmax, as for `AUC`.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.AveragePrecision()
    >>> found = metric.update(None, np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
    >>> round(metric.compute(found), 4)
    0.8333
    """

    @property
    def name(self) -> str:
        return "average_precision"

    def _of_class(self, scores: np.ndarray, is_right: np.ndarray) -> float:
        if not is_right.any() or np.isnan(scores).any():
            return float("nan")
        order = np.argsort(-scores, kind="stable")
        ordered = scores[order]
        # Equal scores are one step.
        last = np.flatnonzero(np.append(np.diff(ordered), 1.0))
        hits = np.cumsum(is_right[order])[last]
        precision, recall = hits / (last + 1), hits / hits[-1]
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))
