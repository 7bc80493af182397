"""Finding the modules that the attributes of an object hold, and naming them."""

import types
from typing import Any, NamedTuple

from ..._core.errors import ArgumentError
from .node import Owner

_opaque = (str, bytes, int, float, complex, type, types.ModuleType, types.FunctionType,
           types.BuiltinFunctionType, types.MethodType)  # fmt: skip


class Found(NamedTuple):
    """A module, where its variables go in those of the owner, and its name among the owner's children."""

    path: tuple[str, ...]
    key: str
    module: Any


def find_modules(owner: Any) -> list[Found]:
    """All modules in the attributes of `owner`, in the order of assignment, each once.

    Lists and tuples name their elements "v0", "v1", ...; dicts by key; other objects are walked too. One
    leading underscore of a name is left out.
    """
    found: list[Found] = []
    _walk_attributes(owner, (), found, {id(owner)})
    return found


def holds_modules(value: Any) -> bool:
    """Whether a value that is about to become an attribute is, or holds, a module.

    >>> holds_modules([1, 2])
    False
    """
    if value is None or isinstance(value, _opaque) or _is_array(value):
        return False
    found: list[Found] = []
    _walk(value, ("value",), found, set())
    return bool(found)


def _walk_attributes(owner: Any, path: tuple[str, ...], found: list[Found], seen: set[int]) -> None:
    for name, value in vars(owner).items():
        if value is not None and not name.startswith("__"):
            _walk(value, (*path, name.removeprefix("_")), found, seen)


def _walk(value: Any, path: tuple[str, ...], found: list[Found], seen: set[int]) -> None:
    if value is None or isinstance(value, _opaque) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Owner):
        found.append(Found(path, "_".join(path), value))
    elif _is_array(value):
        return
    elif isinstance(value, (list, tuple)):
        for i, element in enumerate(value):
            _walk(element, (*path, f"v{i}"), found, seen)
    elif isinstance(value, dict):
        for key, element in value.items():
            before = len(found)
            _walk(element, (*path, str(key)), found, seen)
            if len(found) > before and "/" in str(key):
                raise ArgumentError(
                    f"The key {key!r} of the dict {path[0]!r} holds a module, and names of modules cannot "
                    f"contain '/', which joins key chains. Write {str(key).replace('/', '_')!r}."
                )
    elif hasattr(value, "__dict__"):
        _walk_attributes(value, path, found, seen)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, Owner)
