"""The functions of a backend that its records make."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from .record import BY_HAND, Kind, Op

# What makes a backend's function out of the name of an operation and the framework's own function.
Wrap = Callable[[str, Callable[..., Any]], Callable[..., Any]]


def plainly(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The framework's own function as it is."""
    return fn


def made(
    ops: Iterable[Op],
    framework: str,
    modules: Mapping[str, ModuleType],
    wraps: Mapping[Kind, Wrap],
) -> dict[str, Callable[..., Any]]:
    """The functions of all records whose way is one call, for kinds that `wraps` has.

    `modules` are those that the ways name. What a backend then defines under the same name stands
    in its place.
    """
    found: dict[str, Callable[..., Any]] = {}
    for op in ops:
        wrap, way = wraps.get(op.kind), op.way(framework)
        if wrap is not None and way is not None and way != BY_HAND:
            call = ast.parse(way, mode="eval").body
            if isinstance(call, ast.Call):
                short, _, path = ast.unparse(call.func).partition(".")
                found[op.key] = wrap(op.key, operator.attrgetter(path)(modules[short]))
    return found
