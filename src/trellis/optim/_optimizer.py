"""`Optimizer`: a transformation and a learning rate, as an object that keeps its state."""

import copy
import math
from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.errors import ArgumentError
from .._gradients.transforms import stop_gradient
from ._accumulation import accumulate_gradients
from ._pairs import (
    Held,
    Leaves,
    Opened,
    Rule,
    Transformation,
    chain,
    closed,
    held,
    open_nests,
    run_rules,
    slot_names,
)
from ._rates import Rate, scale_by_learning_rate


class Optimizer:
    """`w - lr * direction`, with the direction from a transformation; `lr` is a number or a schedule.

    `step` keeps the state here, in `state`; `init` and `update` are the same thing as pure functions, for
    compiled training steps. `lr=None` says that the transformation scales by itself.

    >>> import numpy as np
    >>> from trellis import optim
    >>> opt = optim.Optimizer(optim.chain(optim.clip(1.0), optim.trace(0.9)), lr=0.1)
    >>> v = {"w": np.array([1.0, 2.0])}
    >>> v = opt.step(v, {"w": np.array([5.0, 0.5])})
    >>> v
    {'w': array([0.9 , 1.95])}
    >>> opt.state.momentum.w, int(opt.state.step)
    (array([1. , 0.5]), 1)
    """

    _state: Container | Held

    def __init__(self, transformation: Transformation, lr: Rate | None):
        self.lr = lr
        self.state = Container()
        self._alpha: float = -1
        self._replaced = 0
        if lr is None:
            self.transformation = transformation
        elif callable(lr) or hasattr(lr, "dtype"):
            rate = scale_by_learning_rate(lr, flip_sign=False)
            self.transformation = chain(transformation, rate)
        else:
            # A plain number needs no pass of its own: it goes into the addition.
            self.transformation = transformation
            self._alpha = -checked_number("lr", lr, 0, math.inf)

    @property
    def state(self) -> Container:
        """What the steps so far have left: a Container of arrays, to be saved like the variables.

        Until it has been asked for, a step may write over the arrays of the last one; those given out stay.
        """
        if isinstance(self._state, Held):
            self._state = self._state.shown()
        return self._state

    @state.setter
    def state(self, new: Container) -> None:
        self._state = new

    def __getstate__(self) -> dict[str, Any]:
        # A copy shares the arrays, so that nobody owns them alone any more.
        return {**self.__dict__, "_state": self.state}

    def init(self, v: Any, /) -> Container:
        """The first state for variables `v`: a Container of arrays, to be saved like `v` itself."""
        state: Container = self.transformation.init(v)
        return state

    def update(self, v: Any, grads: Any, state: Any, /) -> tuple[Any, Any]:
        """The new variables and the new state; a pure function, made to be compiled.

        >>> import numpy as np, trellis
        >>> opt = trellis.optim.SGD(0.5)
        >>> v = np.array([1.0, 2.0])
        >>> v, state = trellis.compile(opt.update)(v, v, opt.init(v))
        >>> v
        array([0.5, 1. ])
        """
        return self._updated(v, grads, state, False)

    def step(self, v: Any, grads: Any, /) -> Any:
        """The new variables; `v` is not modified, the new state is in `state`.

        It is a constant for any enclosing gradient: to differentiate through a step, use `update`.
        """
        state = self._state if len(self._state) else self.init(v)
        new_v, self._state = self._updated(v, grads, state, True)
        return new_v

    def _updated(self, v: Any, grads: Any, state: Any, detach: bool) -> tuple[Any, Any]:
        if self.transformation.rules is not None:
            return self._updated_by_rules(self.transformation.rules, v, grads, state, detach)
        if isinstance(state, Held):
            state = state.shown()
        if detach:
            v, grads = stop_gradient(v), stop_gradient(grads)
        updates, new_state = self.transformation.update(grads, state, v)
        return tree.map(lambda w, u: w + self._alpha * u, v, updates), new_state

    def _updated_by_rules(
        self, rules: tuple[Rule, ...], v: Any, grads: Any, state: Any, detach: bool
    ) -> tuple[Any, Any]:
        """Everything on one set of lists; the last rules and the descent in one kernel, if there is one.

        With `detach`, the state is for ourselves alone.
        """
        close = held if detach else closed
        keys = slot_names(rules)
        opened = open_nests(keys, grads, state, v, detach=detach)
        if not opened.params:
            state = state.shown() if isinstance(state, Held) else state
            return v, Container({**state, "step": opened.now.step})
        first = len(rules) - self._replaced
        updates, kept = run_rules(rules[:first], keys[:first], opened)
        slots = [opened.slots[key] for own in keys[first:] for key in own]
        whole = self._kernel(opened, updates, slots) if self._replaced else None
        if whole is not None:
            names = [key for own in keys[first:] for key in own]
            kept.update(dict(zip(names, whole[1], strict=True)))
            return opened.rebuild(whole[0]), close(opened, kept)
        updates, others = run_rules(rules[first:], keys[first:], opened._replace(updates=updates))
        kept.update(others)
        new_leaves = opened.now.xp.foreach_add(opened.params, updates, alpha=self._alpha)
        return opened.rebuild(new_leaves), close(opened, kept)

    def _kernel(
        self, opened: Opened, updates: Leaves, slots: list[Leaves]
    ) -> tuple[Leaves, list[Leaves]] | None:
        """The new variables and slots in place of the last `_replaced` rules, or None; for subclasses."""
        return None

    def after(self, *transformations: Transformation) -> "Optimizer":
        """This optimizer on gradients that have gone through other transformations first.

        >>> from trellis import optim
        >>> opt = optim.Adam(1e-3).after(optim.clip_by_global_norm(1.0))
        """
        return self._with(chain(*transformations, self.transformation))

    def accumulated(self, every: int, /) -> "Optimizer":
        """This optimizer on the mean gradient of every `every` steps; in between, nothing changes.

        >>> import numpy as np
        >>> from trellis import optim
        >>> opt = optim.SGD(0.1).accumulated(2)
        >>> v = opt.step(np.array([1.0]), np.array([1.0]))
        >>> opt.step(v, np.array([3.0]))
        array([0.8])
        """
        return self._with(accumulate_gradients(self.transformation, every))

    def _with(self, transformation: Transformation) -> "Optimizer":
        changed = copy.copy(self)
        changed.transformation, changed.state = transformation, Container()
        return changed

    def __repr__(self) -> str:
        steps = f", after {int(self.state.step)} steps" if "step" in self.state else ""
        return f"<{type(self).__name__} lr={self.lr!r}{steps}>"


def checked_number(name: str, value: Any, low: float, high: float) -> Any:
    """`value`, if it lies between the two limits."""
    if not low <= value <= high:
        raise ArgumentError(f"{name} must lie in [{low}, {high}], got {value!r}.")
    return value
