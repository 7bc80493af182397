"""Which backend an array belongs to, found from the module of its type: no framework is imported
here.

>>> backend_of([1.0]) is None
True
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from types import (
    BuiltinFunctionType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

__all__ = ["backend_of", "backends_in", "declare", "family_of", "holds", "holds_openly"]

# Root module of an array type -> the backend it belongs to. A backend that is absent here (a
# device, a database, "any") has no arrays we would recognise.
_BACKEND_OF_ROOT = {
    "numpy": "numpy",
    "autograd": "numpy",
    "jax": "jax",
    "jaxlib": "jax",
    "torch": "torch",
    "tensorflow": "tensorflow",
    "array_api_strict": "array_api_strict",
    "cupy": "cupy",
    "dask": "dask",
    "mlx": "mlx",
    "paddle": "paddle",
    "sparse": "sparse",
    "ndonnx": "ndonnx",
}
# What backends are called besides.
_ALIASES = {
    "np": "numpy",
    "pytorch": "torch",
    "tf": "tensorflow",
    "jnp": "jax",
    "strict": "array_api_strict",
    "paddlepaddle": "paddle",
}

_MAX_LEAVES = 64
_OPAQUE = (
    *(str, bytes, int, float, complex, type(None), type),
    *(ModuleType, FunctionType, BuiltinFunctionType, MethodType),
)
_NEVER_ARRAYS = frozenset({str, int, float, bool, type(None)})
_backend_by_type: dict[type, str | None] = {}


def declare(names: Mapping[str, str]) -> None:
    """Say which package the arrays of a backend are from: ``{"mine": "torch"}``.

    The package of a backend that nobody knows is taken for a new one: its types are its arrays.
    """
    for backend, package in names.items():
        family = _BACKEND_OF_ROOT.setdefault(package, package)
        _ALIASES[backend.lower()] = family
    _backend_by_type.clear()
    family_of.cache_clear()


@cache
def family_of(backend: str) -> str | None:
    """The backend whose arrays a column is about: "torch-cpu" and "pytorch 2.6" are torch.

    >>> family_of("torch-cpu"), family_of("tf"), family_of("sqlite") is None
    ('torch', 'tensorflow', True)
    """
    name = backend.lower()
    for word in (name, re.split(r"[^a-z0-9_]", name, maxsplit=1)[0], re.split(r"\W|_", name)[0]):
        family = _ALIASES.get(word, word)
        if family in _BACKEND_OF_ROOT.values():
            return family
    return None


def backend_of(value: object) -> str | None:
    """The backend that `value` is an array of, or None if it is no array that is known.

    NumPy's scalars are numbers, not arrays: a result that was converted to one has no backend.
    """
    cls = type(value)
    try:
        return _backend_by_type[cls]
    except KeyError:
        backend = _look_at_type(cls, value)
        _backend_by_type[cls] = backend
        return backend


def _look_at_type(cls: type, value: object) -> str | None:
    roots = [base.__module__.partition(".")[0] for base in cls.__mro__]
    backend = next((_BACKEND_OF_ROOT[root] for root in roots if root in _BACKEND_OF_ROOT), None)
    if backend is None or any(base.__name__ == "generic" for base in cls.__mro__):
        return None
    # Some classes give `shape` to their instances only (sparse.COO); data frames have columns.
    has_shape = hasattr(cls, "shape") or hasattr(value, "shape")
    has_type = hasattr(cls, "dtype") or hasattr(value, "dtype") or hasattr(cls, "columns")
    return backend if has_shape and has_type and not isinstance(value, type) else None


def backends_in(values: Collection[object]) -> set[str]:
    """The backends of all arrays in a pytree of tuples, lists and dicts (a bounded look)."""
    found: set[str] = set()
    queue: list[object] = list(values)
    for _ in range(_MAX_LEAVES):
        if not queue:
            break
        value = queue.pop(0)
        if isinstance(value, dict):
            queue.extend(value.values())
        elif isinstance(value, (list, tuple)):
            queue.extend(value[:_MAX_LEAVES])
        elif (backend := backend_of(value)) is not None:
            found.add(backend)
            if backend == "numpy":
                found |= _owners_of_memory(value)
    return found


def holds_openly(variables: Mapping[str, object], family: str) -> bool:
    """Whether a variable is an array of `family`, or a list that begins with one: a quick look."""
    for value in variables.values():
        cls = type(value)
        if cls in _NEVER_ARRAYS:
            continue
        if (cls is list or cls is tuple) and value:
            cls = type(value[0])  # type: ignore[index]
        if cls not in _backend_by_type:
            backend_of(value[0] if isinstance(value, (list, tuple)) and value else value)
        if _backend_by_type.get(cls) == family:
            return True
    return False


def holds(variables: Mapping[str, object], family: str) -> bool:
    """Whether a variable is, or has somewhere inside it, an array of `family` (a bounded look).

    This looks into objects and all that they are made of: a data frame or a model wraps its arrays.
    """
    most, deepest = 4000, 7
    queue: list[tuple[object, int]] = [(value, 0) for value in list(variables.values())]
    seen: set[int] = set()
    position = 0
    while position < len(queue) and position < most:
        value, depth = queue[position]
        position += 1
        if isinstance(value, _OPAQUE) or id(value) in seen:
            continue
        seen.add(id(value))
        inside: Collection[object] = ()
        if isinstance(value, dict):
            inside = list(value.values())[:_MAX_LEAVES]
        elif isinstance(value, (list, tuple)):
            inside = value[:_MAX_LEAVES]
        else:
            backend = backend_of(value)
            if backend == family or (backend == "numpy" and family in _owners_of_memory(value)):
                return True
            if backend is None:
                inside = _attributes(value)
        if depth < deepest:
            queue.extend([(leaf, depth + 1) for leaf in inside])
    return False


def _attributes(value: object) -> list[object]:
    """What an object of somebody's own class holds. pytest's objects hold all tests of a
    session."""
    if type(value).__module__.partition(".")[0] in ("_pytest", "pytest", "builtins"):
        return []
    attributes = getattr(value, "__dict__", None)
    held = list(attributes.values())[:_MAX_LEAVES] if isinstance(attributes, dict) else []
    cls: Any = type(value)
    for name in _slots(cls):
        try:
            held.append(object.__getattribute__(value, name))
        except AttributeError:  # not filled
            continue
    return held


@cache
def _slots(cls: type) -> tuple[str, ...]:
    """The names of the slots of a class and its bases, which only look like attributes."""
    found = [
        name
        for base in cls.__mro__
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    ]
    return tuple(found[:_MAX_LEAVES])


def _owners_of_memory(array: object) -> set[str]:
    """Backends that own the memory a NumPy array looks at: `tensor.numpy()` is such a view."""
    found: set[str] = set()
    owner = getattr(array, "base", None)
    for _ in range(8):
        if owner is None:
            break
        # TensorFlow's owner of memory lives in `builtins` and has only a name.
        root = type(owner).__module__.partition(".")[0]
        name = type(owner).__name__.partition("_")[0] if root == "builtins" else root
        if name in _BACKEND_OF_ROOT:
            found.add(_BACKEND_OF_ROOT[name])
        # JAX hands its memory out through a memoryview.
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return found - {"numpy"}
