"""Losses and embeddings as torch computes them: ignored classes, margins, bags of rows."""

from typing import Any

import trellis as t

from ..._core.typing import Array


def reduced_loss(losses: Array, reduction: int, /) -> Any:
    """All losses, their mean or their sum: 0, 1 or 2, as torch numbers them."""
    return losses if reduction == 0 else t.mean(losses) if reduction == 1 else t.sum(losses)


def nll_loss(
    x: Array, target: Array, weight: Array | None = None, /, *, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """The negative log-likelihood of the target classes, and the sum of their weights.

    >>> import numpy as np
    >>> x = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
    >>> nll_loss(x, np.array([0, -100]), reduction=1, ignore_index=-100)[0].round(4)
    np.float64(0.6931)
    """
    axis = 0 if len(x.shape) == 1 else 1
    is_counted = t.not_equal(target, ignore_index)
    safe = t.where(is_counted, target, 0)
    picked = t.squeeze(t.take_along_axis(x, t.expand_dims(safe, axis=axis), axis=axis), axis=axis)
    weights = t.ones_like(picked) if weight is None else t.take(weight, safe, axis=0)
    weights = t.where(is_counted, weights, 0.0)
    losses = t.where(is_counted, -picked * weights, 0.0)
    total = t.sum(weights)
    if reduction == 0:
        return losses, t.zeros_like(total)
    return (t.sum(losses) / total if reduction == 1 else t.sum(losses)), total


def multi_margin_loss(
    x: Array, target: Array, weight: Array | None = None, /, *, p: int, margin: float,
    reduction: int,
) -> Any:  # fmt: skip
    """How far the other classes come within a margin of the target class."""
    rows = x if len(x.shape) == 2 else t.expand_dims(x, axis=0)
    places = t.reshape(target, (-1, 1))
    gaps = margin - t.take_along_axis(rows, places, axis=1) + rows
    terms = t.where(t.greater(gaps, 0), gaps if p == 1 else gaps * gaps, 0.0)
    if weight is not None:
        terms = terms * t.take(weight, places, axis=0)
    count = rows.shape[1]
    classes = t.arange(count, dtype=t.dtype(target), backend=t.backend_of(x))
    terms = t.where(t.equal(classes, places), 0.0, terms)
    losses = t.sum(terms, axis=1) / count
    return reduced_loss(losses if len(x.shape) == 2 else losses[0], reduction)


def multilabel_margin_loss(x: Array, target: Array, /, *, reduction: int) -> Any:
    """How far other classes come near those of the targets, which end with the first -1."""
    rows = x if len(x.shape) == 2 else t.expand_dims(x, axis=0)
    given = t.reshape(target, tuple(rows.shape))
    count = rows.shape[1]
    is_given = t.cumulative_prod(t.astype(t.greater_equal(given, 0), "int32"), axis=1) > 0
    places = t.where(is_given, given, 0)
    classes = t.arange(count, dtype=t.dtype(target), backend=t.backend_of(x))
    hits = t.equal(t.expand_dims(places, axis=2), classes)
    hits = t.logical_and(hits, t.expand_dims(is_given, axis=2))
    is_other = t.logical_not(t.any(hits, axis=1, keepdims=True))
    wanted = t.expand_dims(t.take_along_axis(rows, places, axis=1), axis=2)
    gaps = 1.0 - wanted + t.expand_dims(rows, axis=1)
    counts = t.logical_and(t.logical_and(is_other, t.expand_dims(is_given, axis=2)), gaps > 0)
    losses = t.sum(t.where(counts, gaps, 0.0), axis=(1, 2)) / count
    return reduced_loss(losses if len(x.shape) == 2 else losses[0], reduction)


def embedding_bag(
    weight: Array, indices: Array, offsets: Array, scales: Array | None = None, /, *, mode: int,
    padding_idx: int = -1, include_last_offset: bool = False,
) -> Any:  # fmt: skip
    """The sum, mean or maximum (0, 1, 2) of the rows of each bag; bags begin at `offsets`.

    >>> import numpy as np
    >>> embedding_bag(np.eye(3), np.array([0, 1, 2]), np.array([0, 2]), mode=0)
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """
    if len(indices.shape) == 2:  # each row is a bag
        count, length = tuple(indices.shape)
        starts = t.arange(count, dtype=t.dtype(indices), backend=t.backend_of(weight)) * length
        indices, offsets = t.reshape(indices, (-1,)), starts
        scales = None if scales is None else t.reshape(scales, (-1,))
        include_last_offset = False
    bags = offsets.shape[0] - (1 if include_last_offset else 0)
    places = t.arange(indices.shape[0], dtype=t.dtype(offsets), backend=t.backend_of(weight))
    bag = t.searchsorted(offsets[:bags], places, side="right") - 1
    is_counted = t.not_equal(indices, padding_idx)
    rows = t.take(weight, indices, axis=0)
    if scales is not None:
        rows = rows * t.expand_dims(scales, axis=1)
    mask = t.expand_dims(is_counted, axis=1)
    counts = t.segment_sum(t.astype(is_counted, t.dtype(weight)), bag, num_segments=bags)
    counts = t.expand_dims(counts, axis=1)
    if mode == 2:
        low = t.full((bags, weight.shape[1]), float("-inf"), dtype=t.dtype(weight),
                     backend=t.backend_of(weight))  # fmt: skip
        best = t.scatter(low, bag, t.where(mask, rows, float("-inf")), axis=0, reduce="max")
        return t.where(t.greater(counts, 0), best, 0.0)
    total = t.segment_sum(t.where(mask, rows, 0.0), bag, num_segments=bags)
    return total if mode == 0 else total / t.maximum(counts, 1.0)
