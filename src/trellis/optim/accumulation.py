"""Over several steps: one update from the mean of many gradients, averages of the variables."""

from dataclasses import dataclass
from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from .._core.typing import Nest, T
from .arguments import count, explained
from .engine import Leaves, Now, Rule, cast_like, counter
from .moments import Average, ema
from .transformation import Transformation, checked_transformation, from_rules


@explained
def accumulate_gradients(inner: Transformation, every: int) -> Transformation:
    """`inner` on the mean of each `every` gradients; the updates in between are zero.

    Eagerly, `inner` runs only when it is due. Compiled, it runs every time, and its result is
    chosen
    or not: the program is the same at each step.

    Args:
        inner: A transformation.
        every: How many gradients make one update, at least 1.

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
    inner = checked_transformation("accumulate_gradients", inner)
    pair = Accumulated(inner, count("every", every))
    return Transformation(pair.init, pair.update)


@dataclass(frozen=True)
class Mean(Rule[Average]):
    """The mean of all gradients so far; here they are variables."""

    slots = Average

    def apply(self, now: Now, g: Leaves, state: Average) -> tuple[Leaves, Average]:
        xp = now.xp
        change = xp.foreach_add(g, state.average, alpha=-1)
        change = xp.foreach_div(change, now.number(g, lambda t: t), reuse=True)
        mean = xp.foreach_add(state.average, change)
        return mean, Average(mean)


@dataclass(frozen=True)
class Accumulated:
    """The pair of functions of `accumulate_gradients`."""

    inner: Transformation
    every: int

    def init(self, params: Nest) -> Container:
        none_yet = counter(params)
        zeros = tree.map(lambda w: xp_of(w).zeros_like(w), params)
        return Container(count=none_yet, gradients=zeros, inner=self.inner.init(params))

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        count = state["count"] + 1
        xp = xp_of(count)
        total = tree.map(lambda s, g: s + cast_like(xp, g, s), state["gradients"], grads)
        zeros = tree.map(xp.zeros_like, total)
        if xp.is_concrete(count) and int(count) < self.every:
            return zeros, Container(count=count, gradients=total, inner=state["inner"])
        mean = tree.map(lambda s: s / self.every, total)
        updates, new_inner = self.inner.update(mean, state["inner"], params)
        if xp.is_concrete(count):
            start = Container(count=xp.zeros_like(count), gradients=zeros, inner=new_inner)
            return updates, start
        is_due = count >= self.every

        def chosen(due: Any, waiting: Any) -> Any:
            return tree.map(lambda x, y: xp.where(is_due, x, y), due, waiting)

        new_state = Container(
            count=chosen(xp.zeros_like(count), count),
            gradients=chosen(zeros, total),
            inner=chosen(new_inner, state["inner"]),
        )
        return chosen(updates, zeros), new_state


class ParameterAverage:
    """The exponential moving average of the variables, which often generalizes better than the last
    ones; or with `decay=None` the mean of all, as in stochastic weight averaging.

        a = decay * a + (1 - decay) * v,    or  a = a + (v - a) / t

    `step` keeps the state here; `init` and `update` are pure.

    Args:
        decay: How much of the last average stays, in [0, 1); None: all variables count the same.
        debias: Whether the average starts at zero and is divided by `1 - decay**t`, so that early
            averages are not dominated by the first variables. Otherwise it starts at the variables
            given to
            `init`.

    >>> import numpy as np
    >>> from trellis import optim
    >>> average = optim.ParameterAverage(0.5)
    >>> average.step(np.array([1.0]))
    array([1.])
    >>> np.round(average.step(np.array([4.0])), 6)
    array([3.])
    """

    @explained
    def __init__(self, decay: float | None = 0.999, *, debias: bool = True):
        self.state = Container()
        self._debias = debias
        self._average = from_rules(Mean()) if decay is None else ema(decay, debias=debias)

    def init(self, v: Nest, /) -> Container:
        """The first state."""
        state: Container = self._average.init(v)
        return state if self._debias else Container(step=state["step"], average=v)

    def update(self, v: T, state: Nest, /) -> tuple[T, Container]:
        """The average including `v`, and the new state; a pure function."""
        average, new_state = self._average.update(v, state)
        return average, new_state

    def step(self, v: T, /) -> T:
        """The average including `v`; the new state is in `state`."""
        state = self.state if len(self.state) else self.init(v)  # type: ignore[arg-type]
        average, self.state = self.update(v, state)
        return average


# Optimizers that keep an average
# ----------------------------------------------------------------------------------------------
# They train at one point and keep the average of others, which is what is evaluated. `fit` asks any
# optimizer with `keeps_average` for it: `averaged` is the average, `finished` is what a run leaves
# behind, and `resumed` is what the next one begins with.

# The entry of a state beside an average, with the variables that are trained.
TRAINED = "trained"


class KeepsAverage:
    """The part that such optimizers share; they define `averaged` and `trained`."""

    keeps_average: bool = True

    def averaged(self, v: Any, state: Any, /) -> Any:
        """The variables to evaluate and to keep, of those that are trained; a pure function.

        Args:
            v: What the last `update` returned.
            state: The state that came with it.
        """
        raise NotImplementedError

    def trained(self, average: Any, state: Any, /) -> Any:
        """The variables to train on with, from the average; a pure function.

        Args:
            average: What `averaged` returned.
            state: The state that went into it.
        """
        raise NotImplementedError

    def finished(self, v: Any, state: Any, /) -> tuple[Any, Container]:
        """What a run leaves: the average, and a state that holds what was trained beside it.

        Args:
            v: What the last `update` returned.
            state: The state that came with it.
        """
        return self.averaged(v, state), Container({**state, TRAINED: v})

    def resumed(self, v: Any, state: Any, /) -> tuple[Any, Any]:
        """The variables and the state to train on with, of those that `finished` gave.

        Variables that were changed in between, such as those of an earlier epoch, are an average
        too. Anything else is given back as it is.

        Args:
            v: The variables that a run left in its model.
            state: The state that it left in its optimizer.
        """
        if not _is_finished(state):
            return v, state
        rest = Container({name: x for name, x in state.items() if name != TRAINED})
        trained = state[TRAINED]
        if _are_same(self.averaged(trained, rest), v):
            return trained, rest
        return self.trained(v, rest), rest

    def check_trains(self, state: Any) -> None:
        """Raise for the state that a run left: its variables are not those that are trained."""
        if _is_finished(state):
            raise ArgumentError(
                "fit() left the average in the model, which is not where training was. Before "
                "more steps by hand: v, optimizer.state = optimizer.resumed(model.v, "
                "optimizer.state)."
            )


def _is_finished(state: Any) -> bool:
    return isinstance(state, Container) and TRAINED in state


def _are_same(one: Any, other: Any) -> bool:
    pairs = zip(tree.leaves(one), tree.leaves(other), strict=True)
    return all([bool(xp_of(x).all(x == y)) for x, y in pairs])
