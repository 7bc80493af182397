"""Shapes: reshaping, cutting, joining, padding, and arrays made from shapes."""

import operator
from typing import Any

import numpy as np

from ..._core.errors import ArgumentError
from ...graph import Value
from .builder import OnnxBuilder
from .rules_elementwise import cast_to
from .table import TYPES, rules


@rules("Shape")
def shape(g: OnnxBuilder, x: Value, start: int = 0, end: int | None = None) -> Value:
    if x.shape is None:
        return g.s.shape_of(x, start, end, dtype=g.dtype("int64"))
    rank = len(x.shape)
    axes = range(rank)[slice(start, end)]
    return g.size_value([g.size_of(x, axis) for axis in axes])


@rules("Size")
def size(g: OnnxBuilder, x: Value) -> Value:
    if x.shape is None:
        return g.s.count_of(x, dtype=g.dtype("int64"))
    total: Any = 1
    for axis in range(len(x.shape)):
        total = g.arithmetic(operator.mul, g.size_of(x, axis), total)
    return g.size_value([total], is_scalar=True)


@rules("Reshape")
def reshape(
    g: OnnxBuilder, x: Value, shape: Value | None = None, allowzero: int = 0, **older: Any
) -> Value:
    sizes = older.get("shape") if shape is None else g.integers(shape)
    if isinstance(sizes, Value):
        return g.s.reshaped(x, sizes, allow_zero=bool(allowzero))
    assert sizes is not None
    if not allowzero:
        sizes = [
            g.size_of(x, i) if isinstance(n, int) and n == 0 else n for i, n in enumerate(sizes)
        ]
    return g.t.reshape(x, tuple(sizes))


@rules("Flatten")
def flatten(g: OnnxBuilder, x: Value, axis: int = 1) -> Value:
    rank = g.rank(x)
    if rank is None:
        return g.s.flattened(x, axis)
    axis = axis + rank if axis < 0 else axis
    if axis == 0:
        return g.t.reshape(x, (1, -1))
    if axis == 1 and rank > 1:
        return g.t.reshape(x, (g.size_of(x, 0), -1)) if _can_guess(g, x) else g.s.flattened(x, 1)
    return g.s.flattened(x, axis)


@rules("Squeeze")
def squeeze(g: OnnxBuilder, x: Value, given: Value | None = None, axes: Any = None) -> Value:
    where = axes if given is None else g.integers(given)
    if where is None:
        if x.shape is None:
            return g.s.squeezed(x)
        where = tuple([i for i, n in enumerate(x.shape) if n == 1])
    return g.t.squeeze(x, axis=where if isinstance(where, Value) else tuple(where))


@rules("Unsqueeze")
def unsqueeze(g: OnnxBuilder, x: Value, given: Value | None = None, axes: Any = None) -> Value:
    where = axes if given is None else g.integers(given)
    if isinstance(where, Value):
        return g.s.unsqueezed(x, where)
    if len(where) == 1 and (where[0] >= 0 or g.opset >= 11):
        return g.t.expand_dims(x, axis=where[0])
    return g.s.unsqueezed(x, tuple(where))


@rules("Transpose")
def transpose(g: OnnxBuilder, x: Value, perm: Any = None) -> Value:
    if perm is None:
        if x.shape is None:
            return g.s.reversed_axes(x)
        perm = tuple(range(len(x.shape)))[::-1]
    if tuple(perm) == tuple(range(len(perm))):
        return x
    return g.t.permute_dims(x, tuple(perm))


@rules("Concat")
def concat(g: OnnxBuilder, *xs: Value, axis: int = 1) -> Value:
    return xs[0] if len(xs) == 1 else g.t.concat(list(xs), axis=axis)


