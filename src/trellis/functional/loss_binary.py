"""Binary losses. `reduction` is "mean", "sum" or "none".

Target indices out of range, probabilities outside 0 to 1 and the like raise wherever values are
known; compiled code has none, and there the result depends on the framework.
"""

from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.guards import check_number
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Array, Backend
from ._arguments import check_range, check_signs, probability, same_shape
from ._precision import all_precise, parameter
from ._reduction import Reduction, reduced
from .activation import softplus_of


def binary_cross_entropy(
    predictions: A,
    targets: A,
    /,
    *,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    positive_weight: A | float | None = None,
    reduction: Reduction = "mean",
) -> A:
    """-(t * log(p) + (1 - t) * log(1 - p)) for probabilities p, or for their logits.

    `positive_weight` w makes the first term w * t * log(p). Logits are stable at any size; a
    probability of exactly 0 or 1 counts as the smallest number above it, so that a sure error is
    large, not infinite.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> logits, targets = np.array([1e4, 0.0]), np.array([0.0, 1.0])
    >>> F.binary_cross_entropy(logits, targets, from_logits=True, reduction="none")
    array([1.00000000e+04, 6.93147181e-01])
    """
    try:
        if has_nest(predictions, targets, positive_weight):
            kwargs = {
                "from_logits": from_logits,
                "label_smoothing": label_smoothing,
                "positive_weight": positive_weight,
                "reduction": reduction,
            }
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
        return reduced(name, xp, losses, reduction, kind)
    except Exception as error:
        return explain(error, binary_cross_entropy)


def _safe_log(xp: Backend, p: Array) -> Any:
    least = xp.finfo(p.dtype).smallest_normal
    return xp.log(xp.where(p < least, least, p))


def focal_loss(
    logits: A,
    targets: A,
    /,
    *,
    alpha: float | None = 0.25,
    gamma: float = 2.0,
    reduction: Reduction = "mean",
) -> A:
    """Binary cross entropy of logits times (1 - p_t)**gamma, which lets easy examples count less.

    p_t is the probability that the logits give to the target; `alpha` weighs positives by alpha and
    negatives by 1 - alpha, None weighs none (https://arxiv.org/abs/1708.02002).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.focal_loss(np.array([0.0]), np.array([1.0]), alpha=None))
    0.17328679513998632
    """
    try:
        if type(gamma) is not float:
            check_number(gamma)
        if has_nest(logits, targets):
            return call_leafwise(
                focal_loss,
                (logits, targets),
                {"alpha": alpha, "gamma": gamma, "reduction": reduction},
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
        return reduced(name, xp, losses, reduction, kind)
    except Exception as error:
        return explain(error, focal_loss)


def hinge_loss(
    predictions: A, targets: A, /, *, margin: float = 1.0, reduction: Reduction = "mean"
) -> A:
    """max(0, margin - targets * predictions) for targets of -1 and 1.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.hinge_loss(np.array([0.5, 3.0]), np.array([-1.0, 1.0]), reduction="none")
    array([1.5, 0. ])
    """
    try:
        if type(margin) is not float:
            check_number(margin)
        if has_nest(predictions, targets):
            return call_leafwise(
                hinge_loss, (predictions, targets), {"margin": margin, "reduction": reduction}
            )
        same_shape("hinge_loss", predictions=predictions, targets=targets)
        xp = xp_of_all(predictions, targets)
        (x, t), kind = all_precise("hinge_loss", xp, predictions, targets)
        check_signs("hinge_loss", t)
        return reduced("hinge_loss", xp, xp.relu(margin - t * x), reduction, kind)
    except Exception as error:
        return explain(error, hinge_loss)
