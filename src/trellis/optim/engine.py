"""Rules over lists of leaves, and how a chain of them runs.

A chain flattens the pytrees once, keeps one step counter for all its rules and passes whole lists
to the multi-tensor operations of the frameworks:

    pytrees -> lists -> rule.apply -> rule.apply -> ... -> pytrees
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of, xp_of_all, xp_of_any
from .._core.dtypes import name_of
from .._core.errors import ArgumentError, DtypeError
from .._core.typing import Array, Backend, DTypeLike, Nest

Leaves = list[Any]
_OTHERS = (dict, list, tuple, type(None))  # pytrees that are not Containers
HALF = ("float16", "bfloat16")

# Rules --------------------------------------------------------------------------------------------


class Now(NamedTuple):
    """What a rule gets besides the gradients: the number of the step, from 1; the parameters."""

    xp: Any
    step: Any
    params: Leaves
    nest: Any

    def needed_params(self, who: str) -> Leaves:
        """The parameters as a list, or an error where `update` was called without them."""
        if self.nest is None:
            raise without_params(who)
        return self.params

    def number(self, leaves: Leaves, fn: Callable[[Any], Any]) -> Any:
        """`fn(step)` as an operand for the leaves; the step is a float of their dtype.

        Where the leaves have several dtypes it is the list of the values that fit each. For
        half-precision leaves the number is computed in float32, where every step up to 2**24 has
        its own value.
        """
        first = leaves[0].dtype
        if all([x.dtype == first for x in leaves]):
            return self._number_in(first, fn)
        return [self._number_in(x.dtype, fn) for x in leaves]

    def numbers(self, leaves: Leaves, fn: Callable[[Any], Any]) -> Leaves:
        """The same with one value for each leaf, where an operation takes no list of leaves."""
        found = self.number(leaves, fn)
        return found if isinstance(found, list) else [found] * len(leaves)

    def _number_in(self, dtype: DTypeLike, fn: Callable[[Any], Any]) -> Any:
        cast = self.xp.foreach_cast
        value = fn(cast([self.step], "float32" if name_of(dtype) in HALF else dtype)[0])
        is_other = hasattr(value, "dtype") and value.dtype != dtype
        return cast([value], dtype)[0] if is_other else value


def without_params(who: str) -> ArgumentError:
    """The error of a transformation that was not given the parameters."""
    return ArgumentError(f"{who}() needs the parameters: write update(grads, state, params).")


class NoSlots(NamedTuple):
    """The slots of a rule without state."""


S = TypeVar("S", bound=tuple[Leaves, ...])
# A whole step in one kernel of the framework, or None: from (now, gradients, slots, rate, reuse) to
# the new parameters and slots. With `reuse` it may overwrite the slots.
Kernel = Callable[[Now, Leaves, Any, Any, bool], tuple[Leaves, tuple[Leaves, ...]] | None]


class Rule(Generic[S]):
    """A transformation of lists of leaves; the subclasses are frozen dataclasses of their numbers.

    `slots` is a NamedTuple of lists with an array for each leaf, kept from step to step: its field
    names are the names in the state.
    """

    slots: type[S]

    def start(self, xp: Backend, params: Leaves) -> S:
        """The first slots; zeros by default."""
        return self.slots(*[[xp.zeros_like(w) for w in params] for _ in names_of(self.slots)])

    def apply(self, now: Now, g: Leaves, state: S) -> tuple[Leaves, S]:
        """The new updates and the new slots."""
        raise NotImplementedError

    def kernel(self, behind: tuple["Rule[Any]", ...]) -> Kernel | None:
        """A kernel for the whole step, in place of this rule and those after it, or None."""
        return None


def names_of(slots: type[tuple[Leaves, ...]]) -> tuple[str, ...]:
    names: tuple[str, ...] = slots._fields  # type: ignore[attr-defined]
    return names


# Running rules ------------------------------------------------------------------------------------


class Lists(NamedTuple):
    """Gradients, state and parameters as lists, at the beginning of a step."""

    now: Now
    grads: Leaves
    slots: dict[str, Leaves]
    leaves: Leaves  # of the parameters, or of the gradients where no parameters were given
    rebuild: Callable[[Leaves], Any]
    outline: list[Any] | None  # of the pytrees, if they are plain Containers
    owns_slots: bool  # nothing else refers to the slots: they may be overwritten


class PrivateState(NamedTuple):
    """A state between two steps, in lists, that the user has not read yet."""

    step: Any
    slots: dict[str, Leaves]
    outline: list[Any]  # not a pytree of the slots, which would keep their leaves in memory

    def shown(self) -> Container:
        """The state as a user sees it."""
        nests = {name: _outlined(self.outline, x, [0, 0]) for name, x in self.slots.items()}
        return Container({"step": self.step, **nests})


class RuleChain:
    """Rules that run one after another on one set of lists."""

    def __init__(self, rules: tuple[Rule[Any], ...]):
        self.rules = rules
        self.names = slot_names(rules)
        self.kernel: Kernel | None = None
        self.fused = len(rules)  # the first rule that the kernel replaces
        for i, rule in enumerate(rules):
            if self.kernel is None:
                self.kernel, self.fused = rule.kernel(rules[i + 1 :]), i

    def init(self, params: Nest) -> Container:
        """The first state: the step counter and the slots of all rules."""
        [leaves], rebuild, _ = aligned([params], False)
        xp = xp_of_any(*leaves)
        leaves = [w if hasattr(w, "dtype") else xp.asarray(w) for w in leaves]
        check_floats(xp, leaves)
        state = {"step": first_step(xp, leaves)}
        for rule, names in zip(self.rules, self.names, strict=True):
            for name, column in zip(names, rule.start(xp, leaves), strict=True):
                state[name] = rebuild(column)
        return Container(state)

    def begin(self, params: Nest) -> Container | PrivateState:
        """`init` for a caller who keeps the state private: a step may overwrite it."""
        state = self.init(params)
        flat = [name for own in self.names for name in own]
        is_eager = xp_of(state["step"]).is_concrete(state["step"])
        columns, _, outline = aligned([params, *[state[name] for name in flat]], is_eager)
        if outline is None:
            return state
        return PrivateState(state["step"], dict(zip(flat, columns[1:], strict=True)), outline)

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        """The updates and the new state."""
        lists = open_nests(self.names, grads, state, params)
        kept: dict[str, Leaves] = {}
        if not lists.grads:
            return grads, Container({**state, "step": lists.now.step})
        updates = self._run(0, len(self.rules), lists, lists.grads, kept)
        return lists.rebuild(updates), closed(lists, kept)

    def descend(
        self, params: Any, grads: Any, state: Any, rate: float, *, private: bool
    ) -> tuple[Any, Any]:
        """`params - rate * updates` and the new state; the last rules run as one kernel, if there
        is one.  Only the caller refers to a `private` state: it may be passed and returned as a
        PrivateState.
        """
        lists = open_nests(self.names, grads, state, params, detach=private)
        kept: dict[str, Leaves] = {}
        if not lists.leaves:
            state = state.shown() if isinstance(state, PrivateState) else state
            return params, Container({**state, "step": lists.now.step})
        close = closed_privately if private else closed
        updates = self._run(0, self.fused, lists, lists.grads, kept)
        if self.kernel is not None:
            own = self._slots(self.fused, lists)
            done = self.kernel(lists.now, updates, own, rate, lists.owns_slots)
            if done is not None:
                kept.update(dict(zip(self.names[self.fused], done[1], strict=True)))
                return lists.rebuild(done[0]), close(lists, kept)
        updates = self._run(self.fused, len(self.rules), lists, updates, kept)
        new = lists.now.xp.foreach_add(lists.leaves, updates, alpha=-rate)
        return lists.rebuild(new), close(lists, kept)

    def _run(
        self, first: int, last: int, lists: Lists, updates: Leaves, kept: dict[str, Leaves]
    ) -> Leaves:
        """The updates after some of the rules; their new slots are added to `kept`."""
        for i in range(first, last):
            updates, slots = self.rules[i].apply(lists.now, updates, self._slots(i, lists))
            kept.update(dict(zip(self.names[i], slots, strict=True)))
        return updates

    def _slots(self, i: int, lists: Lists) -> Any:
        return self.rules[i].slots(*[lists.slots[name] for name in self.names[i]])


def slot_names(rules: tuple[Rule[Any], ...]) -> list[list[str]]:
    """The names in the state of each rule's slots; the second "m" of a chain is "m_2"."""
    seen: dict[str, int] = {}
    names = []
    for rule in rules:
        own = []
        for name in names_of(rule.slots):
            seen[name] = seen.get(name, 0) + 1
            own.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
        names.append(own)
    return names


