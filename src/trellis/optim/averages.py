"""Optimizers that train at one point and keep the average of others, which is what is evaluated.

`fit` asks any optimizer with `keeps_average` for the average: `averaged` is it, `finished` is what
a run leaves behind, and `resumed` is what the next one begins with.
"""

from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of
from .._core.errors import ArgumentError

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
