"""Normalisation by its formula."""

from ...array_api import Native
from . import xp


def layer_norm(
    x: Native,
    weight: Native | None,
    bias: Native | None,
    /,
    *,
    axes: tuple[int, ...],
    epsilon: float,
) -> Native:
    # Two passes: the mean of what the rounded mean leaves is subtracted too.
    away = x - xp.mean(xp.stop_gradient(x), axis=axes, keepdims=True)
    away = away - xp.mean(away, axis=axes, keepdims=True)
    y = away / xp.sqrt(xp.mean(away * away, axis=axes, keepdims=True) + epsilon)
    shape = tuple([n if i in axes else 1 for i, n in enumerate(x.shape)])
    y = y if weight is None else y * xp.reshape(weight, shape)
    return y if bias is None else y + xp.reshape(bias, shape)


def batch_norm(
    x: Native,
    weight: Native | None,
    bias: Native | None,
    /,
    *,
    channel: int,
    epsilon: float,
) -> tuple[Native, Native, Native] | None:
    """There is no such kernel: the caller uses its formula."""
    return None
