"""Which array of another library belongs to which variable: by name, or in order.

By name if that finds every layer. Otherwise in order, and only if all of them fit: partly by name
and partly in order, two layers of one shape could be swapped unnoticed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .given import Given
from .layout import Entry, Library, Slot, Spelling


class Match(NamedTuple):
    """An entry of a slot, and the names of the arrays for it; None: not found."""

    slot: Slot
    entry: Entry
    spelling: Spelling
    names: tuple[str, ...] | None


class Matching(NamedTuple):
    """The result of matching."""

    matches: list[Match]
    used: set[str]  # names there that were used
    why_not_in_order: str = ""  # the reason, if neither names nor order fit

    @property
    def is_whole(self) -> bool:
        return all([match.names is not None for match in self.matches])


def match(
    slots: Sequence[Slot], given: Given, library: Library, names: Mapping[str, str], by_order: bool
) -> Matching:
    """By `{expected name: actual name}` or, if that does not find all, in order."""
    found = _by_name(slots, names, library)
    if found.is_whole or not by_order:
        return found
    ordered = _in_order(slots, given.arrays, library, given.has_names)
    return found._replace(why_not_in_order=ordered) if isinstance(ordered, str) else ordered


def _by_name(slots: Sequence[Slot], names: Mapping[str, str], library: Library) -> Matching:
    matches: list[Match] = []
    used: set[str] = set()
    for slot in slots:
        for entry in slot.layout.entries:
            found = Match(slot, entry, entry.spellings()[0], None)
            for spelling in entry.spellings():
                whole = [library.name_in(slot.name, name) for name in spelling.names]
                if found.names is None and all([name in names for name in whole]):
                    found = Match(slot, entry, spelling, tuple([names[name] for name in whole]))
            matches.append(found)
            used.update(found.names or ())
        for second, first in slot.layout.seconds.items():
            found_as = names.get(library.name_in(slot.name, second))
            if found_as is not None:
                entry = next(e for e in slot.layout.entries if e.names == (first,))
                matches.append(Match(slot, entry, Spelling((second,)), (found_as,)))
                used.add(found_as)
        for name in slot.layout.beside:
            whole_name = library.name_in(slot.name, name)
            used.update([names[whole_name]] if whole_name in names else [])
    return Matching(matches, used)


def _in_order(
    slots: Sequence[Slot], arrays: Mapping[str, Any], library: Library, with_names: bool
) -> Matching | str:
    """Match layers and arrays one after the other; the reason if that is not possible."""
    beside = {name for slot in slots for name in slot.layout.beside}
    skipped = {name for name in arrays if name.rpartition(library.separator)[2] in beside}
    remaining = [name for name in arrays if name not in skipped]
    matches: list[Match] = []
    for slot in slots:
        if not with_names and not slot.is_known:
            return f"the order of the variables of {slot.place} is not known"
        if library.name == "torch":
            found = _under_one_name(slot, remaining, arrays)
        else:
            found = _next_in_row(slot, remaining, arrays, with_names)
        if found is None:
            return f"{slot.place} needs {_wanted(slot)}, but next comes {_next(remaining, arrays)}"
        matches += found
        taken = {name for each in found for name in each.names or ()}
        remaining = [name for name in remaining if name not in taken]
    if remaining:
        return f"at the end {_next(remaining, arrays)} is left"
    return Matching(matches, set(arrays))


def _under_one_name(
    slot: Slot, remaining: list[str], arrays: Mapping[str, Any]
) -> list[Match] | None:
    """torch: the arrays of a layer are adjacent, and their names have the same prefix."""
    known = {name: None for e in slot.layout.entries for s in e.spellings() for name in s.names}
    first = remaining[0] if remaining else ""
    heads = [first[: -len(name)] for name in known if f".{first}".endswith(f".{name}")]
    there = set(remaining)
    for head in heads:
        matches = []
        for entry in slot.layout.entries:
            for spelling in entry.spellings():
                names = tuple([head + name for name in spelling.names])
                if all([name in there for name in names]):
                    matches.append(Match(slot, entry, spelling, names))
                    break
        if len(matches) == len(slot.layout.entries) and all([_fits(m, arrays) for m in matches]):
            return matches
    return None


def _next_in_row(
    slot: Slot, remaining: list[str], arrays: Mapping[str, Any], with_names: bool
) -> list[Match] | None:
    """Keras: names are numbered by the process, so only their last part is meaningful."""
    order = slot.order()
    taken = dict(zip(order, remaining, strict=False))
    if len(taken) < len(order):
        return None
    for name, found in taken.items():
        if with_names and name.rpartition("/")[2] != found.rpartition("/")[2]:
            return None
    matches = []
    for entry in slot.layout.entries:
        names = tuple([taken[name] for name in entry.names])
        matches.append(Match(slot, entry, entry.spellings()[0], names))
    return matches if all([_fits(each, arrays) for each in matches]) else None


# Shapes
# ----------------------------------------------------------------------------------------


def wrong_shape(
    match: Match, arrays: Mapping[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The actual and the expected shape; None if they agree."""
    assert match.names is not None, "only what was found has a shape"
    if match.spelling.names != match.entry.names:
        ours = tuple(match.slot.own[match.entry.chain].shape)
        try:
            made = tuple(match.spelling.load(*[arrays[name] for name in match.names]).shape)
        except (ValueError, IndexError):
            made = tuple(arrays[match.names[0]].shape)
        return None if made == ours else (made, ours)
    wanted = match.slot.shapes([match.entry])
    for name, found in zip(match.entry.names, match.names, strict=True):
        there, needed = tuple(arrays[found].shape), wanted[name]
        is_same = there == needed
        if match.entry.is_loose:
            is_same = _without_ones(there) == _without_ones(needed)
        if not is_same:
            return there, needed
    return None


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


def _fits(match: Match, arrays: Mapping[str, Any]) -> bool:
    return wrong_shape(match, arrays) is None


def _wanted(slot: Slot) -> str:
    shapes = slot.shapes(slot.layout.entries)
    return ", ".join([f"{name} {shapes[name]}" for name in slot.order() if name in shapes])


def _next(remaining: list[str], arrays: Mapping[str, Any]) -> str:
    if not remaining:
        return "nothing more"
    return ", ".join([f"{name} {tuple(arrays[name].shape)}" for name in remaining[:4]])