def flat(nest: object) -> Leaves:
    """The leaves of a pytree; an array alone is its own leaf."""
    return tree.leaves(nest) if tree.has_parts(nest) else [nest]


def widened(xp: Backend, x: Any) -> Any:
    """Half precision as float32, for sums, squares and matrices; other leaves as they are."""
    return xp.astype(x, "float32") if name_of(x.dtype) in HALF else x


def cast_like(xp: Backend, x: Array, like: Array) -> Any:
    """An array in the dtype of another."""
    return x if x.dtype == like.dtype else xp.astype(x, like.dtype)


def first_step(xp: Backend, leaves: Leaves) -> Any:
    """The step counter: an array, so that a compiled step does not depend on its value."""
    if not leaves:
        return xp.zeros((), dtype="int32")
    # A sum of zeros is on the device of the leaves.
    return xp.sum(xp.zeros_like(leaves[0], dtype="int32"), dtype="int32")


def counter(params: Nest) -> Any:
    """The step counter of a pair of functions that keeps its own state; `params` are checked."""
    return RuleChain(()).init(params)["step"]


def closed(lists: Lists, kept: dict[str, Leaves]) -> Container:
    """The new state."""
    nests = {name: lists.rebuild(column) for name, column in kept.items()}
    return Container({"step": lists.now.step, **nests})


