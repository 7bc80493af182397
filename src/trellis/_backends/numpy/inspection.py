"""What the NumPy namespace can do, in the standard's form."""

from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.abilities import Abilities, capabilities
from ..exports import hand_on
from .casting import as_dtype

ABILITIES = Abilities(is_host=True, has_small_types=True, needs_addresses=False)


class Info:
    """`__array_namespace_info__()` of the NumPy backend."""

    __module__ = "trellis"

    def capabilities(self) -> dict[str, Any]:
        return capabilities(ABILITIES)

    def default_device(self) -> str:
        return "cpu"

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        return {
            "real floating": as_dtype(dtypes.default_dtype()),
            "complex floating": as_dtype(dtypes.default_complex()),
            "integral": np.dtype("int64"),
            "indexing": np.dtype("int64"),
        }

    def devices(self) -> list[str]:
        return ["cpu"]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        names = [name for name in ("bool", *dtypes.NUMERIC) if name not in ("bfloat16", "float16")]
        return {name: as_dtype(name) for name in dtypes.names_of_kind(names, kind)}


def __array_namespace_info__() -> Info:
    return Info()


def layer_types() -> tuple[type, ...]:
    """The classes of the framework's own layers: NumPy has none."""
    return ()


hand_on(globals())
