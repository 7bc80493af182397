"""The state of a module, and files of it: safetensors with a JSON header, and no code in them."""

import json
import os
from typing import Any

from ..._array.casting import dtype
from ..._array.creation import asarray
from ..._array.device import device as device_of
from ..._array.device import to_device
from ..._core import tree
from ..._core.container import Container
from ..._core.dispatch import backend_of
from ..._core.errors import ArgumentError, ShapeError
from ..._core.files import read_arrays, write_arrays
from ..._core.typing import Device
from .buffers import buffers, set_buffers
from .node import Owner
from .share import shape
from .track import as_record
from .variables import set_variables, stored_variables

_FORMAT = "trellis-weights-1"


class Saving(Owner):
    """The part of `Module` that hands out its state and takes it back."""

    def state_dict(self) -> Container:
        """Variables and buffers in one Container; a name that both have raises.

        >>> import trellis
        >>> trellis.nn.BatchNorm1D(2).state_dict().key_chains()
        ['b', 'mean', 'var', 'w']
        """
        v, kept = stored_variables(self.__node__), buffers(self.__node__)
        state = v.copy()
        for chain in kept.key_chains():
            if chain in state:
                raise ArgumentError(
                    f"{type(self).__name__} has both a variable and a buffer named {chain!r}; "
                    "rename one of them."
                )
            state[chain] = kept[chain]
        return state

    def save_weights(self, path: str | os.PathLike[str], /) -> None:
        """Write variables and buffers to a file; missing directories are made.

        The file appears whole or not at all: a crash while saving leaves the previous one
        untouched.
        """
        state = self.state_dict()
        metadata = {
            "format": _FORMAT,
            "module": type(self).__name__,
            "buffers": json.dumps(buffers(self.__node__).key_chains()),
        }
        write_arrays(
            path, {chain: as_record(state[chain]) for chain in state.key_chains()}, metadata
        )

    def load_weights(self, path: str | os.PathLike[str], /) -> None:
        """Read variables and buffers from a file that `save_weights` wrote, on whichever framework.

        They keep the framework and device of those they replace. Where names, shapes or data types
        differ, the error lists all differences, and nothing changes.
        """
        node: Any = self.__node__
        if not node.is_built:
            raise ArgumentError(
                f"{type(self).__name__} has no variables yet: call build() before load_weights()."
            )
        arrays, _ = read_arrays(path)
        state = self.state_dict()
        wrong = state_differences(arrays, state)
        if wrong:
            raise ShapeError(
                f"{os.fspath(path)} does not fit {type(self).__name__}: {'; '.join(wrong)}."
            )
        v, kept = stored_variables(node).copy(), buffers(node).copy()
        for nest in (v, kept):
            for chain in nest.key_chains():
                nest[chain] = like(arrays[chain], nest[chain])
        set_variables(node, v)
        if len(kept):
            set_buffers(node, kept)

    def to_device(self, device: Device, /) -> Any:
        """Move variables and buffers to a device; returns the module."""
        node = self.__node__
        set_variables(node, tree.map(lambda x: to_device(x, device), stored_variables(node)))
        if len(buffers(node)):
            set_buffers(node, tree.map(lambda x: to_device(x, device), buffers(node)))
        return self


def like(x: Any, model: Any) -> Any:
    """A NumPy array in the framework and on the device of another array."""
    return asarray(x, backend=backend_of(model), device=device_of(model), copy=True)


def state_differences(arrays: dict[str, Any], state: Container) -> list[str]:
    """In words, how the arrays of a file differ from the state of a module; empty if they fit."""
    chains = state.key_chains()
    lines = [f"{chain!r} is missing in the file" for chain in chains if chain not in arrays]
    lines += [f"{chain!r} of the file is unknown here" for chain in arrays if chain not in chains]
    for chain in chains:
        if chain in arrays:
            found, needed = arrays[chain], state[chain]
            if shape(found) != shape(needed):
                lines.append(
                    f"{chain!r} has shape {shape(found)} in the file, {shape(needed)} here"
                )
            elif dtype(found) != dtype(needed):
                lines.append(f"{chain!r} is {dtype(found)!s} in the file, {dtype(needed)!s} here")
    return lines
