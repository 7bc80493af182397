"""Derivatives of NumPy functions that move elements."""

from typing import Any

import numpy as np

from ...._core.errors import NotSupportedError
from ...._core.shapes import normal_axes, normal_axis
from .._tape import (
    RULES,
    WRITES,
    TracedArray,
    array_from,
    as_view,
    composed,
    constant,
    defvjp,
    differentiable,
    primitive,
    unbroadcast,
)
from .reduction import flat_unless

constant(
    np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.empty_like,
    np.broadcast_shapes,
)  # fmt: skip


@composed(np.full_like)
def _full_like(
    x: Any, fill_value: Any, dtype: Any = None, order: Any = "K", *, shape: Any = None
) -> Any:
    """A value that is being differentiated keeps its gradient; the array gives only its shape and
    dtype."""
    shape = np.shape(x) if shape is None else shape
    dtype = x.dtype if dtype is None else dtype
    if type(fill_value) is TracedArray:
        return np.broadcast_to(fill_value.astype(dtype), shape)
    return np.full(shape, fill_value, dtype=dtype)


_reshaped = differentiable(np.reshape, lambda ans, x, shape: lambda g: np.reshape(g, np.shape(x)))


@composed(np.reshape)
def _reshape(x: Any, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    if order == "C" or _is_rows_first(x, order):
        result = _reshaped(x, shape)
        return result if copy else as_view(result, x, np.reshape, shape)
    # Columns are the rows of the transposed array.
    backwards = tuple(shape)[::-1] if isinstance(shape, (tuple, list)) else (shape,)
    return np.transpose(_reshaped(np.transpose(x), backwards))


def _is_rows_first(x: Any, order: Any) -> bool:
    """What "A" and "K" mean for the memory of this array."""
    if order == "F":
        return False
    flags = x.flags
    if flags.c_contiguous or (order == "A" and not flags.f_contiguous):
        return True
    if order == "A" or (order == "K" and flags.f_contiguous):
        return False
    raise NotSupportedError(
        f"order={order!r} has no derivative rule on the numpy backend for an array that is not "
        "contiguous. Write order='C' or order='F'."
    )


_transposed = differentiable(
    np.transpose,
    lambda ans, x, axes=None: (
        lambda g: np.transpose(
            g, None if axes is None else tuple(np.argsort(normal_axes(axes, g.ndim)))
        )
    ),
)


@composed(np.transpose)
def _transpose(x: Any, axes: Any = None) -> Any:
    return as_view(_transposed(x, axes), x, np.transpose, axes)


differentiable(np.broadcast_to, lambda ans, x, shape: lambda g: unbroadcast(g, x))
differentiable(np.tril, lambda ans, x, k=0: lambda g: np.tril(g, k=k))
differentiable(np.triu, lambda ans, x, k=0: lambda g: np.triu(g, k=k))
_flipped = differentiable(np.flip, lambda ans, x, axis=None: lambda g: np.flip(g, axis=axis))


@composed(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    return as_view(_flipped(m, axis), m, np.flip, axis)


@composed("flat")
def _flat(x: Any) -> Any:
    """All elements as a vector; writes reach the array even if its memory has another order."""
    row = _reshaped(x, (-1,))
    row._source = (x, "flat", ())
    return row


def _in_old_order(view: Any, whole: Any, axes: Any) -> Any:
    order = None if axes is None else tuple(np.argsort(normal_axes(axes, whole.ndim)))
    return np.transpose(view, order)


WRITES[np.reshape] = lambda view, whole, shape: np.reshape(view, whole.shape)
WRITES["flat"] = lambda view, whole: np.reshape(view, whole.shape)
WRITES[np.transpose] = _in_old_order
WRITES[np.flip] = lambda view, whole, axis: np.flip(view, axis)


def _join_vjps(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    axis, arrays = args[0], args[1:]
    ends = np.cumulative_sum(np.asarray([np.shape(x)[axis] for x in arrays]), include_initial=True)
    before = (slice(None),) * (axis % ans.ndim)
    pieces = [(*before, slice(int(ends[n - 1]), int(ends[n]))) for n in argnums]
    like = [arrays[n - 1] for n in argnums]
    return lambda g: [unbroadcast(g[piece], x) for piece, x in zip(pieces, like, strict=True)]


_join = primitive(lambda axis, *xs: np.concatenate(xs, axis=axis), _join_vjps)


@composed(np.concatenate)
def _concatenate(
    arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    if dtype is not None:
        arrays = [array_from(x, None).astype(dtype, casting=casting) for x in arrays]
    if axis is None:
        return _join(0, *[np.reshape(x, (-1,)) for x in arrays])
    return _join(axis, *arrays)


@composed(np.stack)
def _stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    wider = [np.expand_dims(array_from(x, None), axis) for x in arrays]
    return np.concatenate(wider, axis=axis, dtype=dtype, casting=casting)


@composed(np.unstack)
def _unstack(x: Any, axis: int = 0) -> Any:
    front = np.moveaxis(x, axis, 0)
    return tuple([front[i] for i in range(front.shape[0])])


@composed(np.ravel)
def _ravel(x: Any, order: Any = "C") -> Any:
    return np.reshape(x, (-1,), order)


@composed(np.expand_dims)
def _expand_dims(x: Any, axis: Any) -> Any:
    axes = normal_axes(axis, x.ndim + (1 if isinstance(axis, int) else len(axis)))
    shape = list(x.shape)
    for a in sorted(axes):
        shape.insert(a, 1)
    return np.reshape(x, tuple(shape))


@composed(np.squeeze)
def _squeeze(x: Any, axis: Any = None) -> Any:
    axes = (
        [i for i, n in enumerate(x.shape) if n == 1] if axis is None else normal_axes(axis, x.ndim)
    )
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze() of axis {a}, which has size {x.shape[a]}, not 1.")
    return np.reshape(x, tuple([n for i, n in enumerate(x.shape) if i not in axes]))


@composed(np.moveaxis)
def _moveaxis(x: Any, source: Any, destination: Any) -> Any:
    sources, targets = normal_axes(source, x.ndim), normal_axes(destination, x.ndim)
    order = [a for a in range(x.ndim) if a not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return np.transpose(x, tuple(order))


@composed(np.swapaxes)
def _swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    order = list(range(x.ndim))
    a, b = normal_axis(axis1, x.ndim), normal_axis(axis2, x.ndim)
    order[a], order[b] = b, a
    return np.transpose(x, tuple(order))


@composed(np.roll)
def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(_roll(np.reshape(x, (-1,)), shift, 0), x.shape)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    for s, a in zip(shifts, normal_axes(axis, x.ndim), strict=False):
        x = np.take(x, (np.arange(x.shape[a]) - s) % max(x.shape[a], 1), axis=a)
    return x


@composed(np.repeat)
def _repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    x, axis = flat_unless(axis, x)
    return np.take(x, np.repeat(np.arange(x.shape[axis]), repeats), axis=axis)


@composed(np.tile)
def _tile(x: Any, reps: Any) -> Any:
    reps = tuple(reps) if np.ndim(reps) else (reps,)
    shape = (1,) * (len(reps) - x.ndim) + x.shape
    reps = (1,) * (len(shape) - len(reps)) + reps
    split: list[int] = []
    for n in shape:
        split += [1, n]
    wide: list[int] = []
    for r, n in zip(reps, shape, strict=True):
        wide += [r, n]
    result = np.broadcast_to(np.reshape(x, tuple(split)), tuple(wide))
    return np.reshape(result, tuple([r * n for r, n in zip(reps, shape, strict=True)]))


@composed(np.meshgrid)
def _meshgrid(*arrays: Any, copy: bool = True, indexing: str = "xy") -> Any:
    n = len(arrays)
    grids = [np.reshape(x, (1,) * i + (-1,) + (1,) * (n - 1 - i)) for i, x in enumerate(arrays)]
    shape = tuple([x.size for x in arrays])
    grids = [np.broadcast_to(grid, shape) for grid in grids]
    return tuple([np.swapaxes(g, 0, 1) for g in grids] if indexing == "xy" and n > 1 else grids)


@primitive
def _pad_constant(x: Any, pairs: Any, value: Any) -> Any:
    return np.pad(x, pairs, mode="constant", constant_values=value)


def _inside(pairs: Any, shape: Any) -> Any:
    return tuple([slice(low, low + n) for (low, _), n in zip(pairs, shape, strict=True)])


defvjp(_pad_constant, lambda ans, x, pairs, value: lambda g: g[_inside(pairs, np.shape(x))])


@composed(np.pad)
def _pad(x: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    pairs = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    if mode == "constant":
        return _pad_constant(x, pairs, constant_values)
    for axis, (low, high) in enumerate(pairs):
        if low or high:
            places = np.pad(np.arange(x.shape[axis]), (low, high), mode=mode)
            x = np.take(x, places, axis=axis)
    return x


@composed(np.linalg.diagonal)
def _matrix_diagonal(x: Any, *, offset: int = 0) -> Any:
    return _diagonal(x, offset, -2, -1)


@composed(np.diagonal)
def _diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = np.moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    steps = np.arange(size)
    return x[..., steps - min(offset, 0), steps + max(offset, 0)]


@composed(np.trace)
def _trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return np.sum(np.diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1, dtype=dtype)


@composed(np.atleast_3d)
def _atleast_3d(x: Any) -> Any:
    x = np.atleast_2d(x)
    return x[:, :, None] if x.ndim == 2 else x


@composed(np.rollaxis)
def _rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    axis, start = normal_axis(axis, x.ndim), start + x.ndim if start < 0 else start
    return np.moveaxis(x, axis, start - 1 if axis < start else start)


@composed(np.rot90)
def _rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    first, second = axes
    if k % 4 == 1:
        return np.swapaxes(np.flip(x, axis=second), first, second)
    if k % 4 == 3:
        return np.flip(np.swapaxes(x, first, second), axis=second)
    return np.flip(x, axis=tuple(axes)) if k % 4 else x


@composed(np.copy)
def _copy(x: Any, order: str = "K", subok: bool = False) -> Any:
    """A new array with the same value: values are never overwritten, so no memory is copied."""
    return TracedArray(x._value, x._level, x._node)


@composed(np.vstack)
def _vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    rows = [np.atleast_2d(array_from(x, None)) for x in tup]
    return np.concatenate(rows, axis=0, dtype=dtype, casting=casting)


@composed(np.hstack)
def _hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    columns = [np.atleast_1d(array_from(x, None)) for x in tup]
    axis = 0 if columns[0].ndim == 1 else 1
    return np.concatenate(columns, axis=axis, dtype=dtype, casting=casting)


@composed(np.array_split, np.split)
def _split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """The boundaries are those at which NumPy splits the indices of the elements."""
    numbers = np.arange(x.shape[axis])
    before = (slice(None),) * normal_axis(axis, x.ndim)
    parts = np.array_split(numbers, indices_or_sections)
    return [x[(*before, slice(p[0], p[-1] + 1) if p.size else slice(0, 0))] for p in parts]


@composed(np.hsplit)
def _hsplit(x: Any, indices_or_sections: Any) -> Any:
    return np.split(x, indices_or_sections, axis=1 if x.ndim > 1 else 0)


RULES[np.vsplit] = lambda x, indices_or_sections: np.split(x, indices_or_sections, axis=0)
RULES[np.dsplit] = lambda x, indices_or_sections: np.split(x, indices_or_sections, axis=2)
RULES[np.fliplr] = lambda x: np.flip(x, axis=1)
RULES[np.flipud] = lambda x: np.flip(x, axis=0)
RULES[np.matrix_transpose] = lambda x: np.swapaxes(x, -1, -2)
RULES[np.atleast_1d] = lambda x: np.reshape(x, (1,)) if x.ndim == 0 else x
RULES[np.atleast_2d] = lambda x: np.reshape(x, (1, -1)) if x.ndim < 2 else x


@composed(np.diag)
def _diag(x: Any, k: int = 0) -> Any:
    if x.ndim != 1:
        return np.diagonal(x, offset=k)
    size = x.shape[0] + abs(k)
    places = np.arange(x.shape[0])
    rows, columns = places + max(-k, 0), places + max(k, 0)
    spread = np.zeros((x.shape[0], size, size), dtype=x.dtype)
    spread[places, rows, columns] = 1
    return np.tensordot(x, spread, axes=1)


RULES[np.broadcast_arrays] = lambda *arrays: tuple(
    [np.broadcast_to(x, np.broadcast_shapes(*[np.shape(y) for y in arrays])) for x in arrays]
)
