"""From the losses of single elements to one number."""

from typing import Any, Literal, TypeAlias

from .._core.errors import ArgumentError
from .._core.typing import Array, Backend

Reduction: TypeAlias = Literal["mean", "sum", "none"]
REDUCTIONS: tuple[Reduction, ...] = ("mean", "sum", "none")


def reduced(name: str, xp: Backend, losses: Array, reduction: Reduction, kind: str,
            total: Array | None = None) -> Any:  # fmt: skip
    """The losses as they are, their sum, or their mean, in the dtype `kind`.

    `total` is what a weighted mean divides by.
    """
    if reduction == "none":
        found = losses
    elif reduction == "sum":
        found = xp.sum(losses)
    elif reduction == "mean" and total is None:
        found = xp.mean(losses)
    elif reduction == "mean":
        # Nothing to average over: zero, with zero gradients.
        is_empty = total == 0
        found = xp.where(is_empty, 0.0, xp.sum(losses) / xp.where(is_empty, 1.0, total))
    else:
        raise ArgumentError(
            f"{name}() knows the reductions {', '.join(map(repr, REDUCTIONS))}, got {reduction!r}."
        )
    return xp.astype(found, kind, copy=False)
