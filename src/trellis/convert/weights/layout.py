"""How another library stores the variables of a layer: their names and the order of their axes."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...nn import Module
from ...nn.module.buffers import buffers
from ...nn.module.variables import stored_variables


def as_it_is(x: np.ndarray) -> Any:
    return x


def alone(x: np.ndarray) -> tuple[Any, ...]:
    return (x,)


def transposed(x: np.ndarray) -> tuple[Any, ...]:
    return (np.transpose(x),)


class Spelling(NamedTuple):
    """Names in the other library, relative to the layer, and our array computed from theirs."""

    names: tuple[str, ...]
    load: Callable[..., Any] = as_it_is


class Entry(NamedTuple):
    """One variable or buffer of a layer, and the arrays of the other library for it."""

    chain: str
    names: tuple[str, ...]
    load: Callable[..., Any] = as_it_is
    back: Callable[[Any], tuple[Any, ...]] = alone  # their arrays from ours; also their shapes
    others: tuple[Spelling, ...] = ()  # other names and layouts of the same array
    is_loose: bool = False  # axes of size 1 do not count

    def spellings(self) -> list[Spelling]:
        return [Spelling(self.names, self.load), *self.others]


class Layout(NamedTuple):
    """All entries of a layer."""

    entries: list[Entry]
    order: tuple[str, ...] = ()  # of their names, if it is not that of the entries
    beside: Mapping[str, Any] = {}  # arrays that only they have, with initial values
    seconds: Mapping[str, str] = {}  # second names of shared arrays: {second: first}
    with_children: bool = False  # whether the entries include the modules below


Rule = Callable[[Any, Mapping[str, Any]], Layout]


def same_arrays(**names: str) -> Rule:
    """A layer whose arrays are the same in both libraries: {name here: name there}."""
    entries = [Entry(chain, (name,)) for chain, name in names.items()]
    return lambda layer, own: Layout(entries)


class Library(NamedTuple):
    """How another library names and stores weights."""

    name: str
    separator: str
    rules: Mapping[type, Rule]
    children: Mapping[type, Mapping[str, str]]  # names of the modules inside a layer
    counts_plainly: bool  # whether a list of modules is 0, 1, ... instead of v0, v1, ...

    def name_in(self, layer: str, name: str) -> str:
        """The whole name of an array of a layer."""
        return joined(self.separator, layer, name)


class Slot(NamedTuple):
    """A layer and its position in the model."""

    path: str  # of its variables in ours: "layers/v0"
    name: str  # its expected name in the other library: "0"
    layer: Any
    layout: Layout
    own: Mapping[str, Any]  # its variables and buffers by chain
    is_known: bool  # whether there is a rule for it

    @property
    def place(self) -> str:
        """For messages: "Linear at 'layers/v0'"."""
        return f"{type(self.layer).__name__} at {self.path or 'the top'!r}"

    def order(self) -> list[str]:
        """Their names in their order."""
        if self.layout.order:
            return list(self.layout.order)
        found: dict[str, None] = {}
        for entry in self.layout.entries:
            found.update(dict.fromkeys(entry.names))
        return list(found)

    def shapes(self, entries: Sequence[Entry]) -> dict[str, tuple[int, ...]]:
        """The shapes that their arrays must have, by name."""
        found = {}
        for entry in entries:
            # Finding a shape needs no memory.
            ours = np.broadcast_to(np.float32(0), tuple(self.own[entry.chain].shape))
            for name, x in zip(entry.names, entry.back(ours), strict=True):
                found[name] = tuple(x.shape)
        return found


def joined(separator: str, *names: str) -> str:
    return separator.join([name for name in names if name])


def slots_of(model: Module, library: Library) -> list[Slot]:
    """The layers of a model that have variables or buffers, in the order of registration."""
    found: list[Slot] = []
    _collect(found, model, "", "", library)
    return found


def _collect(found: list[Slot], module: Module, path: str, name: str, library: Library) -> None:
    own = _own_arrays(module)
    rule = _rule_for(type(module), library)
    layout = Layout([])
    if rule is not None:
        everything = _all_arrays(module)
        layout = rule(module, everything)
        if layout.with_children:
            own = everything
        layout = layout._replace(entries=[e for e in layout.entries if e.chain in own])
    covered = {entry.chain for entry in layout.entries}
    rest = [Entry(c, (c.replace("/", library.separator),)) for c in own if c not in covered]
    layout = layout._replace(entries=[*layout.entries, *rest])
    if layout.entries:
        found.append(Slot(path, name, module, layout, own, not rest))
    if layout.with_children:
        return
    for child, steps in module.__node__.places():
        inner = joined(library.separator, name, _name_of_child(module, steps, library))
        _collect(found, child, joined("/", path, *steps), inner, library)


def _rule_for(cls: type, library: Library) -> Rule | None:
    for base in cls.__mro__:
        if base in library.rules:
            return library.rules[base]
    return None


def _all_arrays(module: Module) -> dict[str, Any]:
    node = module.__node__
    found = {}
    for nest in (stored_variables(node), buffers(node)):
        found.update({chain: nest[chain] for chain in nest.key_chains()})
    return found


def _own_arrays(module: Module) -> dict[str, Any]:
    """Variables and buffers that belong to no module below."""
    heads = ["/".join(steps) + "/" for _, steps in module.__node__.places()]
    return {
        chain: x
        for chain, x in _all_arrays(module).items()
        if not chain.startswith(tuple(heads)) and hasattr(x, "dtype")
    }


def _name_of_child(module: Module, steps: tuple[str, ...], library: Library) -> str:
    if not library.counts_plainly:
        return "/".join(steps)
    for base in type(module).__mro__:
        if base in library.children:
            known = library.children[base]
            steps = (known.get(steps[0], steps[0]), *steps[1:])
    # The first step is an attribute; the others are indices of lists, or keys.
    plain = [re.sub(r"^v(\d+)$", r"\1", step) for step in steps[1:]]
    return joined(library.separator, steps[0], *plain)


def parts_of(layer: Any) -> list[str]:
    """The names of a recurrent layer's parts: layer by layer, forward before backward."""
    return [name for i in range(layer._num_layers) for name in layer._names(i)]
