"""The builder that the rules for torch get: it knows the target, and the types torch recorded."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..._core.dtypes import COMPLEX, FLOATING, PROMOTION
from ..._core.typing import Scalar
from ...graph import Value
from ...graph.graph import Shape
from ..reading import Notes
from ..target import TargetBuilder

if TYPE_CHECKING:

    class Tensor(Value):
        """A value of which torch recorded the shape and the data type. Only type checkers tell it
        from the others: those that a rule makes have neither until they are noted."""

        shape: tuple[int | str, ...]
        dtype: str


else:
    Tensor = Value

T = TypeVar("T")
# A size that is known now, or the value that has it when the model runs.
Size: TypeAlias = int | Value
Operand: TypeAlias = Value | Scalar
# One number, or one for each axis.
Dims: TypeAlias = int | Sequence[int]


class TorchBuilder(TargetBuilder):
    """A builder with what every rule may ask for.

    `out` is what the operation that is being read gives in torch (its shape and data type), `outs`
    all of it where there is more than one. `to` is the framework that the model is for. Buffers
    that the operation changes go into `graph.updates`.
    """

    def __init__(self, to: str, train: bool, notes: Notes):
        super().__init__(to)
        self.train, self.notes = train, notes
        self.outs: tuple[Any, ...] = ()
        self.training = Value("training")
        self.latest: dict[str, Value] = {}  # what buffers have become, by their names
        self._chains: dict[str, str] = {}

    @property
    def out(self) -> Any:
        """What the operation gives in torch: a value with its shape and type."""
        return self.outs[0]

    def cast(self, x: T, dtype: str | None) -> Any:
        """An array in that type; plain numbers, and arrays that have it, stay as they are."""
        if not isinstance(x, Value) or dtype is None or x.dtype in (None, dtype):
            return x
        self.notes.casts[f"{x.dtype} to {dtype}"] += 1
        if x.dtype in COMPLEX and dtype == "bool":
            return self.noted(self.t.not_equal(x, 0), x.shape, dtype)
        if x.dtype in COMPLEX and dtype not in COMPLEX:  # torch drops the imaginary part
            return self.noted(self.t.astype(self.t.real(x), self.dtype(dtype)), x.shape, dtype)
        return self.noted(self.t.astype(x, self.dtype(dtype)), x.shape, dtype)

    def noted(self, value: Value, shape: Shape | None, dtype: str | None) -> Any:
        """The value with its shape and type, noted at its call where that is the last one."""
        value = replace(value, shape=shape, dtype=dtype)
        nodes = self._functions[-1].nodes
        if nodes and nodes[-1].result == value:
            nodes[-1].result = value
        return value

    def alike(self, *xs: Operand, dtype: str | None = None) -> tuple[Any, ...]:
        """The arguments of an elementwise operation, cast where torch's promotion to `dtype`
        (that of the result if None) is not what Trellis would do."""
        wanted = dtype or self.out.dtype
        kinds = [x.dtype for x in xs if isinstance(x, Value) and x.dtype]
        found: str | None = kinds[0] if kinds else None
        for kind in kinds[1:]:
            found = PROMOTION.get((found, kind)) if found else None
        if found == wanted:
            return xs
        return tuple([self.cast(x, wanted) for x in xs])

    def promoted(self, *xs: Operand) -> str | None:
        """The type in which torch computes with these: arrays with axes decide before those
        without, and these before plain numbers; within one kind."""
        best: str | None = None
        for group in _by_rank(xs):
            kind = _joined(group)
            if best is None or (kind is not None and _level(kind) > _level(best)):
                best = kind
        return best

    def update(self, old: Value, new: Value) -> None:
        """Note what a buffer becomes; from here on it is read as that."""
        if old.name not in self._chains:
            self._chains |= {value.name: chain for chain, value in self.graph.buffers.items()}
        if old.name not in self._chains:
            return
        chain = self._chains[old.name]
        self._chains[new.name] = chain
        self.graph.updates[chain] = self.latest[self.graph.buffers[chain].name] = new

    def created(self) -> dict[str, Any]:
        """The options of calls that make arrays out of nothing."""
        return {"dtype": self.dtype(self.out.dtype), "backend": self.to}


def _by_rank(xs: Sequence[Operand]) -> list[list[str]]:
    """Data types of arrays with axes, of arrays without, of plain numbers."""
    groups: list[list[str]] = [[], [], []]
    for x in xs:
        if isinstance(x, Value) and x.dtype is not None:
            groups[0 if x.shape else 1].append(x.dtype)
        elif isinstance(x, bool):
            groups[2].append("bool")
        elif isinstance(x, (int, Value)):
            groups[2].append("int64")
        elif isinstance(x, float):
            groups[2].append("float32")
        elif isinstance(x, complex):
            groups[2].append("complex64")
    return groups


def _joined(kinds: list[str]) -> str | None:
    found = kinds[0] if kinds else None
    for kind in kinds[1:]:
        found = PROMOTION.get((found, kind), found) if found else kind
    return found


def _level(dtype: str | None) -> int:
    if dtype is None:
        return -1
    if dtype in COMPLEX:
        return 3
    return 2 if dtype in FLOATING else 0 if dtype == "bool" else 1
