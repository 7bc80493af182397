"""Types that survive a call: an array of one framework in, an array of that framework out."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar


class Array(Protocol):
    """What the arrays of all four frameworks have in common, as far as type checkers go."""

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
# Where an array may be given as Python numbers.
ArrayLike: TypeAlias = Array | Scalar | Sequence["ArrayLike"]
# A dict, Container, list or tuple, to any depth, with arrays or numbers as leaves; None has no leaves.
Nest: TypeAlias = Array | Scalar | Mapping[str, "Nest"] | Sequence["Nest"] | None
# An integer or a key; None draws from the stream.
Seed: TypeAlias = int | Array | None
# A canonical name ("float32", trellis.float32) or a dtype object of a framework. Those have no type in
# common but that they are values one can compare, which arrays and lists are not.
DTypeLike: TypeAlias = Hashable
# A name ("cpu", "cuda:0") or a device object of a framework.
Device: TypeAlias = Hashable