def closed_privately(lists: Lists, kept: dict[str, Leaves]) -> Container | PrivateState:
    """The new state for a caller who keeps it private."""
    if lists.outline is None:
        return closed(lists, kept)
    return PrivateState(lists.now.step, kept, lists.outline)


# Pytrees to lists and back
# --------------------------------------------------------------------------


def open_nests(
    names: list[list[str]],
    grads: Any,
    state: Any,
    params: Any,
    *,
    detach: bool = False,
) -> Lists:
    """The lists; with `detach`, without the framework's history of them."""
    lead = grads if params is None else params
    owns_slots = False
    if isinstance(state, PrivateState):
        step = state.step + 1
        xp = xp_of(step)
        columns, rebuild, outline = aligned([lead, grads], True)
        owns_slots = outline == state.outline
        if not owns_slots:
            state = state.shown()
    if isinstance(state, PrivateState):
        slots = state.slots
    else:
        step = state["step"] + 1
        xp = xp_of(step)
        flat = [name for own in names for name in own]
        nests = [lead, grads, *[state[name] for name in flat]]
        columns, rebuild, outline = aligned(nests, xp.is_concrete(step))
        slots = dict(zip(flat, columns[2:], strict=True))
    leaves, updates = columns[0], columns[1]
    if leaves and not (outline is not None and are_floats(xp, step, leaves, updates)):
        xp_of_all(step, *leaves, *updates)
        leaves, updates = alike(xp, leaves, updates)
    if detach:
        leaves, updates = xp.foreach_detach(leaves), xp.foreach_detach(updates)
    now = Now(xp, step, leaves if params is not None else [], params)
    return Lists(now, updates, slots, leaves, rebuild, outline, owns_slots)


def are_floats(xp: Backend, step: Array | int, leaves: Leaves, grads: Leaves) -> bool:
    """Whether all are floats of one type of array and one dtype, so that no cast is needed.

    Lists are compared as wholes: checking leaf by leaf would take longer than some steps.
    """
    kinds = set(map(type, leaves)).union(map(type, grads))
    if len(kinds) != 1 or not hasattr(leaves[0], "dtype"):
        return False
    xp_of_all(step, leaves[0])
    dtypes = [w.dtype for w in leaves]
    is_one = dtypes.count(dtypes[0]) == len(dtypes) and dtypes[0] in xp.FLOAT_DTYPES
    return is_one and [g.dtype for g in grads] == dtypes


