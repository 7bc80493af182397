"""Pytrees as flat buffers: one for each data type, so that one call moves them all."""

import math
from collections.abc import Callable
from typing import Any

from .._array.casting import dtype as dtype_of
from .._core import tree
from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentTypeError, DtypeError
from .._core.kinds import shown
from .._core.typing import Nest

# Engines know the common types; a small integer is carried by a larger one.
_CARRIED = dict.fromkeys(["bool", "int8", "int16", "uint8", "uint16"], "int32")
Buffers = dict[str, Any]


class Layout:
    """The positions of a pytree's leaves in its buffers."""

    def __init__(self, name: str, nest: Nest):
        leaves, self._spec = tree.flatten(nest)
        for x in leaves:
            if not hasattr(x, "dtype"):
                raise ArgumentTypeError(
                    f"{name}() expects pytrees of arrays, got {shown(x)} in one: write "
                    "trellis.asarray(...) around it."
                )
        self.xp: Any = xp_of_all(*leaves) if leaves else None
        self._kinds = [str(dtype_of(x)) for x in leaves]
        self._shapes = [tuple(x.shape) for x in leaves]
        if any([kind.startswith("complex") for kind in self._kinds]):
            raise DtypeError(
                f"{name}() cannot send complex numbers: send trellis.real(x) and trellis.imag(x)."
            )

    def pack(self, nest: Any) -> Buffers:
        """The buffers of a pytree of this layout, by data type."""
        xp = self.xp
        parts: dict[str, list[Any]] = {}
        for x, kind in zip(tree.leaves(nest), self._kinds):
            carried = _CARRIED.get(kind, kind)
            flat = xp.reshape(x, (-1,))
            parts.setdefault(carried, []).append(
                flat if carried == kind else xp.astype(flat, xp.as_dtype(carried))
            )
        return {
            kind: xs[0] if len(xs) == 1 else xp.concat(xs, axis=0) for kind, xs in parts.items()
        }

    def unpack(self, buffers: Buffers) -> Any:
        """The pytree of these buffers; axes before the last one stand before those of the
        leaves."""
        xp = self.xp
        begins = dict.fromkeys(buffers, 0)
        found = []
        for kind, shape in zip(self._kinds, self._shapes):
            carried = _CARRIED.get(kind, kind)
            buffer, begin = buffers[carried], begins[carried]
            end = begin + math.prod(shape)
            begins[carried] = end
            x = xp.reshape(buffer[..., begin:end], (*buffer.shape[:-1], *shape))
            found.append(x if carried == kind else xp.astype(x, xp.as_dtype(kind)))
        return tree.unflatten(self._spec, found)


def pack(name: str, nest: Any) -> tuple[Any, Buffers, Callable[[Buffers], Any]]:
    """The backend, the buffers by data type, and the function that converts such buffers back."""
    layout = Layout(name, nest)
    return layout.xp, layout.pack(nest), layout.unpack
