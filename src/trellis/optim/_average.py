"""The exponential moving average of the variables: often better than the last ones."""

from typing import Any

from .._core.container import Container
from ._moments import ema


class ParameterAverage:
    """`a = decay * a + (1 - decay) * v` after each step of training.

    With `debias` the average starts at zero and is divided by `1 - decay**t`, so that early ones are not
    bound to the first variables; without, it starts at the variables given to `init`. `step` keeps the
    state here; `init` and `update` are pure.

    >>> import numpy as np
    >>> from trellis import optim
    >>> average = optim.ParameterAverage(0.5)
    >>> average.step(np.array([1.0]))
    array([1.])
    >>> np.round(average.step(np.array([4.0])), 6)
    array([3.])
    """

    def __init__(self, decay: float = 0.999, *, debias: bool = True):
        self.state = Container()
        self._debias = debias
        self._rule = ema(decay, debias=debias)

    def init(self, v: Any, /) -> Container:
        """The first state."""
        state: Container = self._rule.init(v)
        return state if self._debias else Container(step=state["step"], average=v)

    def update(self, v: Any, state: Any, /) -> tuple[Any, Any]:
        """The average including `v`, and the new state; a pure function."""
        return self._rule.update(v, state)

    def step(self, v: Any, /) -> Any:
        """The average including `v`; the new state is in `state`."""
        average, self.state = self.update(v, self.state if len(self.state) else self.init(v))
        return average
