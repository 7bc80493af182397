"""Losses. `reduction` is "mean", "sum" or "none", and everything is computed in float32 at least.

Target indices out of range, probabilities outside 0 to 1 and the like raise wherever values can be looked at; compiled
code has none, and there the result of such input is the framework's own.
"""

import math
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError, ShapeError
from .._core.shapes import normal_axis
from .._core.tree import call_leafwise
from .._core.typing import A
from ._arguments import (
    all_precise,
    along,
    check_indices,
    check_range,
    parameter,
    precise,
    reduced,
    same_shape,
)
from ._checks import has_nest, probability
from .activation import log_softmax_of, softplus_of

REDUCTIONS = ("mean", "sum", "none")

# Regression ------------------------------------------------------------------------------------------


def mse_loss(predictions: A, targets: A, /, *, reduction: str = "mean") -> A:
    """(predictions - targets)**2.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.mse_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    2.0
    """
    if has_nest(predictions, targets):
        return call_leafwise(mse_loss, (predictions, targets), {"reduction": reduction})
    xp, away, kind = _difference("mse_loss", predictions, targets)
    return xp.astype(reduced("mse_loss", xp, away * away, reduction), kind, copy=False)


def mae_loss(predictions: A, targets: A, /, *, reduction: str = "mean") -> A:
    """|predictions - targets|.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.mae_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """
    if has_nest(predictions, targets):
        return call_leafwise(mae_loss, (predictions, targets), {"reduction": reduction})
    xp, away, kind = _difference("mae_loss", predictions, targets)
    return xp.astype(reduced("mae_loss", xp, xp.abs(away), reduction), kind, copy=False)


def huber_loss(predictions: A, targets: A, /, *, delta: float = 1.0, reduction: str = "mean") -> A:
    """d**2 / 2 where |d| <= delta, else delta * (|d| - delta / 2), for d = predictions - targets.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.huber_loss(np.array([0.5, 3.0]), np.array([0.0, 0.0]), reduction="none")
    array([0.125, 2.5  ])
    """
    if has_nest(predictions, targets):
        return call_leafwise(
            huber_loss, (predictions, targets), {"delta": delta, "reduction": reduction}
        )
    if delta <= 0:
        raise ArgumentError(f"huber_loss() expects delta above 0, got {delta!r}.")
    xp, away, kind = _difference("huber_loss", predictions, targets)
    size = xp.abs(away)
    # The square of the distance, cut at delta: no branch that could overflow.
    near = xp.minimum(size, delta)
    return xp.astype(
        reduced("huber_loss", xp, near * (size - 0.5 * near), reduction), kind, copy=False
    )


def _difference(name: str, predictions: Any, targets: Any) -> tuple[Any, Any, str]:
    same_shape(name, predictions=predictions, targets=targets)
    xp = xp_of_all(predictions, targets)
    (predictions, targets), kind = all_precise(name, xp, predictions, targets)
    return xp, predictions - targets, kind


def poisson_nll_loss(
    predictions: A,
    targets: A,
    /,
    *,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
) -> A:
    """exp(x) - targets * x for logarithms x of the rate; x - targets * log(x + epsilon) with `log_input=False`.

    `full` adds Stirling's t * log(t) - t + log(2 * pi * t) / 2 where targets t are above 1.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.poisson_nll_loss(np.array([0.0]), np.array([2.0])))
    1.0
    """
    if has_nest(predictions, targets):
        kwargs = {"log_input": log_input, "full": full, "epsilon": epsilon, "reduction": reduction}
        return call_leafwise(poisson_nll_loss, (predictions, targets), kwargs)
    name = "poisson_nll_loss"
    same_shape(name, predictions=predictions, targets=targets)
    xp = xp_of_all(predictions, targets)
    (x, t), kind = all_precise(name, xp, predictions, targets)
    losses = xp.exp(x) - t * x if log_input else x - t * xp.log(x + epsilon)
    if full:
        is_large = t > 1
        safe = xp.where(is_large, t, 1.0)
        stirling = safe * xp.log(safe) - safe + 0.5 * xp.log(2 * math.pi * safe)
        losses = losses + xp.where(is_large, stirling, 0.0)
    return xp.astype(reduced(name, xp, losses, reduction), kind, copy=False)


# Classes ---------------------------------------------------------------------------------------------


