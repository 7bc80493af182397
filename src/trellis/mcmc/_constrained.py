"""Parameters with bounds as numbers without: the sampler sees the latter, the user the former."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core import tree
from .._core.dispatch import xp_of_any
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.kinds import shown
from ..distributions.bijections import Bijection, biject_to
from ..distributions.constraints import Constraint, real

Maps = list[Bijection]


def maps_of(init: Any, constraints: Mapping[str, Constraint] | None) -> Maps:
    """A bijection for each leaf."""
    if constraints is None:
        constraints = {}
    if not isinstance(constraints, Mapping):
        raise ArgumentTypeError(
            'sample() expects constraints as a dict, {"scale": constraints.positive}, '
            f"got {shown(constraints)}."
        )
    chains = tree.key_chains(init)
    unknown = [name for name in constraints if name not in chains]
    if unknown:
        raise ArgumentError(
            f"init has no {unknown[0]!r}, which constraints name; it has {', '.join(chains)}."
        )
    return [biject_to(constraints.get(chain, real)) for chain in chains]


def freed(maps: Maps, parameters: Any) -> Any:
    """The numbers without bounds of which `bound` makes these parameters."""
    return _mapped([b.inverse for b in maps], parameters)


def bound(maps: Maps, numbers: Any) -> Any:
    """The parameters; the leaves may have more axes in front."""
    return _mapped(maps, numbers)


def stretched(maps: Maps, numbers: Any) -> Any:
    """The logarithm of how much `bound` stretches volume: one number."""
    xp = xp_of_any(*tree.leaves(numbers))
    total: Any = 0.0
    for b, x in zip(maps, tree.leaves(numbers), strict=True):
        total = total + xp.sum(b.log_det(x))
    return total


def _mapped(fns: Sequence[Callable[[Any], Any]], parameters: Any) -> Any:
    leaves, structure = tree.flatten(parameters)
    return tree.unflatten(structure, [fn(x) for fn, x in zip(fns, leaves, strict=True)])
