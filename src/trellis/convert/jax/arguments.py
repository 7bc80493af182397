"""The arguments of a JAX function: which are arrays, and the paths that lead to them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import jax
import numpy as np

from ..._core.errors import ArgumentTypeError
from .equations import numpy_of


@dataclass(frozen=True)
class Leaf:
    """One leaf of an argument: its path from the name of the argument on, and what it is."""

    path: tuple[Any, ...]
    value: Any
    is_array: bool

    @property
    def chain(self) -> str:
        return "/".join([str(key) for key in self.path[1:]]) or str(self.path[0])


def leaves_of(name: str, argument: object) -> list[Leaf]:
    """The leaves of one argument in JAX's order."""
    if _is_plain(argument):
        return [Leaf((name,), argument, False)]
    found = []
    for path, value in jax.tree_util.tree_flatten_with_path(argument)[0]:
        keys = tuple([_key(key) for key in path])
        if keys and isinstance(path[-1], jax.tree_util.GetAttrKey) and keys[-1] == "value":
            keys = keys[:-1]  # flax.nnx wraps each array
        found.append(Leaf((name, *keys), value, not _is_plain(value)))
    return found


def names_of(fn: Callable[..., Any], count: int, skipped: Sequence[int]) -> list[str]:
    """The names of positional arguments; those of `*args` are numbered."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind == parameter.VAR_POSITIONAL:
            break
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    rest = count - len(names)
    names += ["x" if rest == 1 else f"x{i}" for i in range(rest)]
    return names[:count]


def array_of(leaf: Leaf) -> Any:
    """The leaf as a NumPy array."""
    try:
        return numpy_of(leaf.value)
    except TypeError:
        raise ArgumentTypeError(
            f"from_jax() expects arrays, numbers, strings and pytrees of them in args, got "
            f"{type(leaf.value).__name__} at {leaf.chain}."
        ) from None


def like_leaf(leaf: Leaf, array: Any) -> jax.Array:
    """Other numbers in the place of a leaf; a key again where it is one."""
    dtype = getattr(leaf.value, "dtype", None)
    if dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf.value))
    return jax.numpy.asarray(array)


def plain_structure(nest: object) -> Any:
    """Outputs as dicts, lists and tuples: dataclasses and flax's containers become dicts."""
    if isinstance(nest, Mapping):
        return {_plain_key(key): plain_structure(x) for key, x in nest.items()}
    if isinstance(nest, (tuple, list)):
        items = [plain_structure(x) for x in nest]
        return items if isinstance(nest, list) else tuple(items)
    if is_dataclass(nest) and not hasattr(nest, "dtype") and type(nest).__name__ != "Value":
        return {f.name: plain_structure(getattr(nest, f.name)) for f in fields(nest)}
    return nest


def _plain_key(key: object) -> Any:
    return key if isinstance(key, (str, int)) else str(key)


def _is_plain(x: object) -> bool:
    return isinstance(x, (bool, int, float, complex, str)) and not isinstance(x, np.generic)


def _key(key: object) -> Any:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return getattr(key, attribute)
    return str(key)
