"""Gradient transformations: pairs of pure functions, `init` and `update`, and how they chain."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._core import tree
from .._core.container import Container
from .._core.errors import ArgumentTypeError
from .._core.explain import explain
from .._core.typing import Nest, T
from .engine import Rule, RuleChain, counter


class Transformation(NamedTuple):
    """A pair of pure functions over pytrees.

        state = init(params)
        updates, state = update(grads, state, params)
        params = apply_updates(params, updates)

    Both can be compiled. Your own pair can be chained with those of the library, which use the
    third member.

    Attributes:
        init: From the parameters to the first state, a pytree of arrays.
        update: From gradients, state and parameters to updates and the new state.
        rules: What the library's own transformations are made of; leave it out.

    >>> import numpy as np
    >>> from trellis import optim
    >>> twice = optim.Transformation(lambda params: {}, lambda g, state, params: (g * 2, state))
    >>> optim.Optimizer(twice, lr=0.5).step(np.array([1.0]), np.array([0.25]))
    array([0.75])
    """

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]
    rules: RuleChain | None = None


def from_rules(*rules: Rule[Any]) -> Transformation:
    """The pair that applies the rules in turn; its state is `step` and all their slots."""
    whole = RuleChain(rules)
    return Transformation(whole.init, whole.update, whole)


def chain(*transformations: Transformation) -> Transformation:
    """One transformation after another: the updates of each are the gradients of the next.

    Args:
        transformations: The parts, in the order in which they act.

    >>> import numpy as np
    >>> from trellis import optim
    >>> clipped = optim.chain(optim.clip(1.0), optim.scale(-0.1))
    >>> updates, state = clipped.update(np.array([5.0, 0.5]), clipped.init(np.zeros(2)))
    >>> updates
    array([-0.1 , -0.05])
    """
    rules: list[Rule[Any]] = []
    for part in transformations:
        checked_transformation("chain", part)
    for part in transformations:
        if part.rules is None:
            nested = NestedChain(transformations)
            return Transformation(nested.init, nested.update)
        rules += part.rules.rules
    return from_rules(*rules)


def checked_transformation(who: str, part: object) -> Transformation:
    """`part`, if it is a pair of functions."""
    if isinstance(part, Transformation):
        return part
    advice = "."
    if hasattr(part, "transformation"):
        advice = f": an optimizer comes last, write {type(part).__name__}(...).after(...)."
    elif callable(part):
        advice = f": call it first, {getattr(part, '__name__', 'it')}(...)."
    raise ArgumentTypeError(
        f"{who}() takes transformations, such as optim.clip(1.0), and got {part!r}{advice}"
    )


class NestedChain:
    """A chain with parts that have only the two functions: each keeps its own state."""

    def __init__(self, parts: tuple[Transformation, ...]):
        self.parts = {f"part{i}": part for i, part in enumerate(parts)}

    def init(self, params: Nest) -> Container:
        return Container({name: part.init(params) for name, part in self.parts.items()})

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        new_state = {}
        for name, part in self.parts.items():
            grads, new_state[name] = part.update(grads, state[name], params)
        return grads, Container(new_state)


def counted(inner: Transformation) -> Transformation:
    """`inner` with a counter of steps beside its state, as all optimizers have."""
    pair = Counted(inner)
    return Transformation(pair.init, pair.update)


class Counted:
    """The pair of functions of `counted`."""

    def __init__(self, inner: Transformation):
        self.inner = inner

    def init(self, params: Nest) -> Container:
        return Container(step=counter(params), inner=self.inner.init(params))

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        updates, inner = self.inner.update(grads, state["inner"], params)
        return updates, Container(step=state["step"] + 1, inner=inner)


def identity() -> Transformation:
    """The transformation that passes its gradients on unchanged.

    >>> import numpy as np
    >>> from trellis import optim
    >>> same = optim.identity()
    >>> same.update(np.array([2.0]), same.init(np.zeros(1)))[0]
    array([2.])
    """
    return from_rules()


def apply_updates(params: T, updates: Nest, /) -> T:
    """`params + updates`, leaf by leaf; `params` is not modified.

    Args:
        params: A pytree of arrays.
        updates: A pytree of the same structure, from a transformation.

    >>> import numpy as np
    >>> from trellis import optim
    >>> optim.apply_updates({"w": np.array([1.0, 2.0])}, {"w": np.array([-0.5, 0.5])})
    {'w': array([0.5, 2.5])}
    """
    try:
        new: T = tree.map(lambda w, u: w + u, params, updates)
        return new
    except Exception as error:
        return explain(error, apply_updates)
