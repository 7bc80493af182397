"""A builder that knows for which framework a graph is made."""

import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from .._core.typing import Scalar
from ..graph import Builder, Value
from . import semantics
from .module import NARROW, has_64_bits
from .reading import Notes


class TargetBuilder(Builder):
    """A builder with the name of the target, `to`, and notes of what it changes on the way."""

    def __init__(self, to: str):
        super().__init__(semantics)
        self.to = to
        self.notes = Notes()
        self._wide = has_64_bits(to)

    @overload
    def dtype(self, name: str) -> str: ...
    @overload
    def dtype(self, name: None) -> None: ...
    def dtype(self, name: str | None) -> str | None:
        """A data type as calls for the target name it: integers of 64 bits may become narrower."""
        if name in NARROW and not self._wide:
            self.notes.narrowed += 1
            return NARROW[name]
        return name

    def cast(self, x: Value, dtype: str) -> Value:
        """`x` with another data type; nothing is added where it has that one."""
        if x.dtype == dtype:
            return x
        made = self.t.astype(x, self.dtype(dtype))
        return self.described(made, x.shape, dtype)

    def item(self, x: Value, key: Any) -> Value:
        """`x[key]`: an element of a tuple, or a plain slice of an array."""
        return self.call(operator.getitem, x, key)

    def items(self, x: Value, count: int) -> tuple[Value, ...]:
        """The items of a value that is a tuple of `count`."""
        return tuple([self.item(x, i) for i in range(count)])

    def unpacked(self, x: Value, count: int) -> tuple[Value, ...]:
        """The values that `packed` made one of."""
        return (x,) if count == 1 else self.items(x, count)

    def packed_inputs(self, name: str, like: Sequence[Any]) -> list[Value]:
        """One input of a function that is a tuple of these, or one of them alone; and its items."""
        if len(like) == 1:
            return [self.input(name, like[0].shape, like[0].dtype)]
        items = self.items(self.input(name), len(like))
        return [self.described(x, known.shape, known.dtype) for x, known in zip(items, like)]

    def pieces(self, x: Value, sizes: Sequence[Any], axis: int) -> tuple[Value, ...]:
        """`x` cut along an axis, counted from the front, into pieces of these sizes."""
        found, start = [], 0
        for n in sizes:
            found.append(self.item(x, (slice(None),) * axis + (slice(start, start + n),)))
            start += n
        return tuple(found)

    def full(self, shape: Any, number: Scalar, dtype: str) -> Value:
        """An array of one number."""
        made = self.t.full(shape, number, dtype=self.dtype(dtype), backend=self.to)
        known = isinstance(shape, tuple) and all([isinstance(n, int) for n in shape])
        return self.described(made, shape if known else None, dtype)


def packed(values: Sequence[Any]) -> Any:
    """What a function of one argument takes: the value, or the tuple of several."""
    return values[0] if len(values) == 1 else tuple(values)


def number(array: np.ndarray) -> Any:
    """A 0-d array as a Python number, in the fewest digits that mean the same in its type."""
    array = np.asarray(array)
    if array.dtype.kind in "biu":
        return array.item()
    if array.dtype.kind == "c":
        return complex(array.item())
    return float(str(array[()]))
