"""Cross entropy of class indices as one entry on the tape."""

from typing import Any

import numpy as np

from ._fused import fused, is_plain
from ._tape import TracedArray


def class_losses(logits: Any, targets: Any, /, *, axis: int, reduction: str) -> Any:
    """Cross entropy with class indices in one kernel; None where it does not apply.

    It differentiates along the last axis. The caller reports targets out of range.
    """
    if type(logits) is not TracedArray or type(targets) is not np.ndarray:
        return None
    shape = logits.shape
    if not is_plain([logits._value]) or axis != len(shape) - 1 or 0 in shape:
        return None
    if targets.dtype.kind not in "iu":
        return None
    lowest, highest = np.minimum.reduce(targets, None), np.maximum.reduce(targets, None)
    if lowest < 0 or highest >= shape[-1]:
        return None
    return _fused(logits, _Places(targets), reduction)[0]


class _Places:
    """Holds the targets: as a plain array, integers would count as an array of a second type."""

    def __init__(self, targets: Any):
        self.targets = targets


def _formula(logits: Any, places: _Places, reduction: str) -> tuple[Any]:
    top = np.max(logits, axis=-1, keepdims=True)
    away = logits - top
    normal = away - np.log(np.sum(np.exp(away), axis=-1, keepdims=True))
    losses = -np.take_along_axis(normal, places.targets[..., None], axis=-1)[..., 0]
    return (_reduced(losses, reduction),)


def _reduced(losses: Any, reduction: str) -> Any:
    if reduction == "none":
        return losses
    return np.mean(losses) if reduction == "mean" else np.sum(losses)


def _forward(logits: Any, places: _Places, reduction: str) -> tuple[tuple[Any], Any]:
    shape, targets = logits.shape, places.targets.reshape(-1)
    rows = logits.reshape(targets.size, shape[-1])
    index = np.arange(targets.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = rows - np.maximum.reduce(rows, axis=1, keepdims=True)
        chosen = away[index, targets]
        parts = np.exp(away, out=away)
        total = np.add.reduce(parts, axis=1, keepdims=True)
        losses = np.log(total[:, 0]) - chosen
    results = (_reduced(losses.reshape(shape[:-1]), reduction),)
    return results, (parts, total, index, targets, reduction, shape)


def _backward(gs: list[Any], kept: Any, places: list[int]) -> list[Any]:
    (g,), (parts, total, index, targets, reduction, shape) = gs, kept
    into = parts / total
    into[index, targets] -= 1
    if reduction == "none":
        into *= g.reshape(-1, 1)
    else:
        into *= g / targets.size if reduction == "mean" else g
    return [into.reshape(shape)]


_fused = fused(_forward, _backward, _formula)
