"""Which matrices of a model get adapters."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._array.casting import dtype as dtype_of
from ..._core.dtypes import FLOATING
from ..._core.errors import ArgumentError
from ..._core.patterns import listed, matches, require_matches
from ..module.module import Module
from ..module.node import way_up
from ..module.queries import below
from ..module.variables import stored_variables
from .attached import Adapters, kind_of
from .low_rank import Adapter


class Target(NamedTuple):
    """A module, and those of its own matrices that are meant."""

    module: Any
    chain: str  # of the module, from the root
    kind: str  # see Adapters
    weights: tuple[str, ...]  # their key paths from the module


def chain_from(module: Module, top: Module) -> str:
    """The key path of a module below another."""
    way = way_up(module.__node__, top.__node__)
    assert way is not None, "a module below has a way up"
    return "/".join(["/".join(link.path) for link in way[::-1]])


def candidates(model: Module) -> list[Target]:
    """All that could have adapters, children first."""
    found = []
    for module in below(model):
        if isinstance(module, (Adapters, Adapter)):
            continue
        kind, chain = kind_of(module), chain_from(module, model)
        weights = ["w"] if kind != "matrices" else own_matrices(module)
        if weights:
            found.append(Target(module, chain, kind, tuple(weights)))
    return found


def own_matrices(module: Module) -> list[str]:
    """The key paths of float matrices that are the module's own, not those of a child."""
    node, v = module.__node__, stored_variables(module.__node__)
    return [
        chain
        for chain in v.key_chains()
        if chain.partition("/")[0] not in node.heads
        and len(v[chain].shape) == 2
        and str(dtype_of(v[chain])) in FLOATING
    ]


def joined(chain: str, weight: str) -> str:
    return f"{chain}/{weight}" if chain else weight


def chosen(who: str, model: Module, where: Sequence[str] | None) -> list[Target]:
    """The targets that the patterns mean; without patterns all dense layers, or all matrices of a
    model that has no such layer."""
    every = candidates(model)
    if where is None:
        dense = [target for target in every if target.kind == "dense"]
        matrices = [target for target in every if target.kind == "matrices"]
        if not dense and not matrices:
            raise ArgumentError(f"{who}() found no matrix in {type(model).__name__}.")
        return dense or matrices
    names = [x for target in every for x in names_of(target)]
    require_matches(who, where, names)
    found = []
    for target in every:
        if target.kind == "matrices":
            own = [w for w in target.weights if is_meant(where, [joined(target.chain, w)])]
            found += [target._replace(weights=tuple(own))] if own else []
        elif is_meant(where, names_of(target)):
            found.append(target)
    if not found:
        raise ArgumentError(f"{who}() found nothing that {list(where)} match in {listed(names)}.")
    return found


def names_of(target: Target) -> list[str]:
    """What a pattern may match: the layer, and its weight."""
    weights = [joined(target.chain, weight) for weight in target.weights]
    return weights if target.kind == "matrices" else [target.chain, *weights]


def is_meant(patterns: Sequence[str], names: Sequence[str]) -> bool:
    return any([matches(pattern, name) for pattern in patterns for name in names])
