"""Normalizations whose statistics ONNX defines in its own way."""

from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.typing import Array
from .tensors import batch_normalized


def batch_norm_training(x: Array, scale: Array, bias: Array, mean: Array, variance: Array,
                        epsilon: float, momentum: float, /) -> tuple[Any, Any, Any]:  # fmt: skip
    """Batch normalization by the batch's own statistics, and the running ones after it; the
    variance is that of the batch itself, not an estimate."""
    y, now, spread, _ = batch_normalized(x, scale, bias, epsilon=epsilon, channel_axis=1)
    return (
        t.astype(y, t.dtype(x), copy=False),
        mean * momentum + t.astype(now, t.dtype(mean), copy=False) * (1 - momentum),
        variance * momentum + t.astype(spread, t.dtype(variance), copy=False) * (1 - momentum),
    )


def dropout(x: Array, prob: float, is_training: bool, /) -> tuple[Any, Any]:
    """Elements set to zero with a probability, the others scaled up; and which ones are kept."""
    xp = xp_of(x)
    if not is_training or prob == 0:
        return x, t.ones_like(x, dtype="bool")
    if prob >= 1:
        return t.zeros_like(x), t.zeros_like(x, dtype="bool")
    ones = xp.ones(tuple(x.shape), dtype="float32", device=xp.device(x))
    mask = t.dropout(ones, prob, training=True) > 0
    return t.where(mask, x, 0.0) * (1.0 / (1.0 - prob)), mask