@rules("Split")
def split(
    g: OnnxBuilder,
    x: Value,
    given: Value | None = None,
    axis: int = 0,
    split: Any = None,
    num_outputs: int | None = None,
    outputs: int = 1,
) -> tuple[Value, ...]:
    sizes = split if given is None else g.integers(given)
    whole = x.shape[axis] if x.shape is not None else None
    if sizes is None and isinstance(whole, int):
        each = -(-whole // outputs)
        sizes = [min(each, whole - i * each) for i in range(outputs)]
    if sizes is None or isinstance(sizes, Value) or x.shape is None:
        parts = g.s.split_into(x, outputs if sizes is None else sizes, axis=axis)
        return g.items(parts, outputs)
    return g.pieces(x, sizes, axis % len(x.shape))


@rules("Slice")
def slices(
    g: OnnxBuilder,
    x: Value,
    first: Value | None = None,
    last: Value | None = None,
    along: Value | None = None,
    by: Value | None = None,
    starts: Any = None,
    ends: Any = None,
    axes: Any = None,
) -> Value:
    begin = starts if first is None else g.integers(first)
    end = ends if last is None else g.integers(last)
    where = axes if along is None else g.integers(along)
    steps = None if by is None else g.integers(by)
    parts = (begin, end, where, steps)
    if any([isinstance(part, Value) for part in parts]) or x.shape is None:
        return g.s.sliced(x, begin, end, where, steps)
    if any([isinstance(n, Value) for part in parts if part for n in part]):
        return g.s.sliced(x, *[part if part is None else tuple(part) for part in parts])
    rank = len(x.shape)
    where = range(len(begin)) if where is None else where
    steps = (1,) * len(begin) if steps is None else steps
    index = [slice(None)] * rank
    for b, e, axis, step in zip(begin, end, where, steps, strict=True):
        index[axis % rank] = _slice(b, e, step, x.shape[axis % rank])
    while len(index) > 1 and index[-1] == slice(None):
        index.pop()
    if step > 0 if len(begin) == 1 else all([s > 0 for s in steps]):
        return g.item(x, tuple(index))
    return g.s.sliced(x, tuple(begin), tuple(end), tuple(where), tuple(steps))


def _slice(begin: int, end: int, step: int, size: Any) -> slice:
    """Python's slice for ONNX's; ends beyond the end mean the end."""
    if step == 0:
        raise ArgumentError("a slice has the step 0")
    huge = 1 << 31
    if step > 0 and isinstance(size, int):
        end = None if end >= size else end  # type: ignore[assignment]
    elif end >= huge - 1:
        end = None  # type: ignore[assignment]
    begin = None if step > 0 and begin == 0 else begin  # type: ignore[assignment]
    return slice(begin, end, None if step == 1 else step)


@rules("Expand")
def expand(g: OnnxBuilder, x: Value, shape: Value) -> Value:
    sizes = g.integers(shape)
    known = g.sizes(x)
    if isinstance(sizes, Value) or known is None or not all([isinstance(n, int) for n in sizes]):
        return g.s.expanded(x, sizes)
    target = tuple(np.broadcast_shapes(known, sizes))
    return x if target == known else g.t.broadcast_to(x, target)


@rules("Tile")
def tile(g: OnnxBuilder, x: Value, repeats: Value) -> Value:
    return g.t.tile(x, g.integers(repeats))


@rules("Pad")
def pad(
    g: OnnxBuilder,
    x: Value,
    widths: Value | None = None,
    fill: Value | None = None,
    axes: Value | None = None,
    mode: str = "constant",
    pads: Any = None,
    value: float = 0.0,
) -> Value:
    sizes = pads if widths is None else g.integers(widths)
    where = None if axes is None else g.integers(axes)
    content = value if fill is None else g.number(fill)
    if g.opset < 11 and fill is None:
        content = value
    elif fill is None:
        content = 0
    rank = g.rank(x)
    is_known = not isinstance(sizes, Value) and not isinstance(where, Value) and rank is not None
    if is_known and isinstance(content, (int, float)):
        count = len(sizes) // 2
        if all([isinstance(n, int) and n >= 0 for n in sizes]):
            pairs = [(0, 0)] * rank  # type: ignore[operator]
            for i, axis in enumerate(range(rank) if where is None else where):  # type: ignore
                pairs[axis] = (sizes[i], sizes[i + count])
            if mode == "constant":
                return g.t.pad(x, pairs, constant_values=content)
            if _fits(x, pairs):
                return g.t.pad(x, pairs, mode=mode)
    if not isinstance(content, (int, float)):
        content = g.s.number(content)
    return g.s.padded(x, sizes, axes=where, mode=mode, value=content)


def _fits(x: Value, pairs: Any) -> bool:
    """Whether no axis is padded by more than it has."""
    return x.shape is not None and all(
        [isinstance(n, int) and max(pair) < n for n, pair in zip(x.shape, pairs)]
    )


@rules("ConstantOfShape")
def constant_of_shape(g: OnnxBuilder, shape: Value, value: Any = None) -> Value:
    content = np.zeros(1, np.float32) if value is None else value
    number = np.asarray(content).reshape(-1)[0].item()
    kind = g.dtype(np.asarray(content).dtype.name)
    return g.t.full(g.integers(shape), number, dtype=kind, backend=g.to)


@rules("Range")
def arange(g: OnnxBuilder, start: Value, limit: Value, delta: Value) -> Value:
    kind = g.dtype(start.dtype or "int64")
    ends = [g.number(x) if g.ints(x) is None or g.array(x) is not None else g.ints(x)[0]  # type: ignore
            for x in (start, limit, delta)]  # fmt: skip
    numbers = [
        g.s.number(x) if isinstance(x, Value) and x in (start, limit, delta) else x for x in ends
    ]
    return g.s.counted(*numbers, dtype=kind, backend=g.to)


@rules("EyeLike")
def eye_like(g: OnnxBuilder, x: Value, dtype: int | None = None, k: int = 0) -> Value:
    kind = TYPES[dtype] if dtype is not None else x.dtype or "float32"
    rows, columns = g.size_of(x, 0), g.size_of(x, 1)
    if k and not (isinstance(rows, Value) or isinstance(columns, Value)):
        return g.constant(np.eye(rows, columns, k).astype(kind))
    return g.t.eye(rows, columns, k=k, dtype=g.dtype(kind), backend=g.to)


@rules("Trilu")
def triangle(g: OnnxBuilder, x: Value, k: Value | None = None, upper: int = 1) -> Value:
    offset = 0 if k is None else g.integer(k)
    return (g.t.triu if upper else g.t.tril)(x, k=offset)


@rules("DepthToSpace")
def depth_to_space(g: OnnxBuilder, x: Value, blocksize: int = 1, mode: str = "DCR") -> Value:
    if mode == "CRD":
        return g.F.pixel_shuffle(x, blocksize, data_format="NCHW")
    return g.s.depth_to_space(x, blocksize)


@rules("SpaceToDepth")
def space_to_depth(g: OnnxBuilder, x: Value, blocksize: int = 1, mode: str = "DCR") -> Value:
    if mode == "CRD":
        return g.F.pixel_unshuffle(x, blocksize, data_format="NCHW")
    return g.s.space_to_depth(x, blocksize)


@rules("ReverseSequence")
def reverse_sequence(
    g: OnnxBuilder, x: Value, lengths: Value, batch_axis: int = 1, time_axis: int = 0
) -> Value:
    return g.s.reversed_starts(x, lengths, batch_axis=batch_axis, time_axis=time_axis)


@rules("Dropout")
def dropout(
    g: OnnxBuilder,
    x: Value,
    ratio: Any = None,  # an input; before version 12 an attribute
    training_mode: Value | None = None,
    seed: int | None = None,
) -> tuple[Value, ...]:
    mask = g.t.ones_like(x, dtype="bool")
    prob = 0.5 if ratio is None else g.number(ratio) if isinstance(ratio, Value) else ratio
    if g.train:
        return g.t.dropout(x, prob, training=Value("training")), mask
    is_training = g.array(training_mode)
    if training_mode is None or (is_training is not None and not is_training):
        return x, mask
    g.draws = True
    pair = g.s.dropout(x, prob if not isinstance(prob, Value) else g.s.number(prob),
                       g.s.number(training_mode))  # fmt: skip
    return g.items(pair, 2)


def _can_guess(g: OnnxBuilder, x: Value) -> bool:
    """Whether -1 has one meaning in a reshape of x: no axis is empty."""
    return x.shape is not None and 0 not in [n for n in x.shape if isinstance(n, int)]


__all__ = ["cast_to"]
