"""Primitives of JAX that move, cut and join arrays, and those that make them."""

from collections.abc import Sequence
from typing import Any

from ..._core.errors import NotSupportedError
from ...graph import Value
from ..rules import Rules
from ..semantics.numbers import has_bitcast
from .builder import JaxBuilder, Number, Operand, Spread

shape_rules = Rules()


@shape_rules("broadcast_in_dim")
def broadcast_in_dim(
    g: JaxBuilder,
    x: Operand,
    *,
    shape: Sequence[Any],
    broadcast_dimensions: Sequence[int],
) -> Any:
    """Stays a `Spread`: only axes of size 1 are written down, where they stand inside."""
    out, axes = tuple(shape), tuple(broadcast_dimensions)
    if not isinstance(x, (Value, Spread)):
        return Spread(x, out, g.out[0].dtype)
    if isinstance(x, Spread):
        if not isinstance(x.small, Value):
            return Spread(x.small, out, x.dtype)
        x = g.array(x)
    if x.shape == () or axes == tuple(range(len(out) - len(axes), len(out))):
        return Spread(x, out, g.out[0].dtype)
    ones = [1] * len(out)
    sizes: list[Any] = list(ones)
    for axis, size in zip(axes, x.shape or ()):
        sizes[axis] = size
    new = [i for i in range(len(out)) if i not in axes]
    if len(new) == 1:
        small = g.described(g.t.expand_dims(x, axis=new[0]), tuple(sizes), x.dtype)
    else:
        small = g.reshape(x, sizes)
    return small if tuple(sizes) == out else Spread(small, out, g.out[0].dtype)


@shape_rules("reshape")
def reshape(g: JaxBuilder, x: Operand, *, new_sizes: Sequence[Any]) -> Any:
    new = tuple(new_sizes)
    if isinstance(x, Spread):
        if not isinstance(x.small, Value):
            return Spread(x.small, new, x.dtype)
        x = g.array(x)
    if not isinstance(x, Value):
        return Spread(x, new, g.out[0].dtype)
    old = x.shape or ()
    if new == old:
        return x
    if g.out[0].dtype == "key":
        return g.t.reshape(x, (*g.shape(new), 2))
    # Axes of size 1 in front are needed by no function that broadcasts.
    if new[len(new) - len(old) :] == old and set(new[: len(new) - len(old)]) == {1}:
        return Spread(x, new, g.out[0].dtype)
    added = [i for i, n in enumerate(new) if n == 1]
    if len(new) == len(old) + 1 and len(added) == 1:
        return g.t.expand_dims(x, axis=added[0])
    return g.reshape(x, new)


@shape_rules("transpose")
def transpose(g: JaxBuilder, x: Value, *, permutation: Sequence[int]) -> Value:
    axes = tuple(permutation)
    rank = len(axes)
    if axes == tuple(range(rank)):
        return x
    if rank >= 2 and axes == (*range(rank - 2), rank - 1, rank - 2):
        return g.t.matrix_transpose(x)
    return g.t.permute_dims(x, axes)


@shape_rules("squeeze")
def squeeze(g: JaxBuilder, x: Value, *, dimensions: Sequence[int]) -> Value:
    axes = tuple(dimensions)
    if not axes:
        return x
    return g.t.squeeze(x, axis=axes[0] if len(axes) == 1 else axes)


@shape_rules("expand_dims")
def expand_dims(g: JaxBuilder, x: Value, *, dimensions: Sequence[int]) -> Value:
    return g.reshape(x, g.out[0].shape)


@shape_rules("concatenate")
def concatenate(g: JaxBuilder, *xs: Value, dimension: int) -> Value:
    return xs[0] if len(xs) == 1 else g.t.concat(list(xs), axis=dimension)


@shape_rules("stack")
def stack(
    g: JaxBuilder, *xs: Value, axis: int | None = None, dimension: int | None = None
) -> Value:
    axis = dimension if axis is None else axis
    return g.t.stack(list(xs), axis=axis)


@shape_rules("unstack")
def unstack(
    g: JaxBuilder, x: Value, *, axis: int | None = None, dimension: int | None = None
) -> Any:
    axis = dimension if axis is None else axis
    return g.items(g.t.unstack(x, axis=axis), len(g.out))


