"""Operations of TensorFlow that move, cut, join, make and cast arrays, and look things up."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import Value
from ..rules import Rules
from .builder import Operand, TensorFlowBuilder
from .statics import index_of

shape_rules = Rules()


@shape_rules("Shape")
def shape(g: TensorFlowBuilder, x: Value, **_: object) -> Any:
    """Known while converting, but for dynamic axes."""
    sizes = [g.size(x, i) for i in range(len(x.shape or ()))]
    if all([isinstance(n, int) for n in sizes]):
        return np.array(sizes, g.out[0].dtype)
    made = np.empty(len(sizes), object)
    made[:] = sizes
    return made


@shape_rules("Rank")
def rank(g: TensorFlowBuilder, x: Value, **_: object) -> Any:
    return np.asarray(len(x.shape or ()), "int32")


@shape_rules("Size")
def size(g: TensorFlowBuilder, x: Value, **_: object) -> Any:
    total: Any = 1
    for i in range(len(x.shape or ())):
        n = g.size(x, i)
        total = (
            total * n
            if isinstance(n, int) and isinstance(total, int)
            else g.call(operator.mul, total, n)
        )
    made = np.empty((), object)
    made[()] = total
    return np.asarray(total, "int32") if isinstance(total, int) else made


@shape_rules("Reshape")
def reshape(g: TensorFlowBuilder, x: Value, new: Operand, **_: object) -> Value:
    sizes = g.ints(new)
    if sizes == x.shape:
        return x
    return g.reshape(x, sizes)


@shape_rules("Squeeze")
def squeeze(
    g: TensorFlowBuilder, x: Value, *, squeeze_dims: Sequence[int] = (), **_: object
) -> Value:
    axes = tuple(squeeze_dims) or tuple([i for i, n in enumerate(x.shape or ()) if n == 1])
    if not axes:
        return x
    return g.t.squeeze(x, axis=axes[0] if len(axes) == 1 else axes)


@shape_rules("ExpandDims")
def expand_dims(g: TensorFlowBuilder, x: Value, axis: Operand, **_: object) -> Value:
    return g.t.expand_dims(x, axis=g.axis(axis))


@shape_rules("Transpose")
def transpose(g: TensorFlowBuilder, x: Value, axes: Operand, **_: object) -> Value:
    order = g.ints(axes, "An order of axes")
    n = len(order)
    if order == tuple(range(n)):
        return x
    if n >= 2 and order == (*range(n - 2), n - 1, n - 2):
        return g.t.matrix_transpose(x)
    return g.t.permute_dims(x, order)


@shape_rules("ConcatV2")
def concat(g: TensorFlowBuilder, *xs: Operand, **_: object) -> Value:
    arrays = [g.array(x) for x in xs[:-1]]
    return arrays[0] if len(arrays) == 1 else g.t.concat(arrays, axis=g.axis(xs[-1]))


@shape_rules("Pack")
def pack(g: TensorFlowBuilder, *xs: Operand, axis: int = 0, **_: object) -> Value:
    return g.t.stack([g.array(x) for x in xs], axis=axis)


@shape_rules("Unpack")
def unpack(g: TensorFlowBuilder, x: Value, *, num: int, axis: int = 0, **_: object) -> Any:
    return g.items(g.t.unstack(x, axis=axis), num)


@shape_rules("Split")
def split(g: TensorFlowBuilder, axis: Operand, x: Value, *, num_split: int, **_: object) -> Any:
    along = g.axis(axis)
    n = (x.shape or ())[along]
    if not isinstance(n, int):
        return g.items(g.s.split_into(x, num_split, axis=along), num_split)
    return g.pieces(x, [n // num_split] * num_split, along % len(x.shape or ()))


@shape_rules("SplitV")
def split_v(g: TensorFlowBuilder, x: Value, sizes: Operand, axis: Operand, **_: object) -> Any:
    counts, along = list(g.ints(sizes)), g.axis(axis)
    if -1 in counts:
        rest = (x.shape or ())[along] - sum([n for n in counts if n != -1])  # type: ignore[operator]
        counts[counts.index(-1)] = rest
    return g.pieces(x, counts, along % len(x.shape or ()))


@shape_rules("StridedSlice")
def strided_slice(
    g: TensorFlowBuilder, x: Value, begin: Operand, end: Operand, strides: Operand, **masks: int
) -> Value:
    bounds = [np.array(g.ints(a, "A slice"), object) for a in (begin, end, strides)]
    index = index_of(*bounds, **masks)
    flipped = [
        i for i, s in enumerate(index)
        if isinstance(s, slice) and isinstance(s.step, int) and s.step < 0
    ]  # fmt: skip
    if flipped:  # a slice backwards: not every framework has it
        return g.s.slice_any(x, index)
    # Behind an ellipsis even a whole slice counts axes.
    while index and index[-1] == slice(None) and Ellipsis not in index:
        index = index[:-1]
    return g.item(x, index) if index else x


@shape_rules("Slice")
def slice_(g: TensorFlowBuilder, x: Value, begin: Operand, size: Operand, **_: object) -> Value:
    if isinstance(begin, Value):
        starts = [g.item(begin, i) for i in range(len(x.shape or ()))]
        counts = [(x.shape or ())[i] if n == -1 else n for i, n in enumerate(g.ints(size))]
        return g.s.dynamic_slice(x, starts, tuple(counts))
    index = []
    for start, count in zip(g.ints(begin), g.ints(size)):
        if isinstance(start, Value) or isinstance(count, Value):
            stop: Any = g.call(operator.add, start, count)
        else:
            stop = None if count == -1 else start + count
        index.append(slice(start or None, stop))
    return g.item(x, tuple(index))


@shape_rules("Pad", "PadV2", "MirrorPad")
def pad(
    g: TensorFlowBuilder, x: Value, widths: Operand, value: Operand | None = None, **attributes: str
) -> Value:
    flat = g.ints(widths, "A padding")
    pairs = [(flat[2 * i], flat[2 * i + 1]) for i in range(len(flat) // 2)]
    if g.source == "MirrorPad":
        if attributes["mode"] == "REFLECT":
            return g.t.pad(x, pairs, mode="reflect")
        return g.s.padded(x, (*flat[::2], *flat[1::2]), mode="symmetric")
    if value is None:
        return g.t.pad(x, pairs)
    return g.t.pad(x, pairs, constant_values=np.asarray(value).item())


@shape_rules("Tile")
def tile(g: TensorFlowBuilder, x: Operand, counts: Operand, **_: object) -> Value:
    return g.t.tile(g.array(x), g.ints(counts))


@shape_rules("BroadcastTo")
def broadcast_to(g: TensorFlowBuilder, x: Operand, new: Operand, **_: object) -> Value:
    return g.t.broadcast_to(g.array(x), g.ints(new))


@shape_rules("Fill")
def fill(g: TensorFlowBuilder, new: Operand, value: Operand, **_: object) -> Value:
    sizes = g.ints(new)
    if isinstance(value, Value):
        return g.t.broadcast_to(value, sizes)
    return g.full(sizes, np.asarray(value).item(), g.out[0].dtype)


@shape_rules("Range")
def range_(
    g: TensorFlowBuilder, start: Operand, stop: Operand, step: Operand, **_: object
) -> Value:
    ends = [g.ints(x, "A range")[0] for x in (start, stop, step)]
    return g.t.arange(*ends, dtype=g.dtype(g.out[0].dtype), backend=g.to)


@shape_rules("LinSpace")
def linspace(
    g: TensorFlowBuilder, start: Operand, stop: Operand, num: Operand, **_: object
) -> Value:
    ends = [float(np.asarray(x).item()) for x in (start, stop)]
    return g.t.linspace(*ends, g.axis(num), dtype=g.out[0].dtype, backend=g.to)


@shape_rules("ReverseV2")
def reverse(g: TensorFlowBuilder, x: Value, axes: Operand, **_: object) -> Value:
    found = g.ints(axes)
    return g.t.flip(x, axis=found[0] if len(found) == 1 else found)


@shape_rules("Roll")
def roll(g: TensorFlowBuilder, x: Value, shift: Operand, axis: Operand, **_: object) -> Value:
    shifts, axes = g.ints(shift), g.ints(axis)
    return g.t.roll(x, shifts, axis=axes)


@shape_rules("Cast")
def cast(g: TensorFlowBuilder, x: Value, **_: object) -> Value:
    kind = g.out[0].dtype
    g.notes.casts[f"{x.dtype} to {kind}"] += x.dtype != kind
    return g.cast(x, kind)


@shape_rules("Bitcast")
def bitcast(g: TensorFlowBuilder, x: Value, **_: object) -> Value:
    return g.s.bitcast(x, g.out[0].dtype)


@shape_rules("MatrixBandPart")
def band_part(
    g: TensorFlowBuilder, x: Operand, lower: Operand, upper: Operand, **_: object
) -> Value:
    below, above = g.axis(lower), g.axis(upper)
    x = g.array(x)
    if below >= 0:
        x = g.t.triu(x, k=-below)
    return g.t.tril(x, k=above) if above >= 0 else x


@shape_rules("MatrixDiagPartV3", "MatrixDiagPart")
def diagonal(g: TensorFlowBuilder, x: Value, *rest: Operand, **_: object) -> Value:
    offset = g.axis(rest[0]) if rest else 0
    return g.linalg.diagonal(x, offset=offset)


@shape_rules("MatrixDiagV3", "MatrixDiag", "Diag")
def matrix_diag(g: TensorFlowBuilder, x: Value, *rest: Operand, **_: object) -> Value:
    """The vector on the diagonal of a square matrix."""
    n = (x.shape or ())[-1]
    eye = g.t.eye(n, dtype=g.dtype(g.out[0].dtype), backend=g.to)
    return g.t.multiply(eye, g.t.expand_dims(x, axis=-1))


@shape_rules("GatherV2", "Gather")
def gather(g: TensorFlowBuilder, x: Operand, indices: Operand, axis: Operand | None = None, *,
           batch_dims: int = 0, **_: object) -> Value:  # fmt: skip
    along = 0 if axis is None else g.axis(axis)
    x, indices = g.array(x), g.array(indices)
    if batch_dims == 0:
        return g.t.take(x, indices, axis=along)
    return g.s.take_in_batches(x, indices, axis=along, batch_axes=batch_dims)


@shape_rules("GatherNd")
def gather_nd(g: TensorFlowBuilder, x: Operand, indices: Operand, **_: object) -> Value:
    return g.s.gathered_points(g.array(x), g.array(indices))


@shape_rules("ScatterNd")
def scatter_nd(
    g: TensorFlowBuilder, indices: Operand, updates: Operand, new: Operand, **_: object
) -> Value:
    zeros = g.full(g.ints(new), 0, g.out[0].dtype)
    return g.s.scattered_points(zeros, g.array(indices), g.array(updates), reduce="add")


@shape_rules("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin")
def tensor_scatter(
    g: TensorFlowBuilder, x: Operand, indices: Operand, updates: Operand, **_: object
) -> Value:
    word = g.source.removeprefix("TensorScatter").lower()
    reduce = "set" if word == "update" else word
    return g.s.scattered_points(g.array(x), g.array(indices), g.array(updates), reduce=reduce)


@shape_rules("OneHot")
def one_hot(g: TensorFlowBuilder, indices: Operand, depth: Operand, on: Operand, off: Operand, *,
            axis: int = -1, **_: object) -> Value:  # fmt: skip
    kind, high, low = g.out[0].dtype, np.asarray(on).item(), np.asarray(off).item()
    made = g.t.one_hot(g.array(indices), g.axis(depth), dtype=g.dtype(kind), axis=axis)
    if (high, low) == (1, 0):
        return made
    return g.t.add(g.t.multiply(made, high - low), low)


@shape_rules("InvertPermutation")
def invert_permutation(g: TensorFlowBuilder, x: Operand, **_: object) -> Any:
    return np.argsort(np.asarray(g.ints(x))).astype("int32")


@shape_rules("BroadcastArgs")
def broadcast_args(g: TensorFlowBuilder, a: Operand, b: Operand, **_: object) -> Any:
    return np.asarray(np.broadcast_shapes(g.ints(a), g.ints(b)), "int32")


@shape_rules("Where")
def where(g: TensorFlowBuilder, x: Value, **_: object) -> Value:
    places = g.items(g.t.nonzero(x), len(x.shape or ()))
    return g.t.stack(list(places), axis=-1)
