"""The functions of a backend that are created from the op table."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from inspect import isfunction
from types import ModuleType
from typing import Any

from .record import BY_HAND, Kind, Op, Way

# Creates a backend's function from the name of an operation and the framework's own function.
Wrap = Callable[[str, Callable[..., Any]], Callable[..., Any]]


def plainly(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The framework's own function, unchanged."""
    return fn


def made(
    ops: Iterable[Op],
    framework: str,
    modules: Mapping[str, Any],
    kernels: Mapping[str, Callable[..., Any]],
    wraps: Mapping[Kind, Wrap],
) -> dict[str, Callable[..., Any]]:
    """The functions of all records whose way is one call or a kernel, for the kinds in `wraps`.

    `modules` are those named in the ways, `kernels` the backend's own functions on arrays that are
    already promoted. A function that the backend defines under the same name replaces this one.
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


def _native(way: Way, modules: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The framework's function that a way calls with the arguments as they are; None for more."""
    call = ast.parse(way or "None", mode="eval").body
    if not isinstance(call, ast.Call) or call.keywords:
        return None
    if not all([isinstance(argument, ast.Name) for argument in call.args]):
        return None
    short, _, path = ast.unparse(call.func).partition(".")
    fn: Callable[..., Any] = operator.attrgetter(path)(modules[short])
    return fn
