"""Gradient accumulation: one step of the optimizer from the mean of several gradients."""

from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from ._pairs import Transformation, init_rules


def accumulate_gradients(inner: Transformation, every: int) -> Transformation:
    """`inner` on the mean of each `every` gradients; the updates in between are zero.

    Eagerly, `inner` runs only when it is due. Compiled, it runs every time and its result is chosen or
    not: the program is the same at each step.

    >>> import numpy as np
    >>> from trellis import optim
    >>> slow = optim.accumulate_gradients(optim.scale(1.0), 2)
    >>> state = slow.init(np.zeros(1))
    >>> updates, state = slow.update(np.array([1.0]), state)
    >>> updates
    array([0.])
    >>> updates, state = slow.update(np.array([3.0]), state)
    >>> updates
    array([2.])
    """
    if every < 1:
        raise ArgumentError(f"every must be at least 1, got {every!r}.")

    def init(params: Any) -> Container:
        zeros = tree.map(lambda w: xp_of(w).zeros_like(w), params)
        return Container(
            count=init_rules((), params)["step"], gradients=zeros, inner=inner.init(params)
        )

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        count = state["count"] + 1
        xp = xp_of(count)
        total = tree.map(lambda s, g: s + _like(xp, g, s), state["gradients"], grads)
        zeros = tree.map(xp.zeros_like, total)
        if xp.is_concrete(count) and int(count) < every:
            return zeros, Container(count=count, gradients=total, inner=state["inner"])
        mean = tree.map(lambda s: s / every, total)
        updates, new_inner = inner.update(mean, state["inner"], params)
        if xp.is_concrete(count):
            start = Container(count=xp.zeros_like(count), gradients=zeros, inner=new_inner)
            return updates, start
        is_due = count >= every

        def chosen(due: Any, waiting: Any) -> Any:
            return tree.map(lambda x, y: xp.where(is_due, x, y), due, waiting)

        new_state = Container(
            count=chosen(xp.zeros_like(count), count),
            gradients=chosen(zeros, total),
            inner=chosen(new_inner, state["inner"]),
        )
        return chosen(updates, zeros), new_state

    return Transformation(init, update)


def _like(xp: Any, g: Any, s: Any) -> Any:
    return g if g.dtype == s.dtype else xp.astype(g, s.dtype)
