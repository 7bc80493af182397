"""`Optimizer`: a transformation and a learning rate, as an object that keeps its state."""

import copy
import functools
from collections.abc import Callable
from inspect import signature
from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.errors import ArgumentError
from .._core.typing import Nest, T
from .._gradients.transforms import stop_gradient
from .accumulation import accumulate_gradients
from .arguments import explained, rate
from .engine import PrivateState
from .lookahead import lookahead
from .scaling import Rate, scale, scale_by_learning_rate
from .transformation import Transformation, chain, checked_transformation


class Hyperparameter:
    """An attribute that only the constructor sets: compiled steps have its value built in. A
    learning rate can be changed as long as only `step`, which is never compiled, has used it."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, optimizer: "Optimizer | None", owner: type) -> Any:
        if optimizer is None:
            return self
        if self._name not in optimizer.__dict__:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return optimizer.__dict__[self._name]

    def __set__(self, optimizer: "Optimizer", value: object) -> None:
        if "_is_made" in optimizer.__dict__:
            name, kind = self._name, type(optimizer).__name__
            if name == "lr" and optimizer._takes_rate(value):
                optimizer._rate = optimizer.__dict__["lr"] = rate("lr", value)
                return
            raise ArgumentError(
                f"{name} of an optimizer cannot be changed: a compiled step has its value built "
                "in. Go on with the same state in a new optimizer, or let a schedule change the "
                "learning rate.\n"
                f"    wrong:  optimizer.{name} = {value!r}\n"
                f"    right:  new = optim.{kind}({name}={value!r}); new.state = optimizer.state\n"
                f"    right:  optimizer = optim.{kind}(lr=optim.schedules.cosine(1e-3, 1000))"
            )
        optimizer.__dict__[self._name] = value


def _constructor(init: Callable[..., None]) -> Callable[..., None]:
    """`__init__` with errors that explain, after which the hyperparameters are fixed."""
    explaining = explained(init)

    @functools.wraps(init)
    def construct(self: "Optimizer", *args: Any, **kwargs: Any) -> None:
        explaining(self, *args, **kwargs)
        if type(self).__init__ is construct:  # not that of a base class
            self.__dict__["_is_made"] = True

    return construct


class Optimizer:
    """`w - lr * direction`, with the direction from a transformation.

    `step` keeps the state here, in `state`; `init` and `update` are the same thing as pure
    functions, for compiled training steps. Optimizers are copied and pickled with their state.
    `optimizer.lr = 1e-4` changes a learning rate that is a number for the next `step` or the next
    `fit`; it raises once `init` was called, since a compiled `update` would not notice.

    Args:
        transformation: From gradients to directions, such as `optim.scale_by_adam()` or a chain.
        lr: A number, an array of one number, or a schedule; None, as 1.0, if the transformation
            scales by itself.

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

    _state: Container | PrivateState
    measure_every: int | None = None  # after how many steps `fit` calls `measured`, if at all
    keeps_average = False  # whether the variables to evaluate are others than those trained
    lr = Hyperparameter("lr")

    @_constructor
    def __init__(self, transformation: Transformation, lr: Rate | None):
        self.lr = lr
        self.state = Container()
        self.transformation = checked_transformation(type(self).__name__, transformation)
        self._rate = 1.0
        if lr is not None or type(self) is not Optimizer:
            checked = rate("lr", lr)
            self.lr = checked
            if callable(checked) or hasattr(checked, "dtype"):
                by_rate = scale_by_learning_rate(checked, flip_sign=False)
                self.transformation = chain(transformation, by_rate)
            else:
                # A plain number needs no extra pass: it is part of the addition.
                self._rate = checked

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            cls.__init__ = _constructor(cls.__init__)  # type: ignore[method-assign]
            for name in signature(cls).parameters:
                if not hasattr(cls, name):
                    setattr(cls, name, Hyperparameter(name))

    @property
    def state(self) -> Container:
        """The state after the steps so far: a Container of arrays, to be saved like the variables.

        A step may overwrite the arrays of the last state only if that was never read here.
        """
        if isinstance(self._state, PrivateState):
            self._state = self._state.shown()
        return self._state

    @state.setter
    def state(self, new: Container) -> None:
        self._state = new

    def __getstate__(self) -> dict[str, Any]:
        # A copy shares the arrays, so neither may overwrite them.
        return {**self.__dict__, "_state": self.state}

    def _takes_rate(self, value: object) -> bool:
        """Whether the learning rate is a number of `step` alone, and the new one is too."""
        old = self.__dict__["lr"]
        are_numbers = all(
            [isinstance(x, (int, float)) and not isinstance(x, bool) for x in (old, value)]
        )
        return are_numbers and "_is_pure" not in self.__dict__ and self._rate == old

    def _lend(self) -> Callable[[], None]:
        """Let steps be compiled that end before the result is called: then the learning rate can be
        set again, as before."""
        was_pure = "_is_pure" in self.__dict__

        def give_back() -> None:
            if not was_pure:
                self.__dict__.pop("_is_pure", None)

        return give_back

    def init(self, v: Nest, /) -> Container:
        """The first state for variables `v`: a Container of arrays, to be saved like `v` itself."""
        self.__dict__["_is_pure"] = True
        state: Container = self.transformation.init(v)
        return state

    def update(self, v: T, grads: Nest, state: Nest, /) -> tuple[T, Container]:
        """The new variables and the new state; a pure function, which can be compiled.

        >>> import numpy as np, trellis
        >>> opt = trellis.optim.SGD(0.5)
        >>> v = np.array([1.0, 2.0])
        >>> v, state = trellis.compile(opt.update)(v, v, opt.init(v))
        >>> v
        array([0.5, 1. ])
        """
        return self._updated(v, grads, state, False)

    def step(self, v: T, grads: Nest, /) -> T:
        """The new variables; `v` is not modified, the new state is in `state`.

        It is a constant for any enclosing gradient: to differentiate through a step, use `update`.
        """
        rules, state = self.transformation.rules, self._state
        if not len(state):
            begin = self.transformation.init if rules is None else rules.begin
            state = begin(v)  # type: ignore[arg-type]
        new_v, self._state = self._updated(v, grads, state, True)
        return new_v

    def _updated(self, v: Any, grads: Any, state: Any, private: bool) -> tuple[Any, Any]:
        """With `private`, only this optimizer refers to the state, and gradients stop here."""
        rules = self.transformation.rules
        if rules is not None:
            return rules.descend(v, grads, state, self._rate, private=private)
        if private:
            v, grads = stop_gradient(v), stop_gradient(grads)
        updates, new_state = self.transformation.update(grads, state, v)
        return tree.map(lambda w, u: w - self._rate * u, v, updates), new_state

    def after(self, *transformations: Transformation) -> "Optimizer":
        """This optimizer, with other transformations applied to the gradients first.

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

    def with_lookahead(self, every: int = 5, factor: float = 0.5) -> "Optimizer":
        """This optimizer with slow variables that follow its own: see `optim.lookahead`.

        Args:
            every: How many steps there are for each slow one.
            factor: The part of the way that the slow variables go, above 0.

        >>> from trellis import optim
        >>> opt = optim.Adam(1e-3).with_lookahead(every=6)
        """
        whole = chain(self.transformation, scale(self._rate))
        changed = self._with(lookahead(whole, every, factor))
        changed._rate = 1.0
        return changed

    def maximizing(self) -> "Optimizer":
        """This optimizer going uphill: the gradients change their sign first.

        >>> import numpy as np
        >>> from trellis import optim
        >>> optim.SGD(0.5).maximizing().step(np.array([1.0]), np.array([2.0]))
        array([2.])
        """
        return self.after(scale(-1.0))

    def _with(self, transformation: Transformation) -> "Optimizer":
        changed = copy.copy(self)
        changed.transformation, changed.state = transformation, Container()
        changed.__dict__.pop("_is_pure", None)
        return changed

    def __repr__(self) -> str:
        steps = f", after {int(self.state.step)} steps" if "step" in self.state else ""
        return f"<{type(self).__name__} lr={self.lr!r}{steps}>"
