"""Metrics of rankings: they need all scores of an epoch, which are kept on the host."""

from typing import Any, Literal

import numpy as np

from ..._core.dispatch import xp_of
from ..._core.errors import ShapeError
from ..._core.kinds import check_arguments
from ..._core.typing import Nest
from .base import Metric


class _Ranking(Metric):
    """Something of the scores of a class and of whether it was the target."""

    def __init__(
        self, *, average: Literal["macro", "weighted", "none"] = "macro", from_logits: bool = False
    ):
        check_arguments(type(self), locals())
        self.average, self.from_logits = average, from_logits

    def measure(self, output: Any, *targets: Any) -> Nest:
        target = targets[0]
        shape, rank = tuple(output.shape), len(target.shape)
        xp = xp_of(output)
        if len(shape) == rank + 1 and shape[-1] == 1:
            output = xp.squeeze(output, axis=-1)
        elif len(shape) == rank + 1:
            if self.from_logits:
                output = xp.softmax(output, axis=-1)
            output = xp.reshape(output[..., 1] if shape[-1] == 2 else output, (-1, *_rest(shape)))
        elif shape != tuple(target.shape):
            raise ShapeError(
                f"{type(self).__name__}() expects scores (examples,) or (examples, classes) for "
                f"targets (examples,), got shapes {shape} and {tuple(target.shape)}."
            )
        return [[output, xp_of(target).reshape(target, (-1,))]]

    def merge(self, first: Any, second: Any) -> Nest:
        return first + second

    def compute(self, statistics: Any) -> Nest:
        scores = np.concatenate([np.asarray(each[0], np.float64) for each in statistics])
        targets = np.concatenate([np.asarray(each[1]) for each in statistics])
        if scores.ndim == 1 or scores.shape[-1] == 1:
            return self._of_class(scores.reshape(-1), targets.astype(np.int64) == 1)
        classes = range(scores.shape[-1])
        values = np.array([self._of_class(scores[:, i], targets == i) for i in classes])
        if self.average == "none":
            return values
        weights = None
        if self.average == "weighted":
            weights = [np.count_nonzero(targets == i) for i in classes]
        return float(np.average(values, weights=weights))

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
        from_logits: Whether scores of several classes go through softmax first. Scores of two
            classes with one number for each example need it not: only their order counts.

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
        from_logits: Whether scores of several classes go through softmax first.

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


def _rest(shape: tuple[int, ...]) -> tuple[int, ...]:
    return () if shape[-1] == 2 else shape[-1:]
