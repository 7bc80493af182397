"""Losses of several classes. `reduction` is "mean", "sum" or "none".

Target indices out of range, probabilities outside 0 to 1 and the like raise wherever values are
known; compiled code has none, and there the result depends on the framework.
"""

import math
from functools import partial
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_axis
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import normal_axis
from .._core.typing import A, Array, Backend
from ._arguments import (
    check_indices,
    check_range,
    probability,
    same_shape,
    shapes_differ,
    whole_number,
)
from ._layout import along
from ._precision import all_precise, parameter, precise
from ._reduction import REDUCTIONS, Reduction, reduced
from .activation import log_softmax_of


def cross_entropy(
    logits: A,
    targets: A,
    /,
    *,
    axis: int = -1,
    label_smoothing: float = 0.0,
    weight: A | None = None,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
) -> A:
    """-sum(targets * log_softmax(logits)) along `axis`.

    `targets` are class indices, of the shape of `logits` without `axis`, or probabilities (one-hot,
    for example) of the shape of `logits`. `label_smoothing` e makes them (1 - e) * targets + e /
    classes. `weight` has one factor per class; with indices, "mean" then divides by the sum of the
    weights of the targets, as in torch. Targets that equal `ignore_index` do not count; if all do,
    the mean is 0.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> logits = np.array([[1e4, 0.0], [0.0, 0.0]])
    >>> F.cross_entropy(logits, np.array([0, 1]), reduction="none")
    array([-0.        ,  0.69314718])
    """
    try:
        if ignore_index is not None:
            whole_number("cross_entropy", "ignore_index", ignore_index)
        if has_nest(logits, targets, weight):
            fn = partial(
                cross_entropy,
                axis=axis,
                label_smoothing=label_smoothing,
                ignore_index=ignore_index,
                reduction=reduction,
            )
            return call_leafwise(fn, (logits, targets), {"weight": weight})
        xp = xp_of_all(logits, targets, weight)
        x, kind = precise("cross_entropy", xp, logits)
        place = normal_axis(axis, len(x.shape))
        is_plain = weight is None and ignore_index is None and label_smoothing == 0.0
        if is_plain and len(targets.shape) == len(x.shape) - 1 and reduction in REDUCTIONS:
            _check_targets("cross_entropy", targets, tuple(x.shape), place)
            found = xp.class_losses(x, targets, axis=place, reduction=reduction)
            if found is not None:
                return xp.astype(found, kind, copy=False)
        log_probs = log_softmax_of(xp, x, place)
        options = (label_smoothing, weight, ignore_index, reduction, kind)
        return _class_losses("cross_entropy", xp, log_probs, targets, place, options)
    except Exception as error:
        return explain(error, cross_entropy)


def nll_loss(
    log_probs: A,
    targets: A,
    /,
    *,
    axis: int = -1,
    weight: A | None = None,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
) -> A:
    """-log_probs[target]: `cross_entropy` for inputs that are already log-probabilities.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.nll_loss(np.array([[-1.0, -2.0]]), np.array([1])))
    2.0
    """
    try:
        if ignore_index is not None:
            whole_number("nll_loss", "ignore_index", ignore_index)
        if has_nest(log_probs, targets, weight):
            fn = partial(nll_loss, axis=axis, ignore_index=ignore_index, reduction=reduction)
            return call_leafwise(fn, (log_probs, targets), {"weight": weight})
        xp = xp_of_all(log_probs, targets, weight)
        x, kind = precise("nll_loss", xp, log_probs)
        place = normal_axis(axis, len(x.shape))
        options = (0.0, weight, ignore_index, reduction, kind)
        return _class_losses("nll_loss", xp, x, targets, place, options)
    except Exception as error:
        return explain(error, nll_loss)


