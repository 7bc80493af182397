"""Types that survive a call: an array of one framework in, an array of that framework out."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar


class Array(Protocol):
    """What the arrays of all four frameworks have in common, as far as type checkers are concerned."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...


A = TypeVar("A", bound=Array)
T = TypeVar("T")

Scalar: TypeAlias = bool | int | float | complex
Shape: TypeAlias = int | Sequence[int]
Axis: TypeAlias = int | Sequence[int] | None
# A canonical name ("float32", trellis.float32) or a dtype object of the framework.
DTypeLike: TypeAlias = Any
Device: TypeAlias = Any
Nest: TypeAlias = Any | Mapping[str, "Nest"] | Sequence["Nest"]
