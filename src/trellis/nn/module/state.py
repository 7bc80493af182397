"""The state of a module, and files of it: safetensors with a JSON header, and no code in them."""

import json
import os
from typing import TYPE_CHECKING, Any

from ..._array.casting import astype
from ..._array.device import to_device
from ..._core import tree
from ..._core.container import Container
from ..._core.dtypes import FLOATING, name_of
from ..._core.errors import ArgumentError, ArgumentTypeError
from ..._core.files import write_arrays
from ..._core.typing import Array, Device, DTypeLike
from .buffers import buffers, set_buffers
from .node import Owner
from .queries import below
from .search import find_modules
from .track import as_record
from .variables import set_variables, stored_variables

if TYPE_CHECKING:
    from ...convert.weights.naming import Names
    from ...convert.weights.report import WeightsReport

_FORMAT = "trellis-weights-1"


class Saving(Owner):
    """The part of `Module` that saves and loads its state."""

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
        """Write variables and buffers to a file; missing directories are created. The write is
        atomic: a crash while saving leaves the previous file intact.
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

    def load_weights(
        self, path: str | os.PathLike[str], /, *, names: "Names | None" = None, strict: bool = True
    ) -> "WeightsReport":
        """Read variables and buffers from a safetensors file: of `save_weights`, on whichever
        framework, or of another library.

        They keep the framework and device of those they replace. Where names, shapes or data types
        differ, the error lists all differences, and nothing changes. With `strict=False` what
        matches is loaded, floats are cast to their type here, and the report lists the rest.
        `names` is a dict, of whole names or prefixes, or a function from a name in the file to the
        one here; None skips an array. Dots in names of other libraries match slashes. Layouts are
        not changed: `trellis.convert.load_torch_weights` knows those of torch.

        >>> import tempfile, trellis
        >>> old = trellis.nn.Sequential(trellis.nn.Linear(2, 3), trellis.nn.Linear(3, 1))
        >>> new = trellis.nn.Sequential(trellis.nn.Linear(2, 3), trellis.nn.Linear(3, 5))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     old.save_weights(f"{folder}/old.safetensors")
        ...     report = new.load_weights(f"{folder}/old.safetensors", strict=False)
        >>> print(report)
        2 loaded
            layers/v0/b
            layers/v0/w
        2 of another shape, skipped
            layers/v1/b: (1,) there, (5,) here
            layers/v1/w: (1, 3) there, (5, 3) here
        """
        if not self.__node__.is_built:
            raise ArgumentError(
                f"{type(self).__name__} has no variables yet: call build() before load_weights()."
            )
        # A package above this one: it knows the names and layouts of other libraries.
        from ...convert.weights.files import load_file

        return load_file(self, path, names, strict)  # type: ignore[arg-type]

    def to_device(self, device: Device, /) -> Any:
        """Move variables and buffers to a device; returns the module."""
        node = self.__node__
        set_variables(node, tree.map(lambda x: to_device(x, device), stored_variables(node)))
        if len(buffers(node)):
            set_buffers(node, tree.map(lambda x: to_device(x, device), buffers(node)))
        return self

    def astype(self, dtype: DTypeLike, /) -> Any:
        """Cast the floats among variables and buffers, here and in all modules below; returns the
        module. Integers stay. Modules that are built later use the new dtype too.

        >>> import trellis
        >>> model = trellis.nn.Linear(2, 3).astype("bfloat16")
        >>> str(model.v.w.dtype)
        'bfloat16'
        """
        name = name_of(dtype)
        if name not in FLOATING:
            raise ArgumentTypeError(
                f"astype() expects a floating dtype, {', '.join(sorted(FLOATING))}, got {name!r}."
            )
        node = self.__node__
        for module in below(self):
            module.__node__.dtype = name
        if not node.is_built:
            for found in find_modules(self):
                found.module.astype(name)
        else:
            set_variables(node, tree.map(lambda x: _cast(x, name), stored_variables(node)))
        if len(buffers(node)):
            set_buffers(node, tree.map(lambda x: _cast(x, name), buffers(node)))
        return self


def _cast(x: Array, name: str) -> Any:
    if name_of(x.dtype) not in FLOATING:
        return x
    return astype(x, name)
