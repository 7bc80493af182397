"""What a namespace can do, in the standard's form."""

from typing import Any

from ...._core import dtypes
from ...._core.abilities import capabilities
from . import xp


class Info:
    """The answers of `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        return capabilities(xp.ABILITIES)

    def default_device(self) -> Any:
        return "cpu"

    def devices(self) -> list[Any]:
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        return {
            "real floating": xp.as_dtype(dtypes.default_dtype()),
            "complex floating": xp.as_dtype(dtypes.default_complex()),
            "integral": xp.as_dtype("int64"),
            "indexing": xp.as_dtype("int64"),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The types of the standard; float16 and bfloat16 exist beside them."""
        names = [name for name in xp.TYPES if name not in ("float16", "bfloat16")]
        return {name: xp.TYPES[name] for name in dtypes.names_of_kind(names, kind)}


def __array_namespace_info__() -> Info:
    return Info()


def layer_types() -> tuple[type, ...]:
    """The framework's own classes of layers: none that Trellis knows."""
    return ()
