"""Lookahead: slow variables that follow fast ones."""

from dataclasses import dataclass
from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of
from .._core.typing import Nest
from .arguments import count, explained, positive
from .engine import counter, without_params
from .transformation import Transformation, checked_transformation


@explained
def lookahead(inner: Transformation, every: int = 5, factor: float = 0.5) -> Transformation:
    """Slow variables that go a part of the way to the fast ones (Zhang et al., 2019).

    Every `every` steps `slow = slow + factor * (fast - slow)`, and the fast ones go on from there.
    `inner` includes the learning rate, and its updates are subtracted:
    `optimizer.with_lookahead()` sees to both.

    Args:
        inner: From gradients to what is subtracted from the variables.
        every: How many fast steps there are for each slow one.
        factor: The part of the way, above 0.

    >>> import numpy as np
    >>> from trellis import optim
    >>> opt = optim.SGD(0.5).with_lookahead(every=2, factor=0.5)
    >>> v = np.array([1.0])
    >>> for _ in range(2):
    ...     v = opt.step(v, np.array([1.0]))
    >>> v
    array([0.5])
    """
    inner = checked_transformation("lookahead", inner)
    pair = Lookahead(inner, count("every", every), positive("factor", factor))
    return Transformation(pair.init, pair.update)


@dataclass(frozen=True)
class Lookahead:
    """The pair of functions of `lookahead`."""

    inner: Transformation
    every: int
    factor: float

    def init(self, params: Nest) -> Container:
        slow = tree.map(lambda w: w * 1, params)  # the memory of the variables is the caller's
        step = counter(params)
        return Container(step=step, slow=slow, inner=self.inner.init(params))

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        if params is None:
            raise without_params("lookahead")
        step = state["step"] + 1
        xp = xp_of(step)
        is_due = step % self.every == 0
        updates, inner = self.inner.update(grads, state["inner"], params)

        def next_slow(slow: Any, w: Any, u: Any) -> Any:
            return xp.where(is_due, slow + self.factor * (w - u - slow), slow)

        slow = tree.map(next_slow, state["slow"], params, updates)
        updates = tree.map(lambda u, w, s: xp.where(is_due, w - s, u), updates, params, slow)
        return updates, Container(step=step, slow=slow, inner=inner)