def alike(xp: Backend, leaves: Leaves, grads: Leaves) -> tuple[Leaves, Leaves]:
    """Parameters as floating-point arrays, and gradients in their dtypes."""
    floats = xp.FLOAT_DTYPES
    if all(
        [
            hasattr(w, "dtype") and hasattr(g, "dtype") and g.dtype == w.dtype and w.dtype in floats
            for w, g in zip(leaves, grads, strict=True)
        ]
    ):
        return leaves, grads
    if any([g is None for g in grads]):
        raise ArgumentError(
            "A gradient is None. Differentiate with trellis.grad, which gives zeros where a leaf "
            "has no influence, or leave such leaves out of both pytrees."
        )
    leaves = [w if hasattr(w, "dtype") else xp.asarray(w) for w in leaves]
    check_floats(xp, leaves)
    check_floats(xp, [g for g in grads if hasattr(g, "dtype")], or_integers=True)
    return leaves, [
        xp.astype(g, w.dtype) if hasattr(g, "dtype") else xp.full_like(w, g)
        for w, g in zip(leaves, grads, strict=True)
    ]


def check_floats(xp: Backend, leaves: Leaves, *, or_integers: bool = False) -> None:
    """Raise where an optimizer would round to integers or drop imaginary parts."""
    for x in leaves:
        is_fit = x.dtype in xp.FLOAT_DTYPES
        if or_integers:
            is_fit = not name_of(x.dtype).startswith("complex")
        if not is_fit:
            raise DtypeError(
                f"trellis.optim works on floating-point variables and gradients, and got "
                f"{name_of(x.dtype)}. Keep other arrays out of both pytrees (buffers of a module), "
                "and give complex numbers as their real and imaginary parts."
            )


def aligned(
    nests: list[Any], is_eager: bool
) -> tuple[list[Leaves], Callable[[Leaves], Any], list[Any] | None]:
    """The leaves of each pytree in the order of the first, and the function that rebuilds a pytree.

    The third is the structure of the pytrees in a form that can be compared, if they are all plain
    Containers, which have a faster path when eager. An optimizer flattens four pytrees and builds
    three at every step. `optree` calls Python functions node by node, which for 200 small
    leaves takes a third of the time of the arithmetic; this takes a tenth.
    """
    columns: list[Leaves]
    if is_eager and all([type(nest) is Container for nest in nests]):
        columns = [[] for _ in nests]
        outlines: list[list[Any]] = [[] for _ in nests]
        is_plain = all([_gather(*parts) for parts in zip(nests, columns, outlines, strict=True)])
        if is_plain and all([other == outlines[0] for other in outlines[1:]]):
            # From the outline: an example pytree would keep its leaves in memory.
            return columns, lambda leaves: _outlined(outlines[0], leaves, [0, 0]), outlines[0]
    columns, spec = tree.align(tuple(nests))
    if spec is None:
        return [[nest] for nest in nests], lambda leaves: leaves[0], None
    return columns, lambda leaves: tree.unflatten(spec, leaves), None


def _gather(nest: Container, leaves: Leaves, outline: list[Any]) -> bool:
    """Append the leaves and the outline; False if there is something other than Containers."""
    # The number of leaves before it identifies its entry in the level above.
    outline.append((len(leaves), nest._alphabetical, *nest))
    values = dict.values(nest)
    # Level by level, since a level of a thousand leaves has only one or two types.
    kinds = set(map(type, values))
    if any([issubclass(kind, _OTHERS) and kind is not Container for kind in kinds]):
        return False
    if Container in kinds:
        for value in values:
            if type(value) is not Container:
                leaves.append(value)
            elif not _gather(value, leaves, outline):
                return False
    else:
        leaves += values
    outline.append(None)
    return True


def _outlined(outline: list[Any], leaves: Leaves, at: list[int]) -> Container:
    """The Container of the outline; `at` is how far it and the leaves have been read."""
    _, alphabetical, *keys = outline[at[0]]
    at[0] += 1
    level = Container.__new__(Container)
    object.__setattr__(level, "_alphabetical", alphabetical)
    if outline[at[0]] is None:  # nothing below this level
        end = at[1] + len(keys)
        dict.update(level, zip(keys, leaves[at[1] : end], strict=True))
        at[1] = end
    else:
        for key in keys:
            below = outline[at[0]]
            if below is not None and below[0] == at[1]:
                dict.__setitem__(level, key, _outlined(outline, leaves, at))
            else:
                dict.__setitem__(level, key, leaves[at[1]])
                at[1] += 1
    at[0] += 1
    return level
