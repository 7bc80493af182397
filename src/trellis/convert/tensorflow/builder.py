"""What rules for TensorFlow build with: values, constants, and sizes that may be open.

TensorFlow computes with shapes as if they were data. Here they are small NumPy arrays, known while
converting; where an axis is open, its size is a value among numbers in an array of objects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from ..._core.errors import ConversionError
from ...graph import Value
from ..target import TargetBuilder, number

# A value, or an array that is known while converting.
Operand: TypeAlias = Value | np.ndarray
Size: TypeAlias = int | Value


@dataclass(frozen=True)
class Result:
    """What the source says of a result: its shape, None where an axis is open, and its type."""

    shape: tuple[int | None, ...] | None
    dtype: str


def _unknown_function(name: str) -> Any:
    raise ConversionError(f"The function {name!r} is not part of this graph.")


@dataclass(frozen=True)
class Resource:
    """A variable of the source: its key path, and whether it is a buffer."""

    chain: str
    is_buffer: bool


class TensorFlowBuilder(TargetBuilder):
    """A builder whose `out` describes the results of the operation that is being translated."""

    def __init__(self, to: str, inline: Callable[..., list[Any]]):
        super().__init__(to)
        self.out: list[Result] = []
        self.state: dict[str, Any] = {}  # what variables hold after an assignment
        self.is_random = False
        self._inline = inline
        self._arrays: dict[int, tuple[Any, Value]] = {}  # each array with its constant
        self.graph_of: Callable[[str], Any] = _unknown_function

    def inline(
        self, function: tf.Graph, args: Sequence[Any], outputs: Sequence[tf.Tensor] | None = None
    ) -> list[Any]:
        """The operations of a function with these operands, in the place of a call of it; those
        that its outputs, or the given ones, need."""
        return self._inline(function, args, outputs)

    @property
    def at_top(self) -> bool:
        """Whether calls go into the graph itself, not into a branch or a loop of it."""
        return len(self._functions) == 1

    def array(self, x: Operand) -> Value:
        """An operand as an array."""
        if isinstance(x, Value):
            return x
        if x.dtype != object:
            if id(x) not in self._arrays:
                self._arrays[id(x)] = (x, self.constant(x))
            return self._arrays[id(x)][1]
        sizes = x.tolist()
        made = self.t.asarray(sizes, dtype=self.dtype("int32"), backend=self.to)
        return self.described(made, x.shape, "int32")

    def elementwise(self, args: Sequence[Any]) -> list[Any]:
        """Operands of a function that broadcasts: single numbers stay numbers."""
        found = list(args)
        if any([isinstance(x, Value) for x in args]):
            found = [
                number(x) if not isinstance(x, Value) and x.ndim == 0 and x.dtype != object else x
                for x in args
            ]
        return [self.array(x) if isinstance(x, np.ndarray) else x for x in found]

    def ints(self, x: Operand, what: str = "A shape") -> tuple[Any, ...]:
        """A vector of numbers known while converting; among them may be open sizes."""
        if isinstance(x, Value):
            raise ConversionError(
                f"{what} of {self.source} at {self.where or 'the top'} is computed from data, so "
                "it is not known before the model runs. Convert with fixed sizes."
            )
        return tuple([n if isinstance(n, Value) else int(n) for n in np.asarray(x).ravel()])

    def axis(self, x: Operand) -> int:
        """One number known while converting."""
        found: int = self.ints(x, "An axis")[0]
        return found

    def size(self, x: Value, axis: int) -> Any:
        """How long an axis is: a number if it is known, else a value."""
        size = None if x.shape is None else x.shape[axis]
        return size if isinstance(size, int) else self.s.size(x, axis)

    def reshape(self, x: Value, sizes: Sequence[Any]) -> Value:
        """`x` in another shape; one dynamic axis is left to be computed."""
        is_open = [isinstance(n, Value) for n in sizes]
        if sum(is_open) == 1 and -1 not in [n for n in sizes if not isinstance(n, Value)]:
            sizes = [-1 if isinstance(n, Value) else n for n in sizes]
        return self.t.reshape(x, tuple(sizes))
