"""Loading named arrays into a module, and reporting what became of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._array.casting import astype, dtype
from ..._array.creation import asarray
from ..._array.device import device as device_of
from ..._core.container import Container
from ..._core.dispatch import backend_of, xp_of
from ..._core.dtypes import COMPLEX, FLOATING, INTEGER
from ..._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .buffers import buffers, set_buffers
from .node import Node
from .share import shape
from .variables import set_variables, stored_variables

# What renames: whole names or their beginnings in a dict, or a function; None leaves one out.
Names = Mapping[str, str | None] | Callable[[str], str | None]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class WeightsReport:
    """What became of each array when weights were loaded; `print(report)` shows it.

    >>> report = WeightsReport(matched={"w": "weight"}, unexpected=("bias",))
    >>> report.is_complete
    False
    >>> print(report)
    1 loaded
        w <- weight
    1 unexpected: no place for it here
        bias
    """

    matched: dict[str, str] = field(default_factory=dict)  # {chain here: name there}
    missing: tuple[str, ...] = ()  # chains here that keep what they had
    unexpected: tuple[str, ...] = ()  # names there without a place here
    wrong_shape: dict[str, tuple[Shape, Shape]] = field(default_factory=dict)  # (there, here)
    wrong_dtype: dict[str, tuple[str, str]] = field(default_factory=dict)  # (there, here)
    cast: dict[str, tuple[str, str]] = field(default_factory=dict)  # loaded, in the type here
    notes: tuple[str, ...] = ()  # differences besides the weights

    @property
    def is_complete(self) -> bool:
        """Whether everything here was loaded, and everything there was used."""
        return not (self.missing or self.unexpected or self.wrong_shape or self.wrong_dtype)

    def differences(self, source: str = "the file") -> list[str]:
        """What does not fit, one sentence each."""
        lines = [f"{chain!r} is missing in {source}" for chain in self.missing]
        lines += [f"{name!r} of {source} is unknown here" for name in self.unexpected]
        for chain, (there, here) in self.wrong_shape.items():
            lines.append(f"{chain!r} has shape {there} in {source}, {here} here")
        for chain, types in self.wrong_dtype.items():
            lines.append(f"{chain!r} is {types[0]} in {source}, {types[1]} here")
        return lines

    def __str__(self) -> str:
        pairs = [
            chain if chain == name else f"{chain} <- {name}" for chain, name in self.matched.items()
        ]
        sections = [
            ("loaded", pairs),
            ("missing: they keep their values", self.missing),
            ("unexpected: unknown here", self.unexpected),
            ("of another shape, skipped", _changes(self.wrong_shape)),
            ("of another kind of data, skipped", _changes(self.wrong_dtype)),
            ("cast to the type here", _changes(self.cast)),
            ("to look at", self.notes),
        ]
        lines = []
        for title, names in sections:
            if names or title == "loaded":
                lines += [f"{len(names)} {title}", *[f"    {name}" for name in names]]
        return "\n".join(lines)


def _changes(found: Mapping[str, tuple[Any, Any]]) -> list[str]:
    return [f"{name}: {there} there, {here} here" for name, (there, here) in found.items()]


# Names
# -----------------------------------------------------------------------------------------


def renamed(arrays: Mapping[str, Any], names: Names | None, function: str) -> dict[str, str]:
    """{new name: old name} of the arrays; those that `names` makes None are left out.

    >>> renamed({"bert.w": 1, "head.b": 2}, {"bert": "", "head": None}, "load_weights")
    {'w': 'bert.w'}
    """
    if names is not None and not callable(names) and not isinstance(names, Mapping):
        raise ArgumentTypeError(
            f"{function}() expects a dict or a function for names, got {type(names).__name__}."
        )
    found: dict[str, str] = {}
    used: set[str] = set()
    for old in arrays:
        new = _new_name(old, names, used)
        if new is None:
            continue
        if not isinstance(new, str):
            raise ArgumentTypeError(
                f"{function}(): names made {new!r} out of {old!r}; it should give another name, or "
                "None to leave this one out."
            )
        if new in found:
            raise ArgumentError(
                f"{function}(): names makes {new!r} out of both {found[new]!r} and {old!r}."
            )
        found[new] = old
    unused = [] if names is None or callable(names) else [key for key in names if key not in used]
    if unused:
        raise ArgumentError(
            f"{function}(): names has {unused}, but no array is called so or begins so; there are "
            f"{_some(arrays)}."
        )
    return found


def _new_name(old: str, names: Any, used: set[str]) -> Any:
    if names is None:
        return old
    if callable(names):
        return names(old)
    fitting = [key for key in names if old == key or old.startswith((f"{key}.", f"{key}/"))]
    if not fitting:
        return old
    key = max(fitting, key=len)
    used.update(fitting)
    if names[key] is None:
        return None
    rest = old[len(key) :]
    return names[key] + rest if names[key] else rest.lstrip("./")


def _some(names: Any) -> str:
    listed = [repr(name) for name in names]
    return ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")


def second_places(node: Node) -> dict[str, str]:
    """Where arrays that stand at several places are kept: {other chain: chain in `v`}."""
    found = dict(node.duplicates)
    for child in node.children.values():
        for link in child.__node__.links():
            if link.parent is node:
                head = "/".join(link.path)
                for other, kept in second_places(child.__node__).items():
                    found.setdefault(f"{head}/{other}", f"{head}/{kept}")
    return {other: _followed(kept, found) for other, kept in found.items()}


def _followed(chain: str, places: Mapping[str, str]) -> str:
    while chain in places:
        chain = places[chain]
    return chain


def by_chain(
    arrays: Mapping[str, Any], new_names: Mapping[str, str], state: Container, node: Node
) -> tuple[dict[str, tuple[str, Any]], list[str]]:
    """`{chain here: (name there, array)}` and the names that have no place here.

    Dots of other libraries may stand for slashes. A second name of a shared array counts for it.
    """
    chains, seconds = set(state.key_chains()), second_places(node)
    found: dict[str, tuple[str, Any]] = {}
    unknown = []
    for new, old in new_names.items():
        known = [c for c in (new, new.replace(".", "/")) if c in chains or c in seconds]
        if not known:
            unknown.append(old)
            continue
        chain = seconds.get(known[0], known[0])
        if chain not in found:
            found[chain] = (old, arrays[old])
        elif not is_equal(found[chain][1], arrays[old]):
            raise ArgumentError(
                f"{found[chain][0]!r} and {old!r} are one array here, {chain!r}, but differ there; "
                "leave one of them out with names={...: None}."
            )
    return found, unknown


def is_equal(x: Any, y: Any) -> bool:
    return shape(x) == shape(y) and bool((x == y).all())


# Arrays
# ----------------------------------------------------------------------------------------


def compare(
    found: Mapping[str, tuple[str, Any]], unexpected: Sequence[str], state: Container, casts: bool
) -> tuple[WeightsReport, dict[str, Any]]:
    """What fits and what does not, and the NumPy arrays that fit, by chain."""
    chains = state.key_chains()
    missing = [chain for chain in chains if chain not in found]
    report = WeightsReport(missing=tuple(missing), unexpected=tuple(unexpected))
    arrays = {}
    for chain in [chain for chain in chains if chain in found]:
        name, x = found[chain]
        there, here = str(dtype(x)), str(dtype(state[chain]))
        if shape(x) != shape(state[chain]):
            report.wrong_shape[chain] = (shape(x), shape(state[chain]))
        elif there != here and not (casts and _can_become(x, there, here)):
            report.wrong_dtype[chain] = (there, here)
        else:
            if there != here:
                report.cast[chain] = (there, here)
            arrays[chain] = x if there == here else astype(x, here)
            report.matched[chain] = name
    return report, arrays


def _can_become(x: Any, there: str, here: str) -> bool:
    """Floats become floats; integers only what keeps their values."""
    for kind in (FLOATING, COMPLEX):
        if there in kind and here in kind:
            return True
    return there in INTEGER and here in INTEGER and is_equal(astype(astype(x, here), there), x)


def put(node: Node, arrays: Mapping[str, Any]) -> None:
    """Give the module these arrays, in the framework and on the device of those they replace."""
    v, kept = stored_variables(node).copy(), buffers(node).copy()
    for nest in (v, kept):
        for chain in nest.key_chains():
            if chain in arrays:
                nest[chain] = like(arrays[chain], nest[chain])
    set_variables(node, v)
    if len(kept):
        set_buffers(node, kept)


def like(x: Any, model: Any) -> Any:
    """A NumPy array in the framework, on the device and in the memory order of another array."""
    new = asarray(x, backend=backend_of(model), device=device_of(model), copy=True)
    return xp_of(model).laid_like(new, model)


def refuse(report: WeightsReport, owner: object, source: str, what: str) -> None:
    """Raise with everything that does not fit."""
    lines = report.differences(what)
    if lines:
        raise ShapeError(f"{source} does not fit {type(owner).__name__}: {'; '.join(lines)}.")


def refuse_nothing(report: WeightsReport, state: Container, source: str) -> None:
    """Raise if nothing was loaded, also when loading in part."""
    if not report.matched and len(state):
        raise ArgumentError(
            f"Nothing of {source} fits: it has {_some([*report.unexpected, *report.wrong_shape])}, "
            f"and here are {_some(state.key_chains())}. Say with names= which is which."
        )
