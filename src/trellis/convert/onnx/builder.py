"""The graph as ONNX rules see it: what is known of each value while the model is read."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError
from ...graph import Node, Value
from ...graph.graph import values_in
from ...graph.passes import has_functions, is_random, is_small, on_numpy
from ...graph.program import call
from ..target import TargetBuilder

# A size that is known now, or the value that has it when the model runs.
Size = int | Value


class OnnxBuilder(TargetBuilder):
    """A `Builder` that remembers the arrays of constants and the numbers of small integer values.

    `to` is the framework to convert to, `train` whether the training behaviour is wanted, `opset`
    the version of the operators of the node that is being read.
    """

    def __init__(self, to: str, *, train: bool = False, fixed: bool = True) -> None:
        super().__init__(to)
        self.train, self.fixed = train, fixed
        self.opset = 0
        self._arrays: dict[str, Any] = {}
        self._sizes: dict[str, tuple[Size, ...]] = {}
        self.draws = False  # whether the model draws random numbers

    # What is known.

    def array(self, value: Value | None) -> Any:
        """The NumPy array of a constant or initializer; None if it is known only at run time."""
        return None if value is None else self._arrays.get(value.name)

    def ints(self, value: Value | None) -> tuple[Any, ...] | None:
        """The numbers of an integer value: ints, or values where a size is open; None if they are
        known only at run time."""
        if value is None:
            return None
        if value.name in self._sizes:
            return self._sizes[value.name]
        array = self._arrays.get(value.name)
        return None if array is None else tuple([int(x) for x in np.ravel(array)])

    def integers(self, value: Value) -> Any:
        """The same, or the call that reads them at run time."""
        known = self.ints(value)
        return self.s.integers(value) if known is None else known

    def integer(self, value: Value) -> Any:
        """One number: an int, or the value that has it at run time."""
        known = self.ints(value)
        return self.s.integer(value) if known is None else known[0]

    def number(self, value: Value | None, default: float | None = None) -> Any:
        """A constant of one element as a Python number, otherwise the value itself."""
        if value is None:
            return default
        array = self.array(value)
        if array is None or np.size(array) != 1 or np.asarray(array).dtype.kind not in "biuf":
            return value
        return np.asarray(array).reshape(()).item()

    def rank(self, value: Value) -> int | None:
        """How many axes a value has."""
        return None if value.shape is None else len(value.shape)

    def known_rank(self, value: Value) -> int:
        """The same, for rules that cannot do without."""
        if value.shape is None:
            raise NotSupportedError("the number of axes is not known before the model runs")
        return len(value.shape)

    def sizes(self, value: Value) -> tuple[int, ...] | None:
        """The shape of a value if no axis is open."""
        shape = value.shape
        if shape is None or not all([isinstance(size, int) for size in shape]):
            return None
        return shape  # type: ignore[return-value]

    def is_float(self, value: Value) -> bool:
        """Whether a value holds real numbers, as far as is known."""
        return value.dtype is None or "float" in value.dtype

    # What is made.

    def constant(self, array: np.ndarray, name: str = "constant") -> Value:
        value = super().constant(array, name)
        self._arrays[value.name] = self.graph.constants[value.name]
        return value

    def remember(self, value: Value, array: np.ndarray) -> None:
        """The array of an initializer that is a variable."""
        self._arrays[value.name] = array

    def size_value(self, items: Sequence[Size], is_scalar: bool = False) -> Value:
        """An integer array of sizes, some of them known only at run time."""
        if all([isinstance(item, int) for item in items]):
            numbers = np.array(items, np.int64)
            return self.constant(numbers.reshape(()) if is_scalar else numbers, "sizes")
        kind = self.dtype("int64")
        content = items[0] if is_scalar else list(items)
        value = self.t.asarray(content, dtype=kind, backend=self.to)
        value = self.described(value, () if is_scalar else (len(items),), "int64")
        self._sizes[value.name] = tuple(items)
        return value

    def has_sizes(self, value: Value | None) -> bool:
        """Whether a value holds sizes that are open."""
        return value is not None and value.name in self._sizes

    def size_of(self, value: Value, axis: int) -> Size:
        """How long an axis is: an int, or the value that says so at run time."""
        if value.shape is not None and isinstance(value.shape[axis], int):
            return value.shape[axis]  # type: ignore[return-value]
        return self.s.size(value, axis)

    def arithmetic(self, op: Callable[..., Any], x: Size, y: Size) -> Size:
        """A calculation with sizes: done now, or written into the program."""
        if isinstance(x, int) and isinstance(y, int):
            return op(x, y)  # type: ignore[no-any-return]
        if op in (operator.add, operator.sub, operator.mul, operator.floordiv):
            unit = 0 if op in (operator.add, operator.sub) else 1
            if isinstance(y, int) and y == unit:
                return x
        return self.call(op, x, y)

    def cast(self, value: Value, name: str) -> Value:
        """The value in another type, if it is not known to have it."""
        if value.dtype == name:
            return value
        self.notes.casts[f"{value.dtype or 'unknown'} to {name}"] += 1
        shape = value.shape
        return self.described(self.t.astype(value, self.dtype(name)), shape, name)

    # Folding while reading.

    def mark(self) -> int:
        """The number of calls so far, for `fold_since`."""
        return len(self._functions[-1].nodes)

    def fold_since(self, mark: int, results: tuple[Any, ...], limit: int) -> tuple[Any, ...]:
        """The results as constants, if the calls since the mark depend on constants alone.

        Nothing larger than `limit` bytes is kept.
        """
        nodes = self._functions[-1].nodes
        new = nodes[mark:]
        if not new or any([is_random(node) for node in new]):
            return results
        known: dict[str, Any] = {}
        try:
            for node in new:
                used = self._used(node, known)
                if has_functions(node) or not is_small(node, used):
                    return results  # a loop may never end
                known[node.result.name] = call(on_numpy(node), used)
        except Exception:
            return results  # the program will say what is wrong when it runs
        arrays = [known.get(x.name) if isinstance(x, Value) else None for x in results]
        for x, array in zip(results, arrays):
            is_new = isinstance(x, Value) and x.name in known
            if is_new and not isinstance(array, (np.ndarray, np.generic)):
                return results
            if is_new and np.asarray(array).nbytes > limit:
                return results
        del nodes[mark:]
        self.notes.folded += len(new)
        return tuple(
            [x if a is None else self.constant(a, x.name) for x, a in zip(results, arrays)]
        )

    def _used(self, node: Node, known: dict[str, Any]) -> dict[str, Any]:
        return {
            x.name: known[x.name] if x.name in known else self._arrays[x.name]
            for x in values_in((node.args, node.attributes))
        }
