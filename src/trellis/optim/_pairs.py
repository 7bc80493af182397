"""Gradient transformations: pairs of pure functions, `init` and `update`, and how they chain.

The parts of the library are written as rules over lists of leaves. A chain of them walks the nests once,
keeps one step counter for all and calls the frameworks' multi-tensor operations on whole lists.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of, xp_of_all, xp_of_any
from .._core.errors import ArgumentError
from ._walk import Rebuild, aligned

Leaves = list[Any]


class Now(NamedTuple):
    """What a rule may know beside the gradients: the number of this step (from 1), the parameters."""

    xp: Any
    step: Any
    params: Leaves
    nest: Any


class Rule(NamedTuple):
    """A transformation of lists of leaves.

    `apply(now, updates, slots)` gives the new updates and the new slots: lists beside the leaves that it
    keeps from step to step, under these names. `start(xp, params)` gives the first ones; zeros unless told.
    """

    apply: Callable[[Now, Leaves, list[Leaves]], tuple[Leaves, list[Leaves]]]
    names: tuple[str, ...] = ()
    start: Callable[[Any, Leaves], list[Leaves]] | None = None


class Transformation(NamedTuple):
    """A pair of pure functions over nests.

        state = init(params)
        updates, state = update(grads, state, params)
        params = apply_updates(params, updates)

    Both can be compiled. Your own pair chains with those of the library: the third member is theirs.
    """

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]
    rules: tuple[Rule, ...] | None = None


def from_rules(*rules: Rule) -> Transformation:
    """The pair that applies the rules one after another; its state is `step` and all their slots."""
    keys = slot_names(rules)

    def init(params: Any) -> Container:
        return init_rules(rules, params)

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        opened = open_nests(keys, grads, state, params)
        if not opened.updates:
            return grads, Container({**state, "step": opened.now.step})
        updates, kept = run_rules(rules, keys, opened)
        return opened.rebuild(updates), closed(opened, kept)

    return Transformation(init, update, rules)


def chain(*transformations: Transformation) -> Transformation:
    """One transformation after another: the updates of each are the gradients of the next.

    >>> import numpy as np
    >>> from trellis import optim
    >>> clipped = optim.chain(optim.clip(1.0), optim.scale(-0.1))
    >>> updates, state = clipped.update(np.array([5.0, 0.5]), clipped.init(np.zeros(2)), np.zeros(2))
    >>> updates
    array([-0.1 , -0.05])
    """
    rules: list[Rule] = []
    for transformation in transformations:
        if transformation.rules is None:
            return _nested_chain(transformations)
        rules += transformation.rules
    return from_rules(*rules)


def _nested_chain(transformations: tuple[Transformation, ...]) -> Transformation:
    """A chain with parts that only show their two functions: each keeps its own state."""
    names = [f"part{i}" for i in range(len(transformations))]

    def init(params: Any) -> Container:
        return Container({n: t.init(params) for n, t in zip(names, transformations, strict=True)})

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        new_state = {}
        for name, transformation in zip(names, transformations, strict=True):
            grads, new_state[name] = transformation.update(grads, state[name], params)
        return grads, Container(new_state)

    return Transformation(init, update)


def identity() -> Transformation:
    """The transformation that hands its gradients on."""
    return from_rules()


def apply_updates(params: Any, updates: Any, /) -> Any:
    """`params + updates`, leaf by leaf; `params` is not modified.

    >>> import numpy as np
    >>> from trellis import optim
    >>> optim.apply_updates({"w": np.array([1.0, 2.0])}, {"w": np.array([-0.5, 0.5])})
    {'w': array([0.5, 2.5])}
    """
    return tree.map(lambda w, u: w + u, params, updates)


# Running rules --------------------------------------------------------------------------------------


def init_rules(rules: tuple[Rule, ...], params: Any) -> Container:
    [leaves], rebuild, _ = aligned([params], False)
    xp = xp_of_any(*leaves)
    leaves = [w if hasattr(w, "dtype") else xp.asarray(w) for w in leaves]
    state = {"step": _zero(xp, leaves)}
    for rule, keys in zip(rules, slot_names(rules), strict=True):
        columns = _zeros(xp, leaves, keys) if rule.start is None else rule.start(xp, leaves)
        for key, column in zip(keys, columns, strict=True):
            state[key] = rebuild(column)
    return Container(state)


class Opened(NamedTuple):
    """Gradients, state and parameters as lists, at the beginning of a step."""

    now: Now
    updates: Leaves
    slots: dict[str, Leaves]
    params: Leaves
    rebuild: Rebuild
    shape: list[Any] | None  # of the nests, if they are plain Containers
    owns_slots: bool  # nobody else can see the slots: they may be overwritten


class Held(NamedTuple):
    """A state between two steps, in lists, that nobody has seen yet."""

    step: Any
    slots: dict[str, Leaves]
    rebuild: Rebuild
    shape: list[Any]

    def shown(self) -> Container:
        """The state as a user sees it."""
        nests = {key: self.rebuild(column) for key, column in self.slots.items()}
        return Container({"step": self.step, **nests})


def open_nests(
    keys: list[list[str]],
    grads: Any,
    state: Container | Held,
    params: Any,
    *,
    detach: bool = False,
) -> Opened:
    """The lists; with `detach`, without what the framework recorded about them."""
    names = [key for own in keys for key in own]
    lead = grads if params is None else params
    owns_slots = False
    if isinstance(state, Held):
        step = state.step + 1
        xp = xp_of(step)
        columns, rebuild, shape = aligned([lead, grads], True)
        owns_slots = shape == state.shape
        if not owns_slots:
            state = state.shown()
    if isinstance(state, Held):
        slots = state.slots
    else:
        step = state["step"] + 1
        xp = xp_of(step)
        nests = [lead, grads, *[state[name] for name in names]]
        columns, rebuild, shape = aligned(nests, xp.is_concrete(step))
        slots = dict(zip(names, columns[2:], strict=True))
    leaves, updates = columns[0], columns[1]
    if leaves:
        xp_of_all(step, *leaves, *updates)
        leaves, updates = _alike(xp, leaves, updates)
    if detach:
        leaves, updates = xp.foreach_detach(leaves), xp.foreach_detach(updates)
    now = Now(xp, step, leaves if params is not None else [], params)
    return Opened(now, updates, slots, leaves, rebuild, shape, owns_slots)


def run_rules(
    rules: tuple[Rule, ...], keys: list[list[str]], opened: Opened
) -> tuple[Leaves, dict[str, Leaves]]:
    """The updates after all rules, and their new slots by name."""
    updates, kept = opened.updates, {}
    for rule, own in zip(rules, keys, strict=True):
        updates, columns = rule.apply(opened.now, updates, [opened.slots[key] for key in own])
        kept.update(dict(zip(own, columns, strict=True)))
    return updates, kept


def closed(opened: Opened, kept: dict[str, Leaves]) -> Container:
    """The new state."""
    nests = {key: opened.rebuild(column) for key, column in kept.items()}
    return Container({"step": opened.now.step, **nests})


def held(opened: Opened, kept: dict[str, Leaves]) -> Container | Held:
    """The new state for somebody who keeps it to himself."""
    if opened.shape is None:
        return closed(opened, kept)
    return Held(opened.now.step, kept, opened.rebuild, opened.shape)


def needed_params(now: Now, who: str) -> Leaves:
    """The parameters as a list, or an error where `update` was called without them."""
    if now.nest is None:
        raise ArgumentError(f"{who} needs the parameters: write update(grads, state, params).")
    return now.params


def slot_names(rules: tuple[Rule, ...]) -> list[list[str]]:
    """The names in the state of each rule's slots; the second "m" of a chain is "m_2"."""
    seen: dict[str, int] = {}
    keys = []
    for rule in rules:
        own = []
        for name in rule.names:
            seen[name] = seen.get(name, 0) + 1
            own.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
        keys.append(own)
    return keys