@shape_rules("tile")
def tile(g: JaxBuilder, x: Value, *, reps: Sequence[int]) -> Value:
    return g.t.tile(x, tuple(reps))


@shape_rules("rev")
def rev(g: JaxBuilder, x: Value, *, dimensions: Sequence[int]) -> Value:
    axes = tuple(dimensions)
    return g.t.flip(x, axis=axes[0] if len(axes) == 1 else axes)


@shape_rules("split")
def split(g: JaxBuilder, x: Value, *, sizes: Sequence[int], axis: int) -> Any:
    return g.pieces(x, sizes, axis)


@shape_rules("slice")
def slice_(
    g: JaxBuilder,
    x: Value,
    *,
    start_indices: Sequence[Any],
    limit_indices: Sequence[Any],
    strides: Sequence[int] | None,
) -> Value:
    index: list[Any] = []
    steps = strides or (1,) * len(start_indices)
    for start, limit, step, size in zip(start_indices, limit_indices, steps, x.shape or ()):
        first = None if start == 0 else g.size(start)
        last = None if limit == size else g.size(limit)
        index.append(slice(first, last, None if step == 1 else step))
    while index and index[-1] == slice(None):
        index.pop()
    return g.item(x, tuple(index)) if index else x


@shape_rules("pad")
def pad(g: JaxBuilder, x: Value, value: Value | Number, *, padding_config: Sequence[Any]) -> Value:
    """Zeros, or another number, around an array and between its elements; below zero cuts."""
    config = tuple([tuple(c) for c in padding_config])
    if not any([any(c) for c in config]):
        return x
    is_plain = all([low >= 0 and high >= 0 and inner == 0 for low, high, inner in config])
    if is_plain and not isinstance(value, Value):
        pairs = [(low, high) for low, high, _ in config]
        return g.t.pad(x, pairs, constant_values=value)
    return g.s.pad_dilated(x, value, config)


@shape_rules("iota")
def iota(g: JaxBuilder, *, shape: Sequence[Any], dimension: int) -> Any:
    kind = g.out[0].dtype
    size = shape[dimension]
    line = g.t.arange(g.size(size), dtype=g.dtype(kind), backend=g.to)
    line = g.described(line, (size,), kind)
    if len(shape) == 1:
        return line
    column = (size, *[1] * (len(shape) - dimension - 1))
    return Spread(g.reshape(line, column) if len(column) > 1 else line, tuple(shape), kind)


@shape_rules("dim_as_value")
def dim_as_value(g: JaxBuilder, *, dim: int | str) -> Any:
    """An open size as a number that one can compute with."""
    return g.t.asarray(g.size(dim), dtype=g.dtype(g.out[0].dtype), backend=g.to)


@shape_rules("empty", "empty2", "zeros_like")
def empty(g: JaxBuilder, *like: Operand, shape: Sequence[Any] = ()) -> Spread:
    return Spread(False if g.out[0].dtype == "bool" else 0, g.out[0].shape, g.out[0].dtype)


@shape_rules("convert_element_type")
def convert_element_type(g: JaxBuilder, x: Operand) -> Any:
    kind = g.out[0].dtype
    if isinstance(x, Spread):
        if not isinstance(x.small, Value):
            return Spread(_number(x.small, kind), x.shape, kind)
        return Spread(g.cast(x.small, kind), x.shape, kind)
    if not isinstance(x, Value):
        return _number(x, kind)
    if x.dtype is not None and x.dtype.startswith("complex") and not kind.startswith("complex"):
        x = g.described(g.t.real(x), x.shape, None)
    return g.cast(x, kind)


@shape_rules("bitcast_convert_type")
def bitcast_convert_type(g: JaxBuilder, x: Value) -> Value:
    if not has_bitcast(g.given[0].dtype, g.out[0].dtype):
        raise NotSupportedError(
            f"bitcast_convert_type of {g.given[0].dtype} to {g.out[0].dtype} has no counterpart."
        )
    return g.s.bitcast(x, g.out[0].dtype)


def _number(x: Any, dtype: str) -> Any:
    if dtype == "bool":
        return bool(x)
    if "int" in dtype:
        return int(x)
    return complex(x) if "complex" in dtype else float(x)
