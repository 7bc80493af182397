"""Operations of TensorFlow that move, cut, join, make and cast arrays, and look things up."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError
from ...graph import Value
from ..rules import Rules
from ..semantics.numbers import has_bitcast
from .builder import Operand, TensorFlowBuilder
from .statics import Masks, index_of

shape_rules = Rules()


@shape_rules("Shape")
def shape(g: TensorFlowBuilder, x: Value, *, out_type: str = "int32") -> Any:
    """Known while converting, but for dynamic axes."""
    sizes = [g.size(x, i) for i in range(len(x.shape or ()))]
    if all([isinstance(n, int) for n in sizes]):
        return np.array(sizes, g.out[0].dtype)
    made = np.empty(len(sizes), object)
    made[:] = sizes
    return made


@shape_rules("ShapeN")
def shapes(g: TensorFlowBuilder, *xs: Operand, out_type: str = "int32") -> Any:
    return tuple([shape(g, g.array(x)) for x in xs])


@shape_rules("Rank")
def rank(g: TensorFlowBuilder, x: Value) -> Any:
    return np.asarray(len(x.shape or ()), "int32")


@shape_rules("Size")
def size(g: TensorFlowBuilder, x: Value, *, out_type: str = "int32") -> Any:
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
    return np.asarray(total, out_type) if isinstance(total, int) else made


@shape_rules("Reshape")
def reshape(g: TensorFlowBuilder, x: Value, new: Operand) -> Value:
    sizes = g.ints(new)
    if sizes == x.shape:
        return x
    return g.reshape(x, sizes)


@shape_rules("Squeeze")
def squeeze(g: TensorFlowBuilder, x: Value, *, squeeze_dims: Sequence[int] = ()) -> Value:
    axes = tuple(squeeze_dims) or tuple([i for i, n in enumerate(x.shape or ()) if n == 1])
    if not axes:
        return x
    return g.t.squeeze(x, axis=axes[0] if len(axes) == 1 else axes)


@shape_rules("ExpandDims")
def expand_dims(g: TensorFlowBuilder, x: Value, axis: Operand) -> Value:
    return g.t.expand_dims(x, axis=g.axis(axis))


@shape_rules("Transpose")
def transpose(g: TensorFlowBuilder, x: Value, axes: Operand) -> Value:
    order = g.ints(axes, "An order of axes")
    n = len(order)
    if order == tuple(range(n)):
        return x
    if n >= 2 and order == (*range(n - 2), n - 1, n - 2):
        return g.t.matrix_transpose(x)
    return g.t.permute_dims(x, order)


@shape_rules("ConjugateTranspose")
def conjugate_transpose(g: TensorFlowBuilder, x: Value, axes: Operand) -> Value:
    return g.t.conj(transpose(g, x, axes))


@shape_rules("ConcatV2")
def concat(g: TensorFlowBuilder, *xs: Operand) -> Value:
    arrays = [g.array(x) for x in xs[:-1]]
    return arrays[0] if len(arrays) == 1 else g.t.concat(arrays, axis=g.axis(xs[-1]))


@shape_rules("Pack")
def pack(g: TensorFlowBuilder, *xs: Operand, axis: int = 0) -> Value:
    return g.t.stack([g.array(x) for x in xs], axis=axis)


@shape_rules("Unpack")
def unpack(g: TensorFlowBuilder, x: Value, *, num: int, axis: int = 0) -> Any:
    return g.items(g.t.unstack(x, axis=axis), num)


@shape_rules("Split")
def split(g: TensorFlowBuilder, axis: Operand, x: Value, *, num_split: int) -> Any:
    along = g.axis(axis)
    n = (x.shape or ())[along]
    if not isinstance(n, int):
        return g.items(g.s.split_into(x, num_split, axis=along), num_split)
    return g.pieces(x, [n // num_split] * num_split, along % len(x.shape or ()))


@shape_rules("SplitV")
def split_v(g: TensorFlowBuilder, x: Value, sizes: Operand, axis: Operand) -> Any:
    counts, along = list(g.ints(sizes)), g.axis(axis)
    if -1 in counts:
        rest = (x.shape or ())[along] - sum([n for n in counts if n != -1])  # type: ignore[operator]
        counts[counts.index(-1)] = rest
    return g.pieces(x, counts, along % len(x.shape or ()))


@shape_rules("StridedSlice")
def strided_slice(
    g: TensorFlowBuilder,
    x: Value,
    begin: Operand,
    end: Operand,
    strides: Operand,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Value:
    bounds = [np.array(g.ints(a, "A slice"), object) for a in (begin, end, strides)]
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    index = index_of(bounds[0], bounds[1], bounds[2], masks)
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
def slice_(g: TensorFlowBuilder, x: Value, begin: Operand, size: Operand) -> Value:
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
    g: TensorFlowBuilder,
    x: Value,
    widths: Operand,
    value: Operand | None = None,
    *,
    mode: str = "",
) -> Value:
    flat = g.ints(widths, "A padding")
    pairs = [(flat[2 * i], flat[2 * i + 1]) for i in range(len(flat) // 2)]
    if g.source == "MirrorPad":
        if mode == "REFLECT":
            return g.t.pad(x, pairs, mode="reflect")
        return g.s.padded(x, (*flat[::2], *flat[1::2]), mode="symmetric")
    if value is None:
        return g.t.pad(x, pairs)
    return g.t.pad(x, pairs, constant_values=np.asarray(value).item())


@shape_rules("Tile")
def tile(g: TensorFlowBuilder, x: Operand, counts: Operand) -> Value:
    return g.t.tile(g.array(x), g.ints(counts))


@shape_rules("BroadcastTo")
def broadcast_to(g: TensorFlowBuilder, x: Operand, new: Operand) -> Value:
    return g.t.broadcast_to(g.array(x), g.ints(new))


@shape_rules("Fill")
def fill(g: TensorFlowBuilder, new: Operand, value: Operand) -> Value:
    sizes = g.ints(new)
    if isinstance(value, Value):
        return g.t.broadcast_to(value, sizes)
    return g.full(sizes, np.asarray(value).item(), g.out[0].dtype)


@shape_rules("Range")
def range_(g: TensorFlowBuilder, start: Operand, stop: Operand, step: Operand) -> Value:
    ends = [g.ints(x, "A range")[0] for x in (start, stop, step)]
    return g.t.arange(*ends, dtype=g.dtype(g.out[0].dtype), backend=g.to)


@shape_rules("LinSpace")
def linspace(g: TensorFlowBuilder, start: Operand, stop: Operand, num: Operand) -> Value:
    ends = [float(np.asarray(x).item()) for x in (start, stop)]
    return g.t.linspace(*ends, g.axis(num), dtype=g.out[0].dtype, backend=g.to)


@shape_rules("ReverseV2")
def reverse(g: TensorFlowBuilder, x: Value, axes: Operand) -> Value:
    found = g.ints(axes)
    return g.t.flip(x, axis=found[0] if len(found) == 1 else found)


@shape_rules("Roll")
def roll(g: TensorFlowBuilder, x: Value, shift: Operand, axis: Operand) -> Value:
    shifts, axes = g.ints(shift), g.ints(axis)
    return g.t.roll(x, shifts, axis=axes)


@shape_rules("Cast")
def cast(g: TensorFlowBuilder, x: Value, *, DstT: str) -> Value:
    kind = DstT
    g.notes.casts[f"{x.dtype} to {kind}"] += x.dtype != kind
    return g.cast(x, kind)


@shape_rules("Bitcast")
def bitcast(g: TensorFlowBuilder, x: Value, *, type: str) -> Value:
    if not has_bitcast(x.dtype or "", type):
        raise NotSupportedError(f"Bitcast of {x.dtype} to {type} has no counterpart.")
    return g.s.bitcast(x, type)


@shape_rules("MatrixBandPart")
def band_part(g: TensorFlowBuilder, x: Operand, lower: Operand, upper: Operand) -> Value:
    below, above = g.axis(lower), g.axis(upper)
    x = g.array(x)
    if below >= 0:
        x = g.t.triu(x, k=-below)
    return g.t.tril(x, k=above) if above >= 0 else x


@shape_rules("GatherV2", "Gather")
def gather(g: TensorFlowBuilder, x: Operand, indices: Operand, axis: Operand | None = None, *,
           batch_dims: int = 0) -> Value:  # fmt: skip
    along = 0 if axis is None else g.axis(axis)
    x, indices = g.array(x), g.array(indices)
    if batch_dims == 0:
        return g.t.take(x, indices, axis=along)
    return g.s.take_in_batches(x, indices, axis=along, batch_axes=batch_dims)


@shape_rules("GatherNd")
def gather_nd(g: TensorFlowBuilder, x: Operand, indices: Operand) -> Value:
    return g.s.gathered_points(g.array(x), g.array(indices))


@shape_rules("ScatterNd")
def scatter_nd(g: TensorFlowBuilder, indices: Operand, updates: Operand, new: Operand) -> Value:
    zeros = g.full(g.ints(new), 0, g.out[0].dtype)
    return g.s.scattered_points(zeros, g.array(indices), g.array(updates), reduce="add")


@shape_rules("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin")
@shape_rules("TensorScatterSub")
def tensor_scatter(g: TensorFlowBuilder, x: Operand, indices: Operand, updates: Operand) -> Value:
    word = g.source.removeprefix("TensorScatter").lower()
    reduce = {"update": "set", "sub": "add"}.get(word, word)
    changes = g.t.negative(g.array(updates)) if word == "sub" else g.array(updates)
    return g.s.scattered_points(g.array(x), g.array(indices), changes, reduce=reduce)


@shape_rules("OneHot")
def one_hot(g: TensorFlowBuilder, indices: Operand, depth: Operand, on: Operand, off: Operand, *,
            axis: int = -1) -> Value:  # fmt: skip
    kind, high, low = g.out[0].dtype, np.asarray(on).item(), np.asarray(off).item()
    count, places = g.axis(depth), g.array(indices)
    if (high, low) == (1, 0) and kind != "bool":
        return g.t.one_hot(places, count, dtype=g.dtype(kind), axis=axis)
    chosen = g.t.one_hot(places, count, dtype="bool", axis=axis)
    return g.t.where(chosen, g.full((), high, kind), low)


@shape_rules("InvertPermutation")
def invert_permutation(g: TensorFlowBuilder, x: Operand) -> Any:
    return np.argsort(np.asarray(g.ints(x))).astype("int32")


@shape_rules("BroadcastArgs")
def broadcast_args(g: TensorFlowBuilder, a: Operand, b: Operand) -> Any:
    return np.asarray(np.broadcast_shapes(g.ints(a), g.ints(b)), "int32")


@shape_rules("Where")
def where(g: TensorFlowBuilder, x: Value) -> Value:
    places = g.items(g.t.nonzero(x), len(x.shape or ()))
    return g.t.stack(list(places), axis=-1)


@shape_rules("ReverseSequence")
def reverse_sequence(
    g: TensorFlowBuilder, x: Value, lengths: Operand, *, seq_dim: int, batch_dim: int = 0
) -> Value:
    return g.s.reversed_sequences(x, g.array(lengths), axis=seq_dim, batch_axis=batch_dim)


_SEGMENTS = [f"UnsortedSegment{name}" for name in ("Sum", "Prod", "Max", "Min")]


@shape_rules(*_SEGMENTS)
def segments(g: TensorFlowBuilder, x: Operand, ids: Operand, count: Operand) -> Value:
    by = g.source.removeprefix("UnsortedSegment").lower()
    return g.s.segments_joined(g.array(x), g.array(ids), g.axis(count), by=by)


@shape_rules("Unique", "UniqueWithCounts")
def unique(g: TensorFlowBuilder, x: Operand, *, out_idx: str = "int32") -> Any:
    """In the order in which they come."""
    found = g.s.unique(g.array(x), in_order=False, dtype=g.dtype(out_idx))
    values, _, inverse, counts = g.items(found, 4)
    return (values, inverse, counts)[: len(g.out)]


@shape_rules("LowerBound", "UpperBound")
def bounds(
    g: TensorFlowBuilder, rows: Operand, values: Operand, *, out_type: str = "int32"
) -> Value:
    side = "left" if g.source == "LowerBound" else "right"
    return g.s.places_in_order(g.array(rows), g.array(values), side=side, dtype=g.dtype(out_type))