def _zeros(xp: Any, leaves: Leaves, keys: list[str]) -> list[Leaves]:
    return [[xp.zeros_like(w) for w in leaves] for _ in keys]


def _zero(xp: Any, leaves: Leaves) -> Any:
    """The step counter: an array, so that a compiled step does not depend on its value, beside the leaves."""
    if not leaves:
        return xp.zeros((), dtype="int32")
    return xp.sum(xp.zeros_like(leaves[0], dtype="int32"), dtype="int32")


def _alike(xp: Any, leaves: Leaves, grads: Leaves) -> tuple[Leaves, Leaves]:
    """Parameters as arrays, and gradients in their dtypes."""
    if all(
        [
            hasattr(w, "dtype") and hasattr(g, "dtype") and g.dtype == w.dtype
            for w, g in zip(leaves, grads, strict=True)
        ]
    ):
        return leaves, grads
    if any([g is None for g in grads]):
        raise ArgumentError(
            "A gradient is None. Differentiate with trellis.grad, which gives zeros where a leaf has no "
            "influence, or leave such leaves out of both nests."
        )
    leaves = [w if hasattr(w, "dtype") else xp.asarray(w) for w in leaves]
    return leaves, [
        xp.astype(g, w.dtype) if hasattr(g, "dtype") else xp.full_like(w, g)
        for w, g in zip(leaves, grads, strict=True)
    ]
