"""Metrics of classifiers.

Integer `predictions` are classes; others are scores along the last axis, of which the largest
counts. `targets` are classes, or one-hot: floats or bools of the shape of the scores.
"""

import math
from typing import Any

from .._core.dispatch import xp_of_pair
from .._core.dtypes import FLOATING, default_dtype
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import one_of
from .._core.typing import A, Array, Backend
from ._arguments import check_indices, same_shape, whole_number

AVERAGES = ("macro", "weighted", "micro", "none")


def accuracy(predictions: A, targets: A, /) -> A:
    """The share of predictions that are right, in the default float.

    `predictions` are classes (integers) or scores (..., classes); `targets` are classes, or one-hot
    in the shape of the scores.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> scores = np.array([[0.1, 0.9], [0.8, 0.2]])
    >>> float(F.accuracy(scores, np.array([1, 1])))
    0.5
    >>> float(F.accuracy(scores, np.array([[0.0, 1.0], [0.0, 1.0]])))
    0.5
    """
    try:
        if has_nest(predictions, targets):
            return call_leafwise(accuracy, (predictions, targets), {})
        xp = xp_of_pair(predictions, targets)
        chosen, right = _classes("accuracy", xp, predictions, targets)
        return xp.mean(xp.astype(chosen == right, str(default_dtype())))
    except Exception as error:
        return explain(error, accuracy)


def top_k_accuracy(scores: A, targets: A, k: int, /) -> A:
    """The share of targets among the `k` largest of the scores (..., classes).

    Of equal scores the one with the lower index is first.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.top_k_accuracy(np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]), np.array([1, 2]), 2))
    0.5
    """
    try:
        if has_nest(scores, targets):
            return call_leafwise(top_k_accuracy, (scores, targets, k), {})
        xp = xp_of_pair(scores, targets)
        same_shape("top_k_accuracy", scores=scores[..., 0], targets=targets)
        classes = scores.shape[-1]
        if not 1 <= whole_number("top_k_accuracy", "k", k) <= classes:
            raise ArgumentError(
                f"top_k_accuracy() expects k from 1 to {classes}, the number of classes, got {k!r}."
            )
        check_indices("top_k_accuracy", "targets", targets, classes)
        _, best = xp.topk(scores, k)
        is_hit = xp.any(
            best == xp.expand_dims(xp.astype(targets, best.dtype, copy=False), axis=-1), axis=-1
        )
        return xp.mean(xp.astype(is_hit, str(default_dtype())))
    except Exception as error:
        return explain(error, top_k_accuracy)


def confusion_matrix(predictions: A, targets: A, num_classes: int, /) -> A:
    """How often each target (row) was given each prediction (column).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.confusion_matrix(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), 2)
    array([[2, 1],
           [0, 1]])
    """
    try:
        if has_nest(predictions, targets):
            return call_leafwise(confusion_matrix, (predictions, targets, num_classes), {})
        return count_pairs("confusion_matrix", predictions, targets, num_classes)
    except Exception as error:
        return explain(error, confusion_matrix)


def f1_score(predictions: A, targets: A, num_classes: int, /, *, average: str = "macro") -> A:
    """2 * hits / (2 * hits + misses + false alarms) of each class; 0 for one that never occurs.

    `average` is "macro" (the mean over classes), "weighted" (by how often they are targets),
    "micro" (counted over all classes together) or "none" (one per class).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.f1_score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), 2, average="none").round(4)
    array([0.8   , 0.6667], dtype=float32)
    """
    try:
        if has_nest(predictions, targets):
            return call_leafwise(
                f1_score, (predictions, targets, num_classes), {"average": average}
            )
        one_of("f1_score", "average", average, AVERAGES)
        xp = xp_of_pair(predictions, targets)
        counts = count_pairs("f1_score", predictions, targets, num_classes)
        return f1_of_counts(xp, xp.astype(counts, str(default_dtype())), average)
    except Exception as error:
        return explain(error, f1_score)


def f1_of_counts(xp: Backend, counts: Array, average: str) -> Any:
    """The F1 score from the counts of (target, prediction), in their dtype."""
    classes = counts.shape[0]
    hits = xp.sum(counts * xp.eye(classes, dtype=counts.dtype, device=xp.device(counts)), axis=0)
    support, predicted = xp.sum(counts, axis=1), xp.sum(counts, axis=0)
    if average == "micro":
        hits, support, predicted = xp.sum(hits), xp.sum(support), xp.sum(predicted)
    whole = support + predicted
    scores = 2 * hits / xp.where(whole == 0, 1.0, whole)
    if average == "macro":
        return xp.mean(scores)
    if average == "weighted":
        total = xp.sum(support)
        return xp.sum(scores * support) / xp.where(total == 0, 1.0, total)
    return scores


def count_hits(predictions: Array, targets: Array) -> tuple[Any, int]:
    """How many predictions are right, and of how many."""
    xp = xp_of_pair(predictions, targets)
    chosen, right = _classes("accuracy", xp, predictions, targets)
    hits = xp.astype(chosen == right, xp.arange(1, device=xp.device(chosen)).dtype)
    return xp.sum(hits), math.prod(tuple(right.shape))


def count_pairs(name: str, predictions: Array, targets: Array, num_classes: int | None) -> Any:
    """How often each target (row) was given each prediction (column)."""
    xp = xp_of_pair(predictions, targets)
    count = whole_number(name, "num_classes", num_classes, least=1)
    chosen, right = _classes(name, xp, predictions, targets)
    check_indices(name, "targets", right, count)
    check_indices(name, "predictions", chosen, count)
    pairs = xp.reshape(right * count + chosen, (-1,))
    hits = xp.astype(xp.ones_like(pairs), xp.arange(1, device=xp.device(pairs)).dtype)
    return xp.reshape(xp.segment_sum(hits, pairs, num_segments=count * count), (count, count))


def _classes(name: str, xp: Backend, predictions: Array, targets: Array) -> tuple[Any, Any]:
    """Predicted classes and those of the targets, in one integer dtype."""
    if xp.dtype_name(targets.dtype) in FLOATING and xp.is_concrete(targets):
        if bool(xp.any(xp.isnan(targets))):
            raise ArgumentError(f"{name}() expects classes for targets, got nan among them.")
    shape, rank = tuple(predictions.shape), len(targets.shape)
    kind = xp.dtype_name(predictions.dtype)
    is_class = kind.startswith(("int", "uint")) or kind == "bool"
    if len(shape) == rank + 1:
        same_shape(name, predictions=predictions[..., 0], targets=targets)
        chosen = xp.argmax(predictions, axis=-1)
    elif len(shape) == rank and (is_class or rank > 1):
        same_shape(name, predictions=predictions, targets=targets)
        # Small integers could not hold the number of a pair of classes.
        chosen = xp.astype(predictions, xp.arange(1).dtype) if is_class else None
        if chosen is None:
            chosen, targets = xp.argmax(predictions, axis=-1), xp.argmax(targets, axis=-1)
    else:
        raise ShapeError(
            f"{name}() expects integer predictions of the shape of targets {tuple(targets.shape)}, "
            f"or scores with an axis of classes, got {shape} of {kind}. For classes in floats "
            "write astype(predictions, 'int64')."
        )
    return chosen, xp.astype(targets, chosen.dtype, copy=False)
