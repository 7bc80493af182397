"""What a namespace can do, in the form of the Array API standard."""

from typing import TYPE_CHECKING, Any

from ..._core import dtypes
from ..._core.errors import ArgumentError

if TYPE_CHECKING:
    from ..interface import Backend


class Info:
    """The answers of `__array_namespace_info__()` where there is one device."""

    __module__ = "trellis"

    def __init__(self, xp: "Backend"):
        self._xp = xp

    def capabilities(self) -> dict[str, Any]:
        abilities = self._xp.ABILITIES
        return {
            "boolean indexing": abilities.has_boolean_masks,
            "data-dependent shapes": abilities.has_boolean_masks,
            "max dimensions": abilities.max_dimensions,
        }

    def default_device(self) -> Any:
        return "cpu"

    def devices(self) -> tuple[Any, ...]:
        return ("cpu",)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        xp = self._xp
        integer = xp.arange(0).dtype
        return {
            "real floating": xp.TYPES[dtypes.default_dtype()],
            "complex floating": xp.TYPES[dtypes.default_complex()],
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The types of the standard; float16 and bfloat16 exist in addition."""
        for one in kind if isinstance(kind, tuple) else (kind,):
            if one is not None and one not in dtypes.KINDS:
                known = ", ".join(dtypes.KINDS)
                raise ArgumentError(f"Unknown kind {one!r}. The kinds are {known}.")
        names = [name for name in self._xp.TYPES if name not in ("float16", "bfloat16")]
        return {name: self._xp.TYPES[name] for name in dtypes.names_of_kind(names, kind)}
