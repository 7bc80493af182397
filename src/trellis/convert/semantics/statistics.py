"""Normalizations whose statistics ONNX defines in its own way."""

from typing import Any

import trellis as t

from ..._core.dispatch import xp_of


def batch_norm_training(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, momentum: float, /
) -> tuple[Any, Any, Any]:
    """Batch normalization by the batch's own statistics, and the running ones after it; the
    variance is that of the batch itself, not an estimate."""
    axes = tuple([i for i in range(len(x.shape)) if i != 1])
    shape = (1, -1) + (1,) * (len(x.shape) - 2)
    now, spread = t.mean(x, axis=axes), t.var(x, axis=axes)
    y = (x - t.reshape(now, shape)) * t.rsqrt(t.reshape(spread, shape) + epsilon)
    y = y * t.reshape(scale, shape) + t.reshape(bias, shape)
    y = t.astype(y, t.dtype(x), copy=False)
    return (
        y,
        mean * momentum + t.astype(now, t.dtype(mean), copy=False) * (1 - momentum),
        variance * momentum + t.astype(spread, t.dtype(variance), copy=False) * (1 - momentum),
    )


def local_response_norm(x: Any, /, *, size: int, alpha: float, beta: float, bias: float) -> Any:
    """`x` over a power of the mean square of so many neighbouring channels; of an even number,
    one more follows than goes before."""
    before = (size - 1) // 2
    channels = x.shape[1]
    widths = [(0, 0)] * len(x.shape)
    widths[1] = (before, size - 1 - before)
    squares = t.pad(t.square(x), widths)
    total: Any = None
    for i in range(size):
        part = squares[:, i : i + channels]
        total = part if total is None else total + part
    return x / t.pow(total * (alpha / size) + bias, beta)


def dropout(x: Any, prob: float, is_training: bool, /) -> tuple[Any, Any]:
    """Elements set to zero with a probability, the others scaled up; and which ones are kept."""
    xp = xp_of(x)
    if not is_training or prob == 0:
        return x, t.ones_like(x, dtype="bool")
    if prob >= 1:
        return t.zeros_like(x), t.zeros_like(x, dtype="bool")
    ones = xp.ones(tuple(x.shape), dtype="float32", device=xp.device(x))
    mask = t.dropout(ones, prob, training=True) > 0
    return t.where(mask, x, 0.0) * (1.0 / (1.0 - prob)), mask
