"""Regression losses, computed in float32 at least. `reduction` is "mean", "sum" or "none"."""

import math
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Array
from ._arguments import same_shape
from ._precision import all_precise
from ._reduction import Reduction, reduced


def mse_loss(predictions: A, targets: A, /, *, reduction: Reduction = "mean") -> A:
    """(predictions - targets)**2.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.mse_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    2.0
    """
    try:
        if has_nest(predictions, targets):
            return call_leafwise(mse_loss, (predictions, targets), {"reduction": reduction})
        xp, away, kind = _difference("mse_loss", predictions, targets)
        return reduced("mse_loss", xp, away * away, reduction, kind)
    except Exception as error:
        return explain(error, mse_loss)


def mae_loss(predictions: A, targets: A, /, *, reduction: Reduction = "mean") -> A:
    """|predictions - targets|.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.mae_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """
    try:
        if has_nest(predictions, targets):
            return call_leafwise(mae_loss, (predictions, targets), {"reduction": reduction})
        xp, away, kind = _difference("mae_loss", predictions, targets)
        return reduced("mae_loss", xp, xp.abs(away), reduction, kind)
    except Exception as error:
        return explain(error, mae_loss)


def huber_loss(
    predictions: A, targets: A, /, *, delta: float = 1.0, reduction: Reduction = "mean"
) -> A:
    """d**2 / 2 where |d| <= delta, else delta * (|d| - delta / 2), for d = predictions - targets.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.huber_loss(np.array([0.5, 3.0]), np.array([0.0, 0.0]), reduction="none")
    array([0.125, 2.5  ])
    """
    try:
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
        return reduced("huber_loss", xp, near * (size - 0.5 * near), reduction, kind)
    except Exception as error:
        return explain(error, huber_loss)


def _difference(name: str, predictions: Array, targets: Array) -> tuple[Any, Any, str]:
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
    reduction: Reduction = "mean",
) -> A:
    """exp(x) - targets * x for logarithms x of the rate.

    With `log_input=False`, x - targets * log(x + epsilon) for the rate x itself.

    `full` adds Stirling's t * log(t) - t + log(2 * pi * t) / 2 where targets t are above 1.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> float(F.poisson_nll_loss(np.array([0.0]), np.array([2.0])))
    1.0
    """
    try:
        if has_nest(predictions, targets):
            kwargs = {
                "log_input": log_input,
                "full": full,
                "epsilon": epsilon,
                "reduction": reduction,
            }
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
        return reduced(name, xp, losses, reduction, kind)
    except Exception as error:
        return explain(error, poisson_nll_loss)
