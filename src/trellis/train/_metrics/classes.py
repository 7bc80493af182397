"""Metrics of classifiers, from counts of (target, prediction)."""

import math
from typing import Any, Literal

import numpy as np

from ..._array.creation import asarray
from ..._core.dispatch import backend_of, load, xp_of, xp_of_pair
from ..._core.errors import ArgumentError, ArgumentTypeError
from ..._core.kinds import check_arguments, shown
from ..._core.typing import Array, Nest
from ...functional.metrics import count_hits, count_pairs, f1_of_counts
from .base import Metric

Average = Literal["macro", "weighted", "micro", "none", "binary"]


class Accuracy(Metric):
    """The share of predictions that are right: `functional.accuracy` over all examples, and over
    all positions where an example has several.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.Accuracy()
    >>> found = metric.update(None, np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1]))
    >>> round(metric.compute(metric.update(found, np.array([[0.3, 0.7]]), np.array([1]))), 4)
    0.6667
    """

    def measure(self, output: Any, *targets: Any) -> Nest:
        right, count = count_hits(output, *targets)
        return {"right": right, "count": asarray(count, dtype="int32", backend=backend_of(right))}

    def compute(self, statistics: Any) -> float:
        return float(statistics["right"]) / max(int(statistics["count"]), 1)


class TopKAccuracy(Accuracy):
    """The share of targets among the `k` largest scores (..., classes).

    Of equal scores the one with the lower index is first.

    Args:
        k: How many of the scores count.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.TopKAccuracy(2)
    >>> scores = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
    >>> metric.compute(metric.update(None, scores, np.array([1, 2])))
    0.5
    """

    def __init__(self, k: int = 5):
        check_arguments(TopKAccuracy, locals())
        if k < 1:
            raise ArgumentError(f"TopKAccuracy() expects k of at least 1, got {k}.")
        self.k = k

    @property
    def name(self) -> str:
        return f"top_{self.k}_accuracy"

    def measure(self, output: Any, *targets: Any) -> Nest:
        xp = xp_of_pair(output, targets[0])
        classes = int(output.shape[-1])
        if self.k > classes:
            raise ArgumentError(
                f"TopKAccuracy({self.k}) needs scores of at least {self.k} classes, got "
                f"{shown(output)}."
            )
        _, best = xp.topk(output, self.k)
        wanted = xp.expand_dims(xp.astype(targets[0], best.dtype, copy=False), axis=-1)
        hits = xp.astype(xp.any(best == wanted, axis=-1), xp.int32)
        count = math.prod(tuple(hits.shape))
        return {
            "right": xp.sum(hits),
            "count": asarray(count, dtype="int32", backend=backend_of(hits)),
        }


class ConfusionMatrix(Metric):
    """How often each target (row) was given each prediction (column), over all examples.

    Its value is a matrix: `fit` and `evaluate` record single numbers, so it is for `update` and
    `compute` of your own, and the base of the metrics below.

    Args:
        num_classes: How many classes there are; by default as many as the last axis of the scores.
        threshold: Outputs are one score for each example, and those above it mean class 1 of 2.
        ignore_index: A target that does not count.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.ConfusionMatrix(2)
    >>> metric.compute(metric.update(None, np.array([0, 1, 1]), np.array([0, 1, 0])))
    array([[1, 1],
           [0, 1]])
    """

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        threshold: float | None = None,
        ignore_index: int | None = None,
    ):
        check_arguments(ConfusionMatrix, locals())
        self._set(num_classes, threshold, ignore_index)

    def _set(
        self, num_classes: int | None, threshold: float | None, ignore_index: int | None
    ) -> None:
        kind = type(self).__name__
        if threshold is not None and num_classes not in (None, 2):
            raise ArgumentError(
                f"{kind}() with a threshold has two classes, got num_classes={num_classes}."
            )
        self.num_classes = 2 if threshold is not None else num_classes
        self.threshold, self.ignore_index = threshold, ignore_index

    @property
    def name(self) -> str:
        return "confusion_matrix"

    def measure(self, output: Any, *targets: Any) -> Nest:
        kind, target = type(self).__name__, targets[0]
        if self.threshold is not None:
            output = _above(output, target, self.threshold)
        classes = self.num_classes
        if classes is None:
            if len(targets) != 1 or len(output.shape) == len(target.shape) < 2:
                raise ArgumentTypeError(
                    f"{kind}() cannot see how many classes there are in predictions that are "
                    f"{shown(output)}: write {kind}(num_classes)."
                )
            classes = int(output.shape[-1])
        if self.ignore_index is None:
            return {"counts": count_pairs(kind, output, target, classes)}
        return {"counts": _counts_of_others(kind, output, target, classes, self.ignore_index)}

    def compute(self, statistics: Any) -> Nest:
        return np.asarray(statistics["counts"])


class _Averaged(ConfusionMatrix):
    """A number for each class, from its counts, and an average of them."""

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        average: Average = "macro",
        threshold: float | None = None,
        ignore_index: int | None = None,
    ):
        check_arguments(type(self), locals())
        self._set(num_classes, threshold, ignore_index)
        self.average = average

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    def compute(self, statistics: Any) -> Nest:
        counts = np.asarray(statistics["counts"], np.float64)
        if self.average == "binary":
            if len(counts) != 2:
                raise ArgumentError(
                    f'{type(self).__name__}(average="binary") is of class 1 of two, got '
                    f"{len(counts)} classes."
                )
            return float(self._value(counts, "none")[1])
        value = self._value(counts, self.average)
        return value if self.average == "none" else float(value)

    def _value(self, counts: np.ndarray, average: str) -> Any:
        hits, targets, predicted = np.diag(counts), counts.sum(1), counts.sum(0)
        if average == "micro":
            return self._of_class(hits.sum(), targets.sum(), predicted.sum())
        values = self._of_class(hits, targets, predicted)
        if average == "macro":
            return self._mean(values, targets + predicted > 0)
        return _share((values * targets).sum(), targets.sum()) if average == "weighted" else values

    def _mean(self, values: np.ndarray, occur: np.ndarray) -> Any:
        return values.mean()

    def _of_class(self, hits: Any, targets: Any, predicted: Any) -> Any:
        raise NotImplementedError