def cross_entropy(
    logits: A,
    targets: A,
    /,
    *,
    axis: int = -1,
    label_smoothing: float = 0.0,
    weight: A | None = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> A:
    """-sum(targets * log_softmax(logits)) along `axis`.

    `targets` are class indices, of the shape of `logits` without `axis`, or probabilities (one-hot, for example) of the
    shape of `logits`. `label_smoothing` e makes them (1 - e) * targets + e / classes. `weight` has one factor per
    class; with indices, "mean" then divides by the sum of the weights of the targets, as in torch. Targets that
    equal `ignore_index` do not count; if all do, the mean is 0.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> logits = np.array([[1e4, 0.0], [0.0, 0.0]])
    >>> F.cross_entropy(logits, np.array([0, 1]), reduction="none")
    array([-0.        ,  0.69314718])
    """
    if has_nest(logits, targets, weight):
        kwargs = {"axis": axis, "label_smoothing": label_smoothing, "weight": weight, "ignore_index": ignore_index,
                  "reduction": reduction}  # fmt: skip
        return call_leafwise(cross_entropy, (logits, targets), kwargs)
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
    losses = _class_losses(
        "cross_entropy",
        xp,
        log_probs,
        targets,
        place,
        label_smoothing,
        weight,
        ignore_index,
        reduction,
    )
    return xp.astype(losses, kind, copy=False)


def nll_loss(
    log_probs: A,
    targets: A,
    /,
    *,
    axis: int = -1,
    weight: A | None = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> A:
    """-log_probs[target]: `cross_entropy` for what is already a logarithm of probabilities.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.nll_loss(np.array([[-1.0, -2.0]]), np.array([1])))
    2.0
    """
    if has_nest(log_probs, targets, weight):
        kwargs = {
            "axis": axis,
            "weight": weight,
            "ignore_index": ignore_index,
            "reduction": reduction,
        }
        return call_leafwise(nll_loss, (log_probs, targets), kwargs)
    xp = xp_of_all(log_probs, targets, weight)
    x, kind = precise("nll_loss", xp, log_probs)
    place = normal_axis(axis, len(x.shape))
    losses = _class_losses("nll_loss", xp, x, targets, place, 0.0, weight, ignore_index, reduction)
    return xp.astype(losses, kind, copy=False)


def _class_losses(
    name: str, xp: Any, log_probs: Any, targets: Any, axis: int, smoothing: Any, weight: Any, ignore_index: Any,
    reduction: Any,
) -> Any:  # fmt: skip
    smoothing = probability(name, "label_smoothing", smoothing)
    shape = tuple(log_probs.shape)
    classes = shape[axis]
    if weight is not None:
        if tuple(weight.shape) != (classes,):
            raise ShapeError(
                f"{name}() expects weight of shape ({classes},), one per class, got {tuple(weight.shape)}."
            )
        weight = parameter(xp, weight, log_probs)
    if len(targets.shape) == len(shape):
        same_shape(name, logits=log_probs, targets=targets)
        targets = parameter(xp, targets, log_probs)
        losses = _soft_losses(xp, log_probs, targets, axis, smoothing, weight)
        return reduced(name, xp, losses, reduction)
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
        return reduced(name, xp, losses, reduction)
    counted = xp.ones_like(losses) if weight is None else xp.take(weight, targets, axis=0)
    counted = counted if is_kept is None else xp.where(is_kept, counted, 0.0)
    return reduced(name, xp, losses, reduction, xp.sum(counted))


def _soft_losses(
    xp: Any, log_probs: Any, targets: Any, axis: int, smoothing: float, weight: Any
) -> Any:
    if smoothing:
        targets = (1 - smoothing) * targets + smoothing / log_probs.shape[axis]
    if weight is not None:
        targets = targets * along(xp, weight, (axis,), len(log_probs.shape))
    # 0 * log(0) is 0: a class that is impossible and never the target costs nothing.
    is_nothing = xp.logical_and(targets == 0, log_probs == -xp.inf)
    return -xp.sum(targets * xp.where(is_nothing, 0.0, log_probs), axis=axis)


def _check_targets(name: str, targets: Any, shape: tuple[Any, ...], axis: int) -> None:
    wanted = shape[:axis] + shape[axis + 1 :]
    found = tuple(targets.shape)
    fits = len(found) == len(wanted)
    if fits:
        fits = all([a is None or b is None or a == b for a, b in zip(found, wanted, strict=True)])
    if not fits:
        raise ShapeError(
            f"{name}() expects targets of shape {wanted} (class indices) or {shape} (probabilities), got {found}."
        )


def kl_divergence(
    log_probs: A,
    targets: A,
    /,
    *,
    axis: int = -1,
    log_targets: bool = False,
    reduction: str = "mean",
) -> A:
    """sum(targets * (log(targets) - log_probs)) along `axis`; 0 * log(0) is 0.

    `log_probs` are logarithms of the predicted probabilities; `log_targets` says that `targets` are logarithms too. The
    "mean" is over everything but `axis` (torch calls that "batchmean").

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.kl_divergence(np.log([[0.5, 0.5]]), np.array([[1.0, 0.0]])))
    0.6931471805599453
    """
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
    return xp.astype(reduced(name, xp, xp.sum(terms, axis=axis), reduction), kind, copy=False)


# Yes or no -------------------------------------------------------------------------------------------


def binary_cross_entropy(
    predictions: A,
    targets: A,
    /,
    *,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    positive_weight: A | float | None = None,
    reduction: str = "mean",
) -> A:
    """-(t * log(p) + (1 - t) * log(1 - p)) for probabilities p, or for logits of them with `from_logits`.

    `positive_weight` w makes the first term w * t * log(p). Logits are stable at any size; a probability of exactly 0
    or 1 counts as the smallest number above it, so that a sure error is large, not infinite.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.binary_cross_entropy(np.array([1e4, 0.0]), np.array([0.0, 1.0]), from_logits=True, reduction="none")
    array([1.00000000e+04, 6.93147181e-01])
    """
    if has_nest(predictions, targets, positive_weight):
        kwargs = {"from_logits": from_logits, "label_smoothing": label_smoothing, "positive_weight": positive_weight,
                  "reduction": reduction}  # fmt: skip
        return call_leafwise(binary_cross_entropy, (predictions, targets), kwargs)
    name = "binary_cross_entropy"
    same_shape(name, predictions=predictions, targets=targets)
    smoothing = probability(name, "label_smoothing", label_smoothing)
    xp = xp_of_all(predictions, targets, positive_weight)
    (x, t), kind = all_precise(name, xp, predictions, targets)
    check_range(
        name, "targets", t, 0.0, 1.0, "Classes of more than two kinds are for cross_entropy."
    )
    if smoothing:
        t = (1 - smoothing) * t + 0.5 * smoothing
    scale: Any = positive_weight
    if scale is not None and not isinstance(scale, (int, float)):
        scale = parameter(xp, scale, x)
    if from_logits:
        factor = 1.0 if scale is None else 1 + (scale - 1) * t
        losses = (1 - t) * x + factor * softplus_of(xp, -x)
    else:
        check_range(name, "predictions", x, 0.0, 1.0, "For logits write from_logits=True.")
        positive = t * _safe_log(xp, x)
        positive = positive if scale is None else scale * positive
        losses = -(positive + (1 - t) * _safe_log(xp, 1 - x))
    return xp.astype(reduced(name, xp, losses, reduction), kind, copy=False)


def _safe_log(xp: Any, p: Any) -> Any:
    least = xp.finfo(p.dtype).smallest_normal
    return xp.log(xp.where(p < least, least, p))


def focal_loss(
    logits: A,
    targets: A,
    /,
    *,
    alpha: float | None = 0.25,
    gamma: float = 2.0,
    reduction: str = "mean",
) -> A:
    """Binary cross entropy of logits times (1 - p_t)**gamma, which lets easy examples count less.

    p_t is the probability that the logits give to the target; `alpha` weighs positives by alpha and negatives by
    1 - alpha, None weighs none (https://arxiv.org/abs/1708.02002).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.focal_loss(np.array([0.0]), np.array([1.0]), alpha=None))
    0.17328679513998632
    """
    if has_nest(logits, targets):
        return call_leafwise(
            focal_loss, (logits, targets), {"alpha": alpha, "gamma": gamma, "reduction": reduction}
        )
    name = "focal_loss"
    same_shape(name, logits=logits, targets=targets)
    if gamma < 0:
        raise ArgumentError(f"focal_loss() expects gamma of at least 0, got {gamma!r}.")
    xp = xp_of_all(logits, targets)
    (x, t), kind = all_precise(name, xp, logits, targets)
    check_range(name, "targets", t, 0.0, 1.0, "Each is the probability of the positive class.")
    losses = (1 - t) * x + softplus_of(xp, -x)
    if gamma:
        # 1 - p_t without a difference of near-equal numbers.
        missing = xp.sigmoid(x) * (1 - t) + xp.sigmoid(-x) * t
        least = xp.finfo(x.dtype).smallest_normal
        losses = losses * xp.where(missing < least, least, missing) ** gamma
    if alpha is not None:
        alpha = probability(name, "alpha", alpha)
        losses = losses * (alpha * t + (1 - alpha) * (1 - t))
    return xp.astype(reduced(name, xp, losses, reduction), kind, copy=False)


def hinge_loss(predictions: A, targets: A, /, *, margin: float = 1.0, reduction: str = "mean") -> A:
    """max(0, margin - targets * predictions) for targets of -1 and 1.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.hinge_loss(np.array([0.5, 3.0]), np.array([-1.0, 1.0]), reduction="none")
    array([1.5, 0. ])
    """
    if has_nest(predictions, targets):
        return call_leafwise(
            hinge_loss, (predictions, targets), {"margin": margin, "reduction": reduction}
        )
    same_shape("hinge_loss", predictions=predictions, targets=targets)
    xp = xp_of_all(predictions, targets)
    (x, t), kind = all_precise("hinge_loss", xp, predictions, targets)
    _check_signs("hinge_loss", t)
    return xp.astype(
        reduced("hinge_loss", xp, xp.relu(margin - t * x), reduction), kind, copy=False
    )


def _check_signs(name: str, targets: Any) -> None:
    """Raise unless all targets are -1 or 1, where values can be looked at."""
    xp = xp_of_all(targets)
    if not xp.is_concrete(targets) or 0 in tuple(targets.shape):
        return
    values = xp.stop_gradient(targets)
    if float(xp.min(xp.abs(values))) != 1 or float(xp.max(xp.abs(values))) != 1:
        raise ArgumentError(
            f"{name}() expects targets of -1 and 1, got others. For targets of 0 and 1 write 2 * targets - 1."
        )
