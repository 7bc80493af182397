"""Derivatives of NumPy functions that move elements about."""

from typing import Any

import numpy as np
from autograd.extend import defvjp, defvjp_argnums, primitive

from ...._core.shapes import normal_axes, normal_axis
from .._tape import RULES, composed, constant, differentiable, unbroadcast

constant(
    np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.empty_like, np.full_like,
    np.broadcast_shapes,
)  # fmt: skip

differentiable(np.reshape, lambda ans, x, shape, **kw: lambda g: np.reshape(g, np.shape(x)))
differentiable(
    np.transpose,
    lambda ans, x, axes=None: (
        lambda g: np.transpose(
            g, None if axes is None else tuple(np.argsort(normal_axes(axes, g.ndim)))
        )
    ),
)
differentiable(np.broadcast_to, lambda ans, x, shape: lambda g: unbroadcast(g, x))
differentiable(np.tril, lambda ans, x, k=0: lambda g: np.tril(g, k=k))
differentiable(np.triu, lambda ans, x, k=0: lambda g: np.triu(g, k=k))
differentiable(np.flip, lambda ans, x, axis=None: lambda g: np.flip(g, axis=axis))


@primitive
def _join(axis: int, *arrays: Any) -> Any:
    return np.concatenate(arrays, axis=axis)


def _join_vjps(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    axis, arrays = args[0], args[1:]
    ends = np.cumulative_sum(np.asarray([np.shape(x)[axis] for x in arrays]), include_initial=True)
    before = (slice(None),) * (axis % ans.ndim)
    pieces = [(*before, slice(int(ends[n - 1]), int(ends[n]))) for n in argnums]
    like = [arrays[n - 1] for n in argnums]
    return lambda g: [unbroadcast(g[piece], x) for piece, x in zip(pieces, like, strict=True)]


defvjp_argnums(_join, _join_vjps)


@composed(np.concatenate)
def _concatenate(arrays: Any, axis: int | None = 0) -> Any:
    if axis is None:
        return _join(0, *[np.reshape(x, (-1,)) for x in arrays])
    return _join(axis, *arrays)


@composed(np.stack)
def _stack(arrays: Any, axis: int = 0) -> Any:
    return _join(axis, *[np.expand_dims(x, axis) for x in arrays])


@composed(np.unstack)
def _unstack(x: Any, axis: int = 0) -> Any:
    front = np.moveaxis(x, axis, 0)
    return tuple([front[i] for i in range(front.shape[0])])


@composed(np.ravel)
def _ravel(x: Any) -> Any:
    return np.reshape(x, (-1,))


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


@composed(np.matrix_transpose)
def _matrix_transpose(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


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
    if axis is None:
        x, axis = np.reshape(x, (-1,)), 0
    return np.take(x, np.repeat(np.arange(x.shape[axis]), repeats), axis=axis)


@composed(np.tile)
def _tile(x: Any, repetitions: Any) -> Any:
    reps = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
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
def _meshgrid(*arrays: Any, indexing: str = "xy") -> Any:
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
def _pad(x: Any, pairs: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
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
def _trace(x: Any, offset: int = 0) -> Any:
    return np.sum(np.diagonal(x, offset=offset, axis1=0, axis2=1), axis=-1)


@composed(np.atleast_1d)
def _atleast_1d(x: Any) -> Any:
    return np.reshape(x, (1,)) if x.ndim == 0 else x


RULES[np.broadcast_arrays] = lambda *arrays: tuple(
    [np.broadcast_to(x, np.broadcast_shapes(*[np.shape(y) for y in arrays])) for x in arrays]
)
