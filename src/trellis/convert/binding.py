"""The one place that binds the arguments of a foreign operation to the parameters of its rule.

An argument that the rule does not name may be left out only at its default, or where it says
nothing about the numbers (`ANY`). Everything else raises: a dropped argument is a wrong answer.
"""

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from .._core.errors import NotSupportedError
from ..graph import Value
from .rules import Rule

ANY: Final = object()  # as a default: the argument says nothing about the numbers


class _Parameters(NamedTuple):
    positions: tuple[str, ...]  # names of positional ones after the graph
    is_open: bool  # takes any number of them
    names: frozenset[str]
    takes_all: bool  # a rule of a user's may


@cache
def _parameters(rule: Rule) -> _Parameters:
    found = list(inspect.signature(rule).parameters.values())
    kinds = {p.kind for p in found}
    by_position = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    # Without the graph, whose name an argument of the source may have too.
    by_name = [p.name for p in found[1:] if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    is_open = inspect.Parameter.VAR_POSITIONAL in kinds
    takes_all = inspect.Parameter.VAR_KEYWORD in kinds
    return _Parameters(tuple(by_position[1:]), is_open, frozenset(by_name), takes_all)


def call(
    rule: Rule,
    g: Any,
    args: Sequence[Any],
    attributes: Mapping[str, Any],
    *,
    names: Sequence[str] = (),
    defaults: Mapping[str, Any],
) -> Any:
    """What a rule gives for an operation with these arguments.

    `names` are the names of the positional arguments, `defaults` the values at which the source
    leaves an argument out.
    """
    parameters = _parameters(rule)
    count = _count_by_position(parameters, len(args), names)
    given = dict(attributes)
    for i in range(count, len(args)):
        given[names[i] if i < len(names) else f"argument {i}"] = args[i]
    kept, unknown = {}, []
    for name, value in given.items():
        if name in parameters.names or (parameters.takes_all and name in attributes):
            kept[name] = value
        elif name not in defaults or not _is_default(value, defaults[name]):
            unknown.append(name)
    if unknown:
        listed = ", ".join([f"{name}={_shown(given[name])}" for name in unknown])
        place = f" at {g.where}" if g.where else ""
        raise NotSupportedError(f"{g.source}{place}: Trellis' rule does not know {listed}.")
    return rule(g, *args[:count], **kept)


def _count_by_position(parameters: _Parameters, given: int, names: Sequence[str]) -> int:
    """How many arguments go by position: up to one that the rule has, by its name, elsewhere.

    Overloads of an operation have their arguments in different orders.
    """
    count = given if parameters.is_open else min(given, len(parameters.positions))
    for i, name in enumerate(names[:count]):
        here = parameters.positions[i] if i < len(parameters.positions) else None
        if name != here and (name in parameters.names or here in names):
            return i
    return count


def _is_default(value: Any, default: Any) -> bool:
    if default is ANY:
        return True
    if isinstance(value, Value) or isinstance(default, Value):
        return value is default
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return bool(np.array_equal(value, default))
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return list(value) == list(default)
    if isinstance(value, bool) or isinstance(default, bool):
        return value is default
    if isinstance(value, (int, float)) and isinstance(default, (int, float)):
        return value == default
    return type(value) is type(default) and bool(value == default)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