def _class_losses(
    name: str, xp: Backend, log_probs: Array, targets: Array, axis: int, options: tuple[Any, ...]
) -> Any:
    """`options` are the smoothing, the weight, the index to ignore, the reduction and its dtype."""
    smoothing, weight, ignore_index, reduction, kind = options
    smoothing = probability(name, "label_smoothing", smoothing)
    shape = tuple(log_probs.shape)
    classes = shape[axis]
    if weight is not None:
        if tuple(weight.shape) != (classes,):
            raise ShapeError(
                f"{name}() expects weight of shape ({classes},), one per class, got "
                f"{tuple(weight.shape)}."
            )
        weight = parameter(xp, weight, log_probs)
    if len(targets.shape) == len(shape):
        same_shape(name, logits=log_probs, targets=targets)
        targets = parameter(xp, targets, log_probs)
        losses = _soft_losses(xp, log_probs, targets, axis, smoothing, weight)
        return reduced(name, xp, losses, reduction, kind)
    _check_targets(name, targets, shape, axis)
    check_indices(name, "targets", targets, classes, also=ignore_index)
    is_kept = None
    if ignore_index is not None:
        is_kept = targets != ignore_index
        targets = xp.where(is_kept, targets, 0)
    scaled = log_probs if weight is None else log_probs * along(xp, weight, (axis,), len(shape))
    chosen = xp.take_along_axis(scaled, xp.expand_dims(targets, axis=axis), axis=axis)
    losses = -xp.squeeze(chosen, axis=axis)
    if smoothing:
        losses = (1 - smoothing) * losses - (smoothing / classes) * xp.sum(scaled, axis=axis)
    if is_kept is not None:
        losses = xp.where(is_kept, losses, 0.0)
    if is_kept is None and weight is None:
        return reduced(name, xp, losses, reduction, kind)
    counted = xp.ones_like(losses) if weight is None else xp.take(weight, targets, axis=0)
    counted = counted if is_kept is None else xp.where(is_kept, counted, 0.0)
    return reduced(name, xp, losses, reduction, kind, xp.sum(counted))


def _soft_losses(
    xp: Backend, log_probs: Array, targets: Array, axis: int, smoothing: float, weight: Array | None
) -> Any:
    if smoothing:
        targets = (1 - smoothing) * targets + smoothing / log_probs.shape[axis]
    if weight is not None:
        targets = targets * along(xp, weight, (axis,), len(log_probs.shape))
    # 0 * log(0) is 0: a class that is impossible and never the target costs nothing.
    is_nothing = xp.logical_and(targets == 0, log_probs == -xp.inf)
    return -xp.sum(targets * xp.where(is_nothing, 0.0, log_probs), axis=axis)


def _check_targets(name: str, targets: Array, shape: tuple[Any, ...], axis: int) -> None:
    wanted = shape[:axis] + shape[axis + 1 :]
    found = tuple(targets.shape)
    if shapes_differ(found, wanted):
        raise ShapeError(
            f"{name}() expects targets of shape {wanted} (class indices) or {shape} "
            f"(probabilities), got {found}."
        )


def kl_divergence(
    log_probs: A,
    targets: A,
    /,
    *,
    axis: int = -1,
    log_targets: bool = False,
    reduction: Reduction = "mean",
) -> A:
    """sum(targets * (log(targets) - log_probs)) along `axis`; 0 * log(0) is 0.

    `log_probs` are logarithms of the predicted probabilities; `log_targets` says that `targets` are
    logarithms too. The "mean" is over everything but `axis` (torch calls that "batchmean").

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.kl_divergence(np.log([[0.5, 0.5]]), np.array([[1.0, 0.0]])))
    0.6931471805599453
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        if has_nest(log_probs, targets):
            kwargs = {"axis": axis, "log_targets": log_targets, "reduction": reduction}
            return call_leafwise(kl_divergence, (log_probs, targets), kwargs)
        name = "kl_divergence"
        same_shape(name, log_probs=log_probs, targets=targets)
        xp = xp_of_all(log_probs, targets)
        (x, t), kind = all_precise(name, xp, log_probs, targets)
        if log_targets:
            is_zero = t == -xp.inf
            t = xp.where(is_zero, 0.0, t)
            terms = xp.where(is_zero, 0.0, xp.exp(t) * (t - x))
        else:
            check_range(
                name, "targets", t, 0.0, math.inf, "If they are logarithms, write log_targets=True."
            )
            is_zero = t == 0
            safe = xp.where(is_zero, 1.0, t)
            terms = xp.where(is_zero, 0.0, safe * (xp.log(safe) - xp.where(is_zero, 0.0, x)))
        return reduced(name, xp, xp.sum(terms, axis=axis), reduction, kind)
    except Exception as error:
        return explain(error, kl_divergence)
