"""Variables that occur several times in a tree: one is kept, the others are pruned and
remembered."""

from collections.abc import Iterable, Sequence

from ..._core.container import Container
from ..._core.typing import Array
from .node import Path, without_empty


def prune_duplicates(v: Container, first: Iterable[str]) -> tuple[Container, dict[str, str]]:
    """`v` without repeated arrays, and where each of them has its place: {pruned chain: kept
    chain}.

    The entries named in `first` win, then the order of the Container decides. Containers that keep
    all their leaves stay the same objects.

    >>> import numpy as np, trellis
    >>> w = np.zeros(2)
    >>> shared = trellis.Container(a={"w": w}, b={"w": w, "b": np.ones(1)})
    >>> v, mapping = prune_duplicates(shared, ())
    >>> v.key_chains(), mapping
    (['a/w', 'b/b'], {'b/w': 'a/w'})
    """
    heads = list(first)
    chains = v.key_chains()
    leading = [chain for chain in chains if chain.partition("/")[0] in heads]
    place_of: dict[int, str] = {}
    mapping: dict[str, str] = {}
    for chain in [*leading, *[chain for chain in chains if chain not in leading]]:
        leaf = v[chain]
        if not hasattr(leaf, "dtype"):
            continue
        if id(leaf) in place_of:
            mapping[chain] = place_of[id(leaf)]
        else:
            place_of[id(leaf)] = chain
    pruned = _without(v, [tuple(chain.split("/")) for chain in mapping]) if mapping else v
    return pruned, mapping


def _without(container: Container, paths: Sequence[Path]) -> Container:
    """Copies only what changes: other modules may hold the same Containers."""
    kept = Container(alphabetical_keys=container._alphabetical)
    for key, value in dict.items(container):
        below = [path[1:] for path in paths if path[0] == key]
        if () in below:
            continue
        if below:
            value = without_empty(_without(value, below))
            if len(value) == 0:
                continue
        dict.__setitem__(kept, key, value)
    return kept


def joined(older: dict[str, str], newer: dict[str, str]) -> dict[str, str]:
    """One mapping out of two; what the older one kept, the newer one may have pruned."""
    return {**{pruned: newer.get(kept, kept) for pruned, kept in older.items()}, **newer}


def shared_below(path: Path, mapping: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The part of a mapping that concerns one child: (chain from the child, kept chain).

    Chains match by whole names: "linear1" is not the beginning of "linear10".

    >>> shared_below(("linear1",), {"linear1/w": "linear0/w", "linear10/w": "linear0/w"})
    (('w', 'linear0/w'),)
    """
    head = "/".join(path) + "/"
    return tuple(
        [(chain[len(head) :], kept) for chain, kept in mapping.items() if chain.startswith(head)]
    )


def differences(given: Container, wanted: Container, is_partial: bool) -> list[str]:
    """In words, how given variables differ from those a module has; empty if they fit."""
    has, needs = given.key_chains(), wanted.key_chains()
    lines = [f"{chain!r} is not a variable of this module" for chain in has if chain not in needs]
    if not is_partial:
        lines += [
            f"{chain!r} of shape {shape(wanted[chain])} is missing"
            for chain in needs
            if chain not in has
        ]
    for chain in has:
        if chain in needs and shape(given[chain]) != shape(wanted[chain]):
            lines.append(
                f"{chain!r} has shape {shape(given[chain])} instead of {shape(wanted[chain])}"
            )
    return lines


def shape(x: Array) -> tuple[int, ...]:
    return tuple(getattr(x, "shape", ()))
