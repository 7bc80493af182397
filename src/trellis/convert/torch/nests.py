"""Arguments and outputs of torch modules, flattened into tensors and unflattened."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Path = tuple[Any, ...]
_PLAIN = (bool, int, float, complex, str, type(None))


def tensors_in(nest: object, path: Path = ()) -> list[tuple[Path, torch.Tensor]]:
    """The tensors of a pytree with where they are in it."""
    if isinstance(nest, torch.Tensor):
        return [(path, nest)]
    found: list[tuple[Path, torch.Tensor]] = []
    for key, item in _items(nest) or []:
        found += tensors_in(item, (*path, key))
    return found


def plain_in(nest: object, path: Path = ()) -> list[tuple[Path, Any]]:
    """The plain values of a pytree with where they are in it."""
    if isinstance(nest, _PLAIN):
        return [(path, nest)]
    found: list[tuple[Path, Any]] = []
    for key, item in _items(nest) or []:
        found += plain_in(item, (*path, key))
    return found


def with_tensors(nest: object, tensors: list[Any]) -> Any:
    """The pytree with other tensors in the places of its own; used up from the front."""
    if isinstance(nest, torch.Tensor):
        return tensors.pop(0)
    if isinstance(nest, dict):
        items = [with_tensors(item, tensors) for item in nest.values()]
        made = dict(zip(nest, items))
        return made if type(nest) is dict else type(nest)(made)
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*[with_tensors(item, tensors) for item in nest])
    if isinstance(nest, (tuple, list)):
        return type(nest)([with_tensors(item, tensors) for item in nest])
    return nest


def simplified(nest: object, keep: Callable[[torch.Tensor], Any], left_out: list[str]) -> Any:
    """Outputs as tuples, lists and dicts, with `keep(tensor)` for each tensor. Dataclasses and
    other mappings become dicts; entries of None are left out of them, as Hugging Face does. What
    holds no tensors in a way that we know is named in `left_out`."""
    if isinstance(nest, torch.Tensor):
        return keep(nest)
    if isinstance(nest, _PLAIN):
        return nest
    if isinstance(nest, Mapping) or (dataclasses.is_dataclass(nest) and not isinstance(nest, type)):
        pairs = nest.items() if isinstance(nest, Mapping) else _fields(nest)
        is_record = type(nest) is not dict
        made = {}
        for key, item in pairs:
            if item is None and is_record:
                continue
            before = len(left_out)
            kept = simplified(item, keep, left_out)
            if len(left_out) > before and kept is None:
                continue
            made[str(key)] = kept
        return made
    if isinstance(nest, (tuple, list)):
        items = [simplified(item, keep, left_out) for item in nest]
        return items if type(nest) is list else tuple(items)
    if isinstance(nest, torch.Size):
        return tuple(nest)
    left_out.append(type(nest).__name__)
    return None


def _items(nest: object) -> list[tuple[Any, Any]] | None:
    if isinstance(nest, Mapping):
        return list(nest.items())
    if isinstance(nest, (tuple, list)):
        return list(enumerate(nest))
    return None


def _fields(nest: "DataclassInstance") -> list[tuple[str, Any]]:
    return [(field.name, getattr(nest, field.name)) for field in dataclasses.fields(nest)]
