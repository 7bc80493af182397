"""Loops that count: `for i in range(n)` with lists of rows, as TensorFlow's `while` writes them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.errors import ConversionError
from ...graph import Value
from ..target import packed
from .builder import TensorFlowBuilder


@dataclass(frozen=True)
class TensorList:
    """A list of arrays of one shape: all its rows as one array, or nothing but their shape.

    Inside a scan, `row` is the one that is read or written at this step.
    """

    rows: Value | None = None
    element_shape: Any = None
    dtype: str = "float32"
    count: Any = 0
    row: Value | None = None
    is_written_by_scan: bool = False

    def stacked(self, g: TensorFlowBuilder) -> Value:
        """The list as one array; rows that were not written are zero."""
        if self.rows is not None:
            return self.rows
        sizes = self.element_shape
        if sizes is None or any([not isinstance(n, int) or n < 0 for n in sizes]):
            raise ConversionError(
                f"A list of arrays at {g.where} has rows of unknown shape {sizes}. Convert with "
                "fixed sizes."
            )
        return g.full((self.count, *sizes), 0, self.dtype)


@dataclass
class CountedLoop:
    """A loop whose condition only counts, and where each list is read or written at the count."""

    body: Any
    args: tuple[Any, ...]
    counters: dict[int, int]  # number of the state, first value
    invariant: set[int]
    read: list[int]
    written: list[int]
    last_only: set[int]  # those among them that only keep what is written last
    steps: Any  # how many; None if the lists say it

    @staticmethod
    def found_in(cond: tf.Graph, body: tf.Graph, args: tuple[Any, ...]) -> "CountedLoop | None":
        """The loop as one that counts, or None if it is another."""
        names = [x.name for x in body.inputs]
        origins = [origin(x) for x in body.outputs]
        invariant = {i for i, x in enumerate(origins) if x.name == names[i]}
        counters = {
            i: int(args[i])
            for i, x in enumerate(origins)
            if _is_static(args[i]) and args[i].dtype.kind == "i" and _counts_up(x, names[i])
        }
        lists = [i for i, x in enumerate(args) if isinstance(x, TensorList)]
        read = [i for i in lists if i in invariant]
        written = [i for i in lists if i not in invariant]
        from_zero = {names[i] for i, first in counters.items() if first == 0}
        if not all([_is_read_at(body.inputs[i], from_zero) for i in read]):
            return None
        if not all([_is_written_at(origins[i], names[i], from_zero) for i in written]):
            return None
        known, steps = _steps(cond, counters, invariant, args)
        if not known or (steps is None and not read):
            return None
        last_only = {i for i in written if _constant(origins[i].op.inputs[1]) == 0}
        return CountedLoop(body, args, counters, invariant, read, written, last_only, steps)

    def as_scan(self, g: TensorFlowBuilder) -> list[Any]:
        """The loop as a call of `trellis.scan`; gives what each state is after it."""
        args, body = list(self.args), self.body
        moved = {*self.counters, *self.invariant, *self.written}
        carried = [i for i in range(len(args)) if i not in moved]
        init = [g.array(args[i]) for i in carried]
        asked = self._asked_for()
        rows = [self._first_rows(g, args[i].stacked(g)) for i in self.read]
        xs = list(rows)
        if asked or not xs:
            xs.append(g.t.arange(self._length(g, rows), dtype="int32", backend=g.to))
        if not init:
            init = [g.full((), 0.0, "float32")]
        with g.function("step") as step:
            states = g.packed_inputs("carry", init)
            rows_of = [replace(x, shape=x.shape and x.shape[1:]) for x in xs]
            items = g.packed_inputs("x", rows_of)
            given = list(args)
            for i, x in zip(carried, states):
                given[i] = x
            for i, x in zip(self.read, items):
                given[i] = TensorList(row=x)
            for i in self.written:
                given[i] = TensorList(is_written_by_scan=True)
            for i, first in self.counters.items():
                number = g.t.add(items[-1], first) if i in asked and first else items[-1]
                given[i] = number if i in asked else np.asarray(0, "int32")
            wanted = [body.outputs[i] for i in (*carried, *self.written)]
            new = g.inline(body, given, wanted)
            count = len(carried)
            carry = [g.array(x) for x in new[:count]] or states
            step.outputs = (packed(carry), packed([x.row for x in new[count:]]))
        last, ys = g.items(g.t.scan(step, packed(init), packed(xs)), 2)
        after = list(args)
        for i, x, before in zip(carried, g.unpacked(last, len(carried)), init):
            after[i] = g.described(x, before.shape, before.dtype)
        for i, x in zip(self.written, g.unpacked(ys, len(self.written))):
            if i in self.last_only:
                x = g.item(x, slice(-1, None))
            after[i] = TensorList(x)
        for i, first in self.counters.items():
            after[i] = np.asarray(first + (self.steps or 0), "int32")
        return after

    def _asked_for(self) -> set[int]:
        """Counters that are used for more than finding rows."""
        found = set()
        for i in self.counters:
            for op in self.body.inputs[i].consumers():
                if op.type not in ("TensorListGetItem", "TensorListSetItem", "Identity", "AddV2"):
                    found.add(i)
                elif op.type == "AddV2" and any(
                    [use.type != "Identity" for use in op.outputs[0].consumers()]
                ):
                    found.add(i)
        return found

    def _first_rows(self, g: TensorFlowBuilder, rows: Value) -> Value:
        size = None if rows.shape is None else rows.shape[0]
        if self.steps is None or size == self.steps or not isinstance(size, int):
            return rows
        cut = g.item(rows, slice(None, self.steps))
        return g.described(cut, (self.steps, *(rows.shape or ())[1:]), rows.dtype)

    def _length(self, g: TensorFlowBuilder, rows: list[Value]) -> Any:
        return self.steps if self.steps is not None else g.size(rows[0], 0)


def origin(x: tf.Tensor) -> Any:
    """The tensor that this one is the same as."""
    while x.op.type == "Identity":
        x = x.op.inputs[0]
    return x


def _is_static(x: object) -> bool:
    return isinstance(x, np.ndarray) and x.dtype != object and x.ndim == 0


def _constant(x: tf.Tensor) -> Any:
    """The number that a tensor of a graph always is, or None."""
    x = origin(x)
    if x.op.type != "Const":
        return None
    proto = x.op.get_attr("value")
    values = list(proto.int_val) or list(proto.int64_val)
    return values[0] if len(values) == 1 else None


def _counts_up(x: tf.Tensor, name: str) -> bool:
    if x.op.type not in ("AddV2", "Add"):
        return False
    first, second = [origin(y) for y in x.op.inputs]
    if first.name != name:
        first, second = second, first
    return first.name == name and _constant(second) == 1


def _is_read_at(x: tf.Tensor, counters: set[str]) -> bool:
    return all(
        [
            op.type == "Identity"
            or (op.type == "TensorListGetItem" and origin(op.inputs[1]).name in counters)
            for op in x.consumers()
        ]
    )


def _is_written_at(x: tf.Tensor, name: str, counters: set[str]) -> bool:
    if x.op.type != "TensorListSetItem":
        return False
    if origin(x.op.inputs[0]).name != name:
        return False
    return origin(x.op.inputs[1]).name in counters or _constant(x.op.inputs[1]) == 0


def _steps(
    cond: tf.Graph, counters: dict[int, int], invariant: set[int], args: tuple[Any, ...]
) -> tuple[bool, int | None]:
    """Whether the condition only counts, and how many steps that makes, if that is known."""
    places = {x.name: i for i, x in enumerate(cond.inputs)}
    waiting, steps = [origin(cond.outputs[0])], []
    while waiting:
        x = waiting.pop()
        if x.op.type == "LogicalAnd":
            waiting += [origin(y) for y in x.op.inputs]
            continue
        if x.op.type != "Less":
            return False, None
        counter, limit = [origin(y) for y in x.op.inputs]
        i = places.get(counter.name)
        if i not in counters:
            return False, None
        bound = _constant(limit)
        if bound is None:
            j = places.get(limit.name)
            if j is None or j not in invariant or isinstance(args[j], Value):
                return False, None
            if not _is_static(args[j]):
                continue  # an open size
            bound = int(args[j])
        steps.append(bound - counters[i])
    return True, min(steps) if steps else None
