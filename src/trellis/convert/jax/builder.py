"""What rules for JAX build with: numbers, arrays spread over larger shapes, and open sizes.

JAX spells out each broadcast; Trellis' functions broadcast by themselves. So a broadcast stays a
`Spread`, which becomes a call only where the large array is needed.
"""

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..._core.errors import ConversionError
from ...graph import Value
from ..semantics.small_types import numpy_dtype
from ..target import TargetBuilder

Number = bool | int | float | complex


@dataclass(frozen=True)
class Spread:
    """`small` broadcast to a shape; `small` is a number, or aligned with the last axes."""

    small: Value | Number
    shape: tuple[int | str, ...]
    dtype: str


Operand: TypeAlias = Value | Spread | Number


class Equation(Protocol):
    """One call of a primitive in a program of JAX."""

    primitive: Any
    params: dict[str, Any]
    invars: list[Any]
    outvars: list[Any]
    source_info: Any


class Jaxpr(Protocol):
    """A program of JAX, with its constants or without."""

    @property
    def eqns(self) -> Sequence[Equation]: ...


@dataclass(frozen=True)
class Result:
    """What the source says of a result: its shape, and the name of its data type."""

    shape: tuple[int | str, ...]
    dtype: str


class JaxBuilder(TargetBuilder):
    """A builder whose `out` describes the results of the equation that is being translated."""

    def __init__(self, to: str, inline: Callable[..., list[Any]]):
        super().__init__(to)
        self.out: list[Result] = []
        self.given: list[Result] = []  # the same of its operands
        self._sizes: dict[str, Value] = {}
        self._inline = inline

    def inline(self, jaxpr: "Jaxpr", args: Sequence[Any]) -> list[Any]:
        """The equations of another program with these operands, in the place of a call of it."""
        return self._inline(jaxpr, args)

    def array(self, x: Operand, dtype: str | None = None) -> Value:
        """An operand as an array of its whole shape."""
        if isinstance(x, Value):
            return x
        if not isinstance(x, Spread):
            return self.constant(np.asarray(x, numpy_dtype(dtype or "float32")), "number")
        if isinstance(x.small, Value):
            if x.small.shape == x.shape:
                return x.small
            if [n for n in x.shape if n != 1] == [n for n in x.small.shape or () if n != 1]:
                return self.reshape(x.small, x.shape)
            large = self.t.broadcast_to(x.small, self.shape(x.shape))
            return self.described(large, x.shape, x.dtype)
        return self.described(self.full(self.shape(x.shape), x.small, x.dtype), x.shape, x.dtype)

    def elementwise(self, args: Sequence[Any]) -> list[Any]:
        """Operands of a function that broadcasts: numbers and small arrays stay as they are, as
        long as the result comes out in the shape that the source says."""
        found = [x.small if isinstance(x, Spread) else x for x in args]
        if not any([isinstance(x, Value) for x in found]):
            found[0] = self.array(found[0], self.given[0].dtype)
        for i in range(len(args)):
            if self.small_shape(found) is not None:
                return found
            if not isinstance(args[i], Value):
                dtype = self.given[i].dtype if i < len(self.given) else None
                found[i] = self.array(args[i], dtype)
        return found

    def small_shape(self, args: Sequence[Any]) -> tuple[int | str, ...] | None:
        """The shape that these operands give: that of the source's result, which may have axes of
        size 1 in front, or that of a number. None if it is another."""
        shapes = [x.shape or () for x in args if isinstance(x, Value)]
        shape = broadcast(shapes) if shapes else None
        if shape is None:
            return None
        if shape == ():
            return shape
        new = len(self.out[0].shape) - len(shape)
        return shape if (1,) * new + shape == self.out[0].shape else None

    def reshape(self, x: Value, shape: Sequence[int | str]) -> Value:
        """`x` in another shape; one dynamic axis is left to be computed."""
        is_open = [isinstance(n, str) for n in shape]
        if sum(is_open) == 1:
            sizes: Any = tuple([-1 if isinstance(n, str) else n for n in shape])
        else:
            sizes = self.shape(shape)
        return self.described(self.t.reshape(x, sizes), tuple(shape), x.dtype)

    def shape(self, shape: Sequence[int | str]) -> tuple[Any, ...]:
        """Sizes that calls can use: open ones are computed from the inputs."""
        return tuple([self.size(n) for n in shape])

    def open_axis(self, name: str, size: Value) -> None:
        """From now on the open size of this name is known."""
        self._sizes[name] = size

    def size(self, n: int | str) -> Any:
        """A number, or the value of an expression of open sizes such as `2*b + 1`."""
        if isinstance(n, int):
            return n
        if n not in self._sizes:
            tree = ast.parse(n.replace("^", "**"), mode="eval").body
            return self._evaluated(tree, n)
        return self._sizes[n]

    def _evaluated(self, tree: ast.expr, text: str) -> Any:
        if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
            return tree.value
        if isinstance(tree, ast.Name) and tree.id in self._sizes:
            return self._sizes[tree.id]
        if isinstance(tree, ast.BinOp) and type(tree.op) in _ARITHMETIC:
            left, right = self._evaluated(tree.left, text), self._evaluated(tree.right, text)
            return self.call(_ARITHMETIC[type(tree.op)], left, right)
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return self.call(operator.mul, self._evaluated(tree.operand, text), -1)
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            fn = _FUNCTIONS.get(tree.func.id)
            if fn is not None:
                return self.call(fn, *[self._evaluated(x, text) for x in tree.args])
        raise ConversionError(
            f"from_jax() cannot compute the open size {text!r}. Convert without `dynamic`, with an "
            "example of the shape that you need."
        )


_ARITHMETIC: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Any] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


def broadcast(shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """The shape that arrays of these shapes give together, or None."""
    rank = max([len(shape) for shape in shapes])
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    out = []
    for sizes in zip(*padded):
        large = {n for n in sizes if n != 1}
        if len(large) > 1:
            return None
        out.append(large.pop() if large else 1)
    return tuple(out)