class Precision(_Averaged):
    """The share of the predictions of a class that are right; 0 for one that is never predicted.

    Args:
        num_classes: How many classes there are; by default as many as the last axis of the scores.
        average: "macro" (the mean over classes), "weighted" (by how often they are targets),
            "micro" (counted over all classes together), "binary" (class 1 of two) or "none" (one
            per class, which `fit` and `evaluate` do not take).
        threshold: Outputs are one score for each example, and those above it mean class 1 of 2.
        ignore_index: A target that does not count.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.Precision(threshold=0.5, average="binary")
    >>> found = metric.update(None, np.array([0.1, 0.9, 0.8]), np.array([0, 1, 0]))
    >>> metric.compute(found)
    0.5
    """

    def _of_class(self, hits: Any, targets: Any, predicted: Any) -> Any:
        return _share(hits, predicted)


class Recall(_Averaged):
    """The share of the examples of a class that are found; 0 for one that never occurs.

    Args:
        num_classes: How many classes there are; by default as many as the last axis of the scores.
        average: "macro", "weighted", "micro", "binary" or "none", as for `Precision`.
        threshold: Outputs are one score for each example, and those above it mean class 1 of 2.
        ignore_index: A target that does not count.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.Recall(2)
    >>> metric.compute(metric.update(None, np.array([0, 1, 1]), np.array([0, 1, 0])))
    0.75
    """

    def _of_class(self, hits: Any, targets: Any, predicted: Any) -> Any:
        return _share(hits, targets)


class F1Score(_Averaged):
    """`functional.f1_score` over all examples, from the counts of (target, prediction).

    `num_classes` is the last axis of the scores, unless it is passed; predictions that are classes
    need it. `average` is that of the function, or "binary" for class 1 of two; with "none" the
    value has one entry per class, and `fit` and `evaluate` take only those with one.

    Args:
        num_classes: How many classes there are; by default as many as the last axis of the scores.
        average: "macro", "weighted", "micro", "binary" or "none", as for `Precision`.
        threshold: Outputs are one score for each example, and those above it mean class 1 of 2.
        ignore_index: A target that does not count.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.F1Score(2)
    >>> found = metric.update(None, np.array([0, 1, 1]), np.array([0, 1, 0]))
    >>> round(float(metric.compute(metric.update(found, np.array([0]), np.array([0])))), 4)
    0.7333
    """

    @property
    def name(self) -> str:
        return "f1_score"

    def _value(self, counts: np.ndarray, average: str) -> Any:
        return f1_of_counts(load("numpy"), counts, average)


class IoU(_Averaged):
    """The intersection of targets and predictions of a class over their union, the Jaccard index,
    as of the pixels of segmented pictures. The macro average is over the classes that occur.

    Args:
        num_classes: How many classes there are; by default as many as the last axis of the scores.
        average: "macro", "weighted", "micro", "binary" or "none", as for `Precision`.
        threshold: Outputs are one score for each example, and those above it mean class 1 of 2.
        ignore_index: A target that does not count.

    >>> import numpy as np, trellis
    >>> metric = trellis.train.IoU(2)
    >>> round(metric.compute(metric.update(None, np.array([0, 1, 1]), np.array([0, 1, 0]))), 4)
    0.5
    """

    def _mean(self, values: np.ndarray, occur: np.ndarray) -> Any:
        return _share(values[occur].sum(), occur.sum())

    def _of_class(self, hits: Any, targets: Any, predicted: Any) -> Any:
        return _share(hits, targets + predicted - hits)


def _share(part: Any, whole: Any) -> Any:
    return part / np.where(whole == 0, 1.0, whole)


def _above(output: Array, target: Array, threshold: float) -> Any:
    """Classes 0 and 1 from one score for each target."""
    xp = xp_of(output)
    shape = tuple(output.shape)
    if len(shape) == len(target.shape) + 1 and shape[-1] == 1:
        output = xp.squeeze(output, axis=-1)
    return xp.astype(output > threshold, xp.int32)


def _counts_of_others(name: str, output: Any, target: Any, classes: int, ignored: int) -> Any:
    """The counts without the examples of one target."""
    xp = xp_of_pair(output, target)
    chosen = output
    if len(output.shape) == len(target.shape) + 1:
        chosen = xp.argmax(output, axis=-1)
    elif not str(xp.dtype_name(output.dtype)).startswith(("int", "uint")):
        raise ArgumentTypeError(
            f"{name}(ignore_index={ignored}) expects targets that are classes, got "
            f"{shown(target)} for outputs that are {shown(output)}."
        )
    is_ignored = target == ignored
    counts = count_pairs(
        name,
        xp.where(is_ignored, xp.zeros_like(chosen), chosen),
        xp.where(is_ignored, xp.zeros_like(target), target),
        classes,
    )
    number = xp.sum(xp.astype(is_ignored, counts.dtype))
    corner = xp.astype(xp.arange(classes * classes) == 0, counts.dtype)
    return counts - number * xp.reshape(corner, (classes, classes))
