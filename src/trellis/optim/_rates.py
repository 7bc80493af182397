"""Scaling by a number or by a learning rate that may be a schedule."""

from collections.abc import Callable
from typing import Any

from ._pairs import Leaves, Now, Rule, Transformation, from_rules
from ._scalars import per_dtype

Rate = float | Callable[[Any], Any]


def scale(factor: float) -> Transformation:
    """`factor * g`.

    >>> import numpy as np
    >>> from trellis import optim
    >>> half = optim.scale(0.5)
    >>> half.update(np.array([2.0, 4.0]), half.init(np.zeros(2)))[0]
    array([1., 2.])
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        return now.xp.foreach_mul(g, factor), []

    return from_rules(Rule(apply))


def scale_by_schedule(schedule: Callable[[Any], Any]) -> Transformation:
    """`schedule(step) * g`, where the first step is 0.

    The schedule gets the step as a float array in the precision of the leaves (also a traced one).
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        return now.xp.foreach_mul(g, per_dtype(now, g, lambda t: schedule(t - 1))), []

    return from_rules(Rule(apply))


def scale_by_learning_rate(lr: Rate, *, flip_sign: bool = True) -> Transformation:
    """`-lr * g` (or `lr * g`): the last part of most chains. `lr` is a number or a schedule."""
    sign = -1 if flip_sign else 1
    if callable(lr):
        return scale_by_schedule(lambda t: sign * lr(t))
    return scale_by_schedule(lambda t: sign * lr) if hasattr(lr, "dtype") else scale(sign * lr)
