"""The weights of a model with the names, layouts and tensors of torch."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._array.interchange import to_backend
from ..._core.errors import ShapeError
from ...nn import Module
from ...nn.module.track import as_record
from .given import check_model, given_by_torch
from .layout import Slot, slots_of
from .matching import match
from .torch import TORCH


def state_dict(model: Module, /, *, like: Mapping[str, Any] | Any = None) -> dict[str, Any]:
    """The variables and buffers of a model as torch's `state_dict`: its names, layouts and tensors.

    The inverse of `load_torch_weights`, and the way back into a torch module that was converted:
    `torch_module.load_state_dict(convert.state_dict(model))`. `like` is that module, or its
    `state_dict`, if its layers have other names but the same order.

    >>> import trellis
    >>> from trellis import convert
    >>> model = trellis.nn.Sequential(trellis.nn.Linear(4, 3), trellis.nn.LayerNorm(3))
    >>> {name: tuple(x.shape) for name, x in convert.state_dict(model).items()}
    {'0.weight': (3, 4), '0.bias': (3,), '1.weight': (3,), '1.bias': (3,)}
    """
    check_model(model, "state_dict")
    arrays: dict[str, Any] = {}
    slots = slots_of(model, TORCH)
    for slot in slots:
        for entry in slot.layout.entries:
            theirs = entry.back(as_record(slot.own[entry.chain]))
            for name, x in zip(entry.names, theirs, strict=True):
                arrays[TORCH.name_in(slot.name, name)] = x
        for name, x in slot.layout.beside.items():
            arrays[TORCH.name_in(slot.name, name)] = x
        for second, first in slot.layout.seconds.items():
            arrays[TORCH.name_in(slot.name, second)] = arrays[TORCH.name_in(slot.name, first)]
    if like is not None:
        arrays = _renamed_like(model, slots, arrays, like)
    return {
        name: to_backend(np.ascontiguousarray(x).reshape(x.shape), "torch", copy=True)
        for name, x in arrays.items()
    }


def _renamed_like(
    model: Module, slots: list[Slot], arrays: dict[str, Any], like: Any
) -> dict[str, Any]:
    """The same arrays under the names that another state_dict has for them, in its order."""
    given = given_by_torch(like)
    theirs, addresses = given.arrays, given.addresses
    matching = match(slots, given, TORCH, {name: name for name in theirs}, by_order=True)
    if not matching.is_whole:
        raise ShapeError(
            f"state_dict(): {type(model).__name__} and the names of `like` do not fit, neither by "
            f"name nor in order: {matching.why_not_in_order}."
        )
    renamed_arrays = {}
    for slot, entry, spelling, names in matching.matches:
        assert names is not None, "all of them were found"
        if spelling.names != entry.names:
            raise ShapeError(
                f"state_dict() cannot split {entry.names} into {names}; remove `like` and rename "
                "the arrays."
            )
        for name, found in zip(spelling.names, names, strict=True):
            renamed_arrays[found] = arrays[TORCH.name_in(slot.name, name)]
            head = found.removesuffix(name)
            for extra, x in slot.layout.beside.items():
                renamed_arrays[head + extra] = x
    by_address = {addresses[name]: name for name in renamed_arrays if name in addresses}
    for name in theirs:
        if name not in renamed_arrays and addresses.get(name) in by_address:
            renamed_arrays[name] = renamed_arrays[by_address[addresses[name]]]
    return {name: renamed_arrays[name] for name in theirs if name in renamed_arrays}
