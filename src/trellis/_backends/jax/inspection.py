"""What this namespace can do, in the form of the Array API standard."""

import sys
from typing import Any

import jax

from ..._core.abilities import Abilities, capabilities
from ..._core.dtypes import KINDS, default_complex, default_dtype
from ..._core.errors import ArgumentError
from ..exports import hand_on
from . import casting as datatypes
from .casting import default_int, lookup, needs_x64
from .device import default_device

_STANDARD = [name for name in ("bool", *KINDS["numeric"]) if name not in ("float16", "bfloat16")]

ABILITIES = Abilities(
    has_compiler=True,
    has_fast_half=True,
    is_always_64_bit=False,
    can_shard=True,
    compiles_collectives=True,
    joins_first=True,
)


class _Info:
    def capabilities(self) -> dict[str, Any]:
        return capabilities(ABILITIES)

    def default_device(self) -> Any:
        return default_device()

    def devices(self) -> list[Any]:
        return jax.devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        return {
            "real floating": lookup(default_dtype()),
            "complex floating": lookup(default_complex()),
            "integral": default_int(),
            "indexing": default_int(),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names: list[str] = []
        for k in kinds:
            if k is not None and k not in KINDS:
                raise ArgumentError(f"Unknown kind {k!r}. The kinds are {', '.join(KINDS)}.")
            names += _STANDARD if k is None else KINDS[k]
        found = {name: getattr(datatypes, name) for name in _STANDARD if name in names}
        is_wide = jax.config.jax_enable_x64
        return {name: dtype for name, dtype in found.items() if is_wide or dtype not in needs_x64}


def __array_namespace_info__() -> _Info:
    return _Info()


def layer_types() -> tuple[type, ...]:
    """The classes of the framework's own layers: Trellis does not see their parameters."""
    # JAX has none itself; these libraries, once imported, bring layers that hold their arrays.
    homes = (("flax.nnx", "Module"), ("equinox", "Module"), ("keras", "Layer"))
    found = [getattr(sys.modules.get(library), name, None) for library, name in homes]
    return tuple([cls for cls in found if cls is not None])


hand_on(globals())
