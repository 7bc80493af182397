"""Parameter groups: an optimizer for each part of the variables, and parts that stay as they are.

The leaves of a group are a smaller pytree, for which its optimizer has a state and makes a step as
if there were no others. Frozen leaves are in none: they have no state, no decay, and no gradient is
asked for where `split` was used, as `fit` does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._core import tree
from .._core.container import Container
from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._core.patterns import as_patterns, listed, matches, require_matches
from .._core.typing import Nest, T
from .._gradients.transforms import stop_gradient
from .accumulation import KeepsAverage
from .engine import counter
from .optimizer import Optimizer
from .transformation import Transformation, chain, checked_transformation, identity

_ADVICE = (
    "Each leaf needs exactly one place: an optimizer, or frozen=[...]; a pattern that begins with "
    '"!" is everything else, such as "!head/*".'
)


class Plan(NamedTuple):
    """Where each leaf of a pytree goes: the number of its group, or None where it is frozen."""

    chains: tuple[str, ...]
    places: tuple[int | None, ...]

    def chains_of(self, group: int) -> list[str]:
        rows = zip(self.chains, self.places, strict=True)
        return [name for name, place in rows if place == group]


class Groups(KeepsAverage, Optimizer):
    """An optimizer for each group of variables, by patterns; see `optim.groups`.

    Args:
        parts: The optimizer of each pattern.
        frozen: Patterns of the leaves that stay as they are.
    """

    def __init__(self, parts: Mapping[str, Optimizer], frozen: Sequence[str] = ()):
        super().__init__(identity(), 1.0)
        if not isinstance(parts, Mapping) or not parts:
            raise ArgumentTypeError(
                'groups() expects a dict of patterns and optimizers, such as {"head/*": '
                f"optim.Adam(1e-3)}}, got {parts!r}."
            )
        for pattern, part in parts.items():
            as_patterns("groups", "each key", pattern)
            if not isinstance(part, Optimizer):
                raise ArgumentTypeError(
                    f"groups() expects an optimizer for {pattern!r}, such as optim.Adam(1e-3), "
                    f"got {part!r}."
                )
        self.parts, self.frozen = dict(parts), as_patterns("groups", "frozen", frozen)
        self._before = identity()
        self._plan = Plan((), ())

    @property
    def lr(self) -> dict[str, Any]:  # type: ignore[override]
        """The learning rate of each group, by its pattern; `parts[pattern].lr` can be set."""
        return {pattern: part.lr for pattern, part in self.parts.items()}

    @lr.setter
    def lr(self, value: object) -> None:
        if "parts" in self.__dict__:
            raise ArgumentError(
                "Groups have a learning rate each: set that of one, optimizer.parts["
                f"{next(iter(self.parts))!r}].lr = {value!r}."
            )

    def _lend(self) -> Callable[[], None]:
        """The same for all groups; see `Optimizer._lend`."""
        backs = [super()._lend(), *[part._lend() for part in self.parts.values()]]

        def give_back() -> None:
            for back in backs:
                back()

        return give_back

    def split(self, v: T, /) -> tuple[Container, Container]:
        """The variables that are trained, and the frozen ones; `join` puts them together.

        Differentiate with respect to the first, and the others cost no gradient.

        Args:
            v: All variables.

        >>> import numpy as np
        >>> from trellis import optim
        >>> opt = optim.groups({"head/*": optim.SGD(0.1)}, frozen=["body/*"])
        >>> free, rest = opt.split({"head": {"w": np.ones(2)}, "body": {"w": np.ones(3)}})
        >>> free.key_chains(), rest.key_chains()
        (['head/w'], ['body/w'])
        """
        plan, leaves = self._planned(v), _leaves(v)
        rows = list(zip(plan.chains, leaves, plan.places, strict=True))
        free = {name: x for name, x, place in rows if place is not None}
        rest = {name: x for name, x, place in rows if place is None}
        return tree.from_key_chains(free), tree.from_key_chains(rest)

    def join(self, v: T, free: Nest, /) -> T:
        """All variables, with new ones for those that are trained.

        Args:
            v: All variables.
            free: The first result of `split`, or what became of it.

        >>> import numpy as np
        >>> from trellis import optim
        >>> opt = optim.groups({"a": optim.SGD(0.1)}, frozen=["b"])
        >>> opt.join({"a": np.zeros(1), "b": np.ones(1)}, {"a": np.full(1, 5.0)})
        {'a': array([5.]), 'b': array([1.])}
        """
        new = dict(zip(_chains(free), _leaves(free), strict=True))
        leaves = zip(_chains(v), _leaves(v), strict=True)
        return _rebuilt(v, [new.get(name, x) for name, x in leaves])  # type: ignore[no-any-return]

    def init(self, v: Nest, /) -> Container:
        """The first state: that of each group, by its number."""
        self.__dict__["_plan"] = plan = self._planned(v)
        named = dict(zip(plan.chains, _leaves(v), strict=True))
        free = self.split(v)[0]
        state = Container(step=counter(free), before=self._before.init(free))
        for i, part in enumerate(self.parts.values()):
            state[f"group{i}"] = part.init(_picked(named, plan.chains_of(i)))
        return state

    def update(self, v: T, grads: Nest, state: Nest, /) -> tuple[T, Container]:
        """The new variables and the new state. `grads` has all leaves, or those of `split`."""
        self.check_trains(state)
        plan, leaves = self._planned(v), _leaves(v)
        named = dict(zip(plan.chains, leaves, strict=True))
        free = [name for i in range(len(self.parts)) for name in plan.chains_of(i)]
        found = _gradients(grads, plan, free)
        given: Any = state
        changed, before = self._before.update(_picked(found, free), given["before"],
                                              _picked(named, free))  # fmt: skip
        found = dict(zip(_chains(changed), _leaves(changed), strict=True))
        new_state = Container(step=given["step"] + 1, before=before)
        for i, part in enumerate(self.parts.values()):
            names = plan.chains_of(i)
            own, own_grads = _picked(named, names), _picked(found, names)
            new, new_state[f"group{i}"] = part.update(own, own_grads, given[f"group{i}"])
            named.update(zip(_chains(new), _leaves(new), strict=True))
        return _rebuilt(v, [named[name] for name in plan.chains]), new_state

    def step(self, v: T, grads: Nest, /) -> T:
        """The new variables; `v` is not modified, the new state is in `state`."""
        state = self.state if len(self.state) else self.init(v)  # type: ignore[arg-type]
        new_v, self.state = self.update(stop_gradient(v), stop_gradient(grads), state)
        return new_v

    @property
    def keeps_average(self) -> bool:  # type: ignore[override]
        """Whether one of the optimizers does."""
        return any([part.keeps_average for part in self.parts.values()])

    def averaged(self, v: Any, state: Any, /) -> Any:
        """The variables to evaluate: in groups whose optimizer keeps an average, that.

        Args:
            v: What the last `update` returned.
            state: The state that came with it.
        """
        return self._mapped("averaged", v, state)

    def trained(self, average: Any, state: Any, /) -> Any:
        """The variables to train on with, from the average.

        Args:
            average: What `averaged` returned.
            state: The state that went into it.
        """
        return self._mapped("trained", average, state)

    def _mapped(self, method: str, v: Any, state: Any) -> Any:
        """The variables, with those of groups that keep an average by this method of theirs."""
        plan = self._planned(v)
        named = dict(zip(plan.chains, _leaves(v), strict=True))
        for i, part in enumerate(self.parts.values()):
            if part.keeps_average:
                own = _picked(named, plan.chains_of(i))
                new = getattr(part, method)(own, state[f"group{i}"])
                named.update(zip(_chains(new), _leaves(new), strict=True))
        return _rebuilt(v, [named[name] for name in plan.chains])

    @property
    def measure_every(self) -> int | None:  # type: ignore[override]
        """After how many steps `fit` measures the curvature, for the groups that use it."""
        found = {part.measure_every for part in self.parts.values()} - {None}
        if len(found) > 1:
            raise ArgumentError(
                f"groups() got optimizers that measure the curvature after {sorted(found)} steps: "  # type: ignore[type-var]
                "choose one measure_every for all of them."
            )
        return found.pop() if found else None

    def measured(self, state: Any, curvature: Nest, /) -> Container:
        """The state with a new estimate of the curvature, in the groups that use one.

        Args:
            state: What `init` or `update` returned.
            curvature: A pytree like the variables that are trained.
        """
        named = dict(zip(_chains(curvature), _leaves(curvature), strict=True))
        new = Container({**state})
        for i, part in enumerate(self.parts.values()):
            if part.measure_every is not None:
                own = _picked(named, self._plan.chains_of(i))
                new[f"group{i}"] = part.measured(state[f"group{i}"], own)  # type: ignore[attr-defined]
        return new

    def after(self, *transformations: Transformation) -> "Groups":
        """These groups, with other transformations applied to all gradients together first.

        >>> from trellis import optim
        >>> opt = optim.groups({"*": optim.SGD(0.1)}).after(optim.clip_by_global_norm(1.0))
        """
        for one in transformations:
            checked_transformation("after", one)
        changed = self._with(self.transformation)
        assert isinstance(changed, Groups), "a copy of this"
        changed._before = chain(*transformations, self._before)
        return changed

    def accumulated(self, every: int, /) -> Optimizer:
        """Not for groups as a whole: accumulate in each of them."""
        raise ArgumentError(_each(f"accumulated({every})"))

    def with_lookahead(self, every: int = 5, factor: float = 0.5) -> Optimizer:
        """Not for groups as a whole: look ahead in each of them.

        Args:
            every: How many steps there are for each slow one.
            factor: The part of the way that the slow variables go.
        """
        raise ArgumentError(_each(f"with_lookahead({every}, {factor})"))

    def _planned(self, v: object) -> Plan:
        chains = tuple(_chains(v))
        return self._plan if chains == self._plan.chains else self._plan_of(chains)

    def _plan_of(self, chains: tuple[str, ...]) -> Plan:
        """The place of each leaf, which must be one."""
        patterns = [*self.parts, *self.frozen]
        require_matches("groups", patterns, chains)
        places: list[int | None] = []
        for name in chains:
            own = [i for i, pattern in enumerate(self.parts) if matches(pattern, name)]
            fixed = [pattern for pattern in self.frozen if matches(pattern, name)]
            if len(own) + bool(fixed) > 1:
                found = [pattern for pattern in patterns if matches(pattern, name)]
                raise ArgumentError(
                    f"groups() got {len(found)} patterns that match {name!r}: "
                    f"{', '.join([repr(p) for p in found])}. {_ADVICE}"
                )
            if not own and not fixed:
                left = [x for x in chains if not any([matches(p, x) for p in patterns])]
                raise ArgumentError(
                    f"groups() got no pattern for {len(left)} of {len(chains)} leaves: "
                    f"{listed(left)}. {_ADVICE}"
                )
            places.append(own[0] if own else None)
        return Plan(chains, tuple(places))

    def __repr__(self) -> str:
        frozen = f", frozen={list(self.frozen)}" if self.frozen else ""
        return f"groups({self.parts!r}{frozen})"


def groups(parts: Mapping[str, Optimizer], *, frozen: str | Sequence[str] = ()) -> Groups:
    """An optimizer for each group of variables, and variables that stay as they are.

    Patterns are those of key paths, where `*` is any text, slashes too, and a `!` in front means
    everything else. Each leaf needs one place: a pattern that matches nothing, a leaf that none or
    two match raise. Frozen leaves have no state and no decay, and `fit` takes no gradient for them;
    by hand, differentiate with respect to the first result of `split`. The state has an entry for
    each group, and is saved like any other.

    Args:
        parts: The optimizer of each pattern.
        frozen: Patterns of the leaves that stay as they are.

    >>> import numpy as np
    >>> from trellis import optim
    >>> opt = optim.groups({"head/*": optim.SGD(0.5)}, frozen=["body/*"])
    >>> v = {"body": {"w": np.ones(2)}, "head": {"w": np.ones(2)}}
    >>> opt.step(v, {"head": {"w": np.ones(2)}})
    {'body': {'w': array([1., 1.])}, 'head': {'w': array([0.5, 0.5])}}
    """
    return Groups(parts, as_patterns("groups", "frozen", frozen))


# Helpers
# -------------------------------------------------------------------------------------------------


def _chains(nest: object) -> list[str]:
    return tree.key_chains(nest) if tree.is_nest(nest) else [""]


def _leaves(nest: object) -> list[Any]:
    return tree.leaves(nest) if tree.is_nest(nest) else [nest]


def _rebuilt(like: Any, leaves: list[Any]) -> Any:
    return tree.unflatten(tree.structure(like), leaves) if tree.is_nest(like) else leaves[0]


def _picked(named: Mapping[str, Any], names: Sequence[str]) -> Container:
    return tree.from_key_chains({name: named[name] for name in names})


def _gradients(grads: Nest, plan: Plan, free: Sequence[str]) -> dict[str, Any]:
    """The gradients of what is trained, by name."""
    chains = _chains(grads)
    if set(chains) not in (set(free), set(plan.chains)):
        odd = sorted(set(plan.chains) ^ set(chains))
        raise ShapeError(
            "groups() expects gradients of all variables, or of those that are trained, as split() "
            f"gives them; these differ from the variables in {listed(odd)}."
        )
    return dict(zip(chains, _leaves(grads), strict=True))


def _each(call: str) -> str:
    return (
        f"groups() has no {call}, which belongs to one optimizer: write it for each group, "
        f'groups({{"head/*": optim.Adam(1e-3).{call}}}).'
    )
