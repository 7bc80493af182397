"""Finding the modules that the attributes of an object hold, and naming them."""

import types
from typing import Any, NamedTuple

from ..._core.dispatch import imported_backends
from ..._core.errors import ArgumentError, ArgumentTypeError
from .node import Owner, Path

_opaque = (str, bytes, int, float, complex, type, types.ModuleType, types.FunctionType,
           types.BuiltinFunctionType, types.MethodType)  # fmt: skip


class Found(NamedTuple):
    """A module, the place of its variables in those of the owner, and its name as a child."""

    path: Path
    key: str
    module: Any


def find_modules(owner: object) -> list[Found]:
    """All modules in the attributes of `owner`, in the order of assignment, each once.

    Lists and tuples name their elements "v0", "v1", ...; dicts by key; other objects are walked
    too. One leading underscore of a name is left out. A layer of a framework is refused.
    """
    found: list[Found] = []
    _walk_attributes(owner, (), found, {id(owner)})
    return found


def holds_modules(value: object) -> bool:
    """Whether a value that is about to become an attribute is, or holds, a module.

    >>> holds_modules([1, 2])
    False
    """
    if value is None or isinstance(value, _opaque) or _is_array(value):
        return False
    found: list[Found] = []
    _walk(value, ("value",), found, set())
    return bool(found)


def _walk_attributes(owner: object, path: Path, found: list[Found], seen: set[int]) -> None:
    for name, value in vars(owner).items():
        if value is not None and not name.startswith("__"):
            _walk(value, (*path, name.removeprefix("_")), found, seen)


def _walk(value: object, path: Path, found: list[Found], seen: set[int]) -> None:
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
                    f"The key {key!r} of the dict {path[0]!r} holds a module, and names of modules "
                    "cannot contain '/', which joins key paths. Write "
                    f"{str(key).replace('/', '_')!r}."
                )
    elif hasattr(value, "__dict__"):
        _refuse_layer(value, path)
        _walk_attributes(value, path, found, seen)


def _is_array(value: object) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, Owner)


def _refuse_layer(value: object, path: Path) -> None:
    """Raise for a layer of a framework: its parameters would be left out and never trained."""
    for backend in imported_backends():
        if isinstance(value, backend.layer_types()):
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            raise ArgumentTypeError(
                f"{'/'.join(path)!r} is a {kind}, a layer of another library: its parameters would "
                "not be in module.v, never trained and never saved. Use the layer of trellis.nn "
                "instead, or convert it with trellis.convert.from_torch or from_keras; or, to keep "
                "it frozen, store a function that calls it: self.frozen = lambda x: layer(x)."
            )
