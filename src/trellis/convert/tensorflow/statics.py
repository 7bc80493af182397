"""Arithmetic of shapes: operations on small arrays of sizes, done while converting.

Each function gets NumPy arrays, of integers or of objects that are integers and open sizes.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph import Value
from ..rules import Rules
from .builder import Size, TensorFlowBuilder

static_rules = Rules()


class Masks(NamedTuple):
    """Bits that say what the numbers of a slice mean, one for each axis."""

    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink_axis: int


@static_rules("Identity", "StopGradient", "PreventGradient", "EnsureShape", "Snapshot")
def identity(g: TensorFlowBuilder, x: np.ndarray) -> Any:
    return x


@static_rules("Cast")
def cast(g: TensorFlowBuilder, x: np.ndarray, *, DstT: str) -> Any:
    return x if x.dtype == object else x.astype(DstT)


@static_rules("Pack")
def pack(g: TensorFlowBuilder, *xs: np.ndarray, axis: int = 0) -> Any:
    return np.stack(xs, axis=axis)


@static_rules("ConcatV2")
def concat(g: TensorFlowBuilder, *xs: np.ndarray) -> Any:
    return np.concatenate(xs[:-1], axis=int(xs[-1]))


@static_rules("StridedSlice")
def strided_slice(
    g: TensorFlowBuilder,
    x: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    strides: np.ndarray,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    if any([a.dtype == object for a in (begin, end, strides)]):
        return None
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return np.asarray(x[index_of(begin, end, strides, masks)], x.dtype)


def index_of(
    begin: np.ndarray, end: np.ndarray, strides: np.ndarray, masks: Masks
) -> tuple[Any, ...]:
    """The index between the brackets of `x[...]`: TensorFlow writes it as numbers and masks."""
    starts, stops, steps = [list(np.asarray(a).tolist()) for a in (begin, end, strides)]
    found: list[Any] = []
    for i, (start, stop, step) in enumerate(zip(starts, stops, steps)):
        bits = Masks(*[mask >> i & 1 for mask in masks])
        if bits.ellipsis:
            found.append(Ellipsis)
        elif bits.new_axis:
            found.append(None)
        elif bits.shrink_axis:
            found.append(start)
        else:
            first = None if bits.begin else start
            last = None if bits.end else stop
            found.append(slice(first, last, None if step == 1 else step))
    return tuple(found)


@static_rules("GatherV2")
def gather(
    g: TensorFlowBuilder,
    x: np.ndarray,
    indices: np.ndarray,
    axis: np.ndarray,
    *,
    batch_dims: int = 0,
) -> Any:
    if batch_dims:
        return None
    return np.take(x, indices.astype("int64"), axis=int(axis))


@static_rules("Reshape")
def reshape(g: TensorFlowBuilder, x: np.ndarray, shape: np.ndarray) -> Any:
    return None if shape.dtype == object else x.reshape(shape)


@static_rules("ExpandDims")
def expand_dims(g: TensorFlowBuilder, x: np.ndarray, axis: np.ndarray) -> Any:
    return np.expand_dims(x, int(axis))


@static_rules("Squeeze")
def squeeze(g: TensorFlowBuilder, x: np.ndarray, *, squeeze_dims: Sequence[int] = ()) -> Any:
    return np.squeeze(x, tuple(squeeze_dims) or None)


@static_rules("Slice")
def slice_(g: TensorFlowBuilder, x: np.ndarray, begin: np.ndarray, size: np.ndarray) -> Any:
    if begin.dtype == object or size.dtype == object:
        return None
    return x[tuple([slice(b, None if n < 0 else b + n) for b, n in zip(begin, size)])]


@static_rules("BroadcastTo")
def broadcast_to(g: TensorFlowBuilder, x: np.ndarray, shape: np.ndarray) -> Any:
    return None if shape.dtype == object else np.broadcast_to(x, tuple(shape)).copy()


@static_rules("Neg")
def negative(g: TensorFlowBuilder, x: np.ndarray) -> Any:
    return None if x.dtype == object else np.negative(x)


@static_rules("Unpack")
def unpack(g: TensorFlowBuilder, x: np.ndarray, *, num: int, axis: int = 0) -> Any:
    return tuple([np.asarray(row) for row in np.moveaxis(x, axis, 0)])


@static_rules("Range")
def range_(g: TensorFlowBuilder, start: np.ndarray, stop: np.ndarray, step: np.ndarray) -> Any:
    if any([x.dtype == object for x in (start, stop, step)]):
        return None
    return np.arange(start.item(), stop.item(), step.item(), dtype=start.dtype)


@static_rules("Fill")
def fill(g: TensorFlowBuilder, shape: np.ndarray, value: np.ndarray) -> Any:
    if shape.dtype == object or int(np.prod(shape)) > 64:
        return None
    return np.full(tuple(shape), value)


@static_rules("Prod", "Max", "Min", "Sum")
def reduce(
    g: TensorFlowBuilder, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False
) -> Any:
    if x.dtype != object:
        fn: Any = {"Prod": np.prod, "Max": np.max, "Min": np.min, "Sum": np.sum}[g.source]
        if axes.size == 0:
            return x
        found = fn(x, axis=tuple(axes.ravel().tolist()), keepdims=keep_dims)
        return np.asarray(found, x.dtype)
    if g.source != "Prod" or x.ndim != 1 or keep_dims:
        return None
    total: Any = 1
    for n in x:
        total = _join(g, operator.mul, total, n)
    return _scalar(total)


_BINARY: dict[str, Callable[..., Any]] = {
    "AddV2": operator.add, "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul,
    "FloorDiv": operator.floordiv, "FloorMod": operator.mod, "Maximum": max, "Minimum": min,
}  # fmt: skip


@static_rules(*_BINARY)
def binary(g: TensorFlowBuilder, x: np.ndarray, y: np.ndarray) -> Any:
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return None
    fn = _BINARY[g.source]
    pairs = np.broadcast(x.astype(object), y.astype(object))
    found = [_join(g, fn, a, b) for a, b in pairs]
    if all([not isinstance(n, Value) for n in found]):
        kind = x.dtype if x.dtype != object else np.dtype("int32")
        return np.array(found, kind).reshape(pairs.shape)
    made = np.empty(len(found), object)
    made[:] = found
    return made.reshape(pairs.shape)


def _join(g: TensorFlowBuilder, fn: Callable[..., Any], a: Size, b: Size) -> Any:
    if fn is operator.mul and 1 in [n for n in (a, b) if not isinstance(n, Value)]:
        return b if not isinstance(a, Value) and a == 1 else a
    if not isinstance(a, Value) and not isinstance(b, Value):
        return fn(a, b)
    return g.call(fn, *[n if isinstance(n, Value) else int(n) for n in (a, b)])


def _scalar(x: Size) -> Any:
    if not isinstance(x, Value):
        return np.asarray(x, "int32")
    made = np.empty((), object)
    made[()] = x
    return made


@static_rules("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "LogicalAnd")
@static_rules("LogicalOr", "LogicalNot")
def compare(g: TensorFlowBuilder, *xs: np.ndarray) -> Any:
    if any([x.dtype == object for x in xs]):
        return None
    names = {
        "Less": np.less, "LessEqual": np.less_equal, "Greater": np.greater,
        "GreaterEqual": np.greater_equal, "Equal": np.equal, "NotEqual": np.not_equal,
        "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "LogicalNot": np.logical_not,
    }  # fmt: skip
    return np.asarray(names[g.source](*xs))


@static_rules("SelectV2", "Select")
def select(g: TensorFlowBuilder, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    return None if condition.dtype == object else np.where(condition, x, y)
