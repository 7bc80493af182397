"""What this namespace can do, in the form of the Array API standard."""

import sys
from typing import Any

import jax

from ..._core.abilities import Abilities
from ..shared.inspection import Info
from .casting import needs_x64
from .device import default_device

ABILITIES = Abilities(
    has_compiler=True,
    compiles_loops=True,
    has_fast_half=True,
    is_always_64_bit=False,
    can_shard=True,
    compiles_collectives=True,
    joins_first=True,
)


class _Info(Info):
    def default_device(self) -> Any:
        return default_device()

    def devices(self) -> tuple[Any, ...]:
        return tuple(jax.devices())

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        found = super().dtypes(kind=kind)
        is_wide = jax.config.jax_enable_x64
        return {name: dtype for name, dtype in found.items() if is_wide or dtype not in needs_x64}


def __array_namespace_info__() -> Info:
    return _Info(sys.modules[__package__])  # type: ignore[arg-type]


def layer_types() -> tuple[type, ...]:
    """The framework's own classes of layers, whose parameters Trellis does not see."""
    # JAX itself has none; these libraries, once imported, have layers that hold their arrays.
    homes = (("flax.nnx", "Module"), ("equinox", "Module"), ("keras", "Layer"))
    found = [getattr(sys.modules.get(library), name, None) for library, name in homes]
    return tuple([cls for cls in found if cls is not None])
