"""The functions of a backend that its records make."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from inspect import isfunction
from types import ModuleType
from typing import Any

from .record import BY_HAND, Kind, Op, Way

# What makes a backend's function out of the name of an operation and the framework's own function.
Wrap = Callable[[str, Callable[..., Any]], Callable[..., Any]]


def plainly(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The framework's own function as it is."""
    return fn


def made(
    ops: Iterable[Op],
    framework: str,
    modules: Mapping[str, ModuleType],
    kernels: Mapping[str, Callable[..., Any]],
    wraps: Mapping[Kind, Wrap],
) -> dict[str, Callable[..., Any]]:
    """The functions of all records whose way is one call or a kernel, for kinds that `wraps` has.

    `modules` are those that the ways name, `kernels` the backend's own functions on arrays whose
    types have met. What a backend then defines under the same name stands in its place.
    """
    found: dict[str, Callable[..., Any]] = {}
    for op in ops:
        wrap, way = wraps.get(op.kind), op.way(framework)
        fn = kernels.get(op.key) if way == BY_HAND else _native(way, modules)
        if wrap is not None and fn is not None:
            found[op.key] = wrap(op.key, fn)
    return found


def functions_in(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions that a module defines itself, by name."""
    found = {name: value for name, value in vars(module).items() if isfunction(value)}
    return {name: fn for name, fn in found.items() if fn.__module__ == module.__name__}


def _native(way: Way, modules: Mapping[str, ModuleType]) -> Callable[..., Any] | None:
    """The framework's function that a way calls with the arguments as they are; None for more."""
    call = ast.parse(way or "None", mode="eval").body
    if not isinstance(call, ast.Call) or call.keywords:
        return None
    if not all([isinstance(argument, ast.Name) for argument in call.args]):
        return None
    short, _, path = ast.unparse(call.func).partition(".")
    fn: Callable[..., Any] = operator.attrgetter(path)(modules[short])
    return fn
