"""Derivatives of reading and writing at indices."""

from typing import Any

import numpy as np

from .._record import Sparse
from .._tape import (
    RULES,
    WRITES,
    composed,
    constant,
    defvjp,
    primitive,
    refuse_out,
    stop,
    unbroadcast,
)
from .reduction import flat_unless

constant(
    np.argmax, np.argmin, np.argsort, np.argpartition, np.nonzero, np.flatnonzero, np.count_nonzero,
    np.searchsorted, np.all, np.any,
)  # fmt: skip


def _is_basic(index: Any) -> bool:
    """Slices, ints, None and Ellipsis never name an element twice."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        [part is None or part is Ellipsis or isinstance(part, (int, slice)) for part in parts]
    )


def _add_at(target: Any, index: Any, value: Any) -> Any:
    if _is_basic(index):
        target[index] += value
    else:
        np.add.at(target, index, value)
    return target


@primitive
def _get(x: Any, index: Any) -> Any:
    return x[index]


@primitive
def _add_into(total: Any, value: Any, index: Any) -> Any:
    """Adds in place: no derivative needs the old value of a sum."""
    return _add_at(total if type(total) is np.ndarray else np.array(total), index, value)


def _get_vjp(ans: Any, x: Any, index: Any) -> Any:
    shape, dtype = np.shape(x), x.dtype

    def back(g: Any) -> Sparse:
        def add(total: Any, is_ours: bool) -> Any:
            if total is None:
                total, is_ours = np.zeros(shape, dtype), True
            return (_add_into if is_ours else index_add_at)(total, g, index)

        return Sparse(add)

    return back


defvjp(_get, _get_vjp)
defvjp(
    _add_into,
    lambda ans, total, value, index: lambda g: g,
    lambda ans, total, value, index: lambda g: g[index],
)
RULES["getitem"] = _get


@primitive
def _take_adjoint(g: Any, indices: Any, axis: int, shape: Any) -> Any:
    out = np.zeros(shape, dtype=g.dtype)
    np.add.at(out, (slice(None),) * axis + (indices,), g)
    return out


@primitive
def _take(x: Any, indices: Any, axis: int) -> Any:
    return np.take(x, indices, axis=axis)


defvjp(_take, lambda ans, x, i, axis: lambda g: _take_adjoint(g, i, axis, np.shape(x)))
defvjp(_take_adjoint, lambda ans, g, i, axis, shape: lambda h: _take(h, i, axis))


@composed(np.take)
def _take_rule(x: Any, indices: Any, axis: int | None = None) -> Any:
    x, axis = flat_unless(axis, x)
    axis = axis % x.ndim
    return _take(x, np.asarray(indices), axis)


def _grid(indices: Any, axis: int) -> Any:
    """Open index arrays that name, with `indices` along `axis`, every element of a result."""
    grids = list(np.ogrid[tuple([slice(n) for n in indices.shape])])
    grids[axis] = indices
    return tuple(grids)


@composed(np.take_along_axis)
def _take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    x, axis = flat_unless(axis, x)
    axis = axis % x.ndim
    # In the standard the other axes broadcast.
    other = [1 if i == axis else n for i, n in enumerate(x.shape)]
    shape = np.broadcast_shapes(indices.shape, tuple(other))
    indices = np.broadcast_to(indices, shape)
    wide = np.broadcast_to(
        x, tuple([x.shape[axis] if i == axis else n for i, n in enumerate(shape)])
    )
    return wide[_grid(indices, axis)]


@composed(np.sort)
def _sort(
    x: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
) -> Any:
    """Always stable: which of equal elements gets the gradient does not depend on `kind`."""
    x, axis = flat_unless(axis, x)
    return np.take_along_axis(x, np.argsort(x, axis=axis, stable=True), axis=axis)


@composed(np.unique)
def _unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Of equal elements the first one gets the gradient."""
    _, first, *rest = np.unique(
        stop(x), True, return_inverse, return_counts, axis, equal_nan=equal_nan
    )
    values = np.take(x, first, axis=axis)
    parts = (values, first, *rest) if return_index else (values, *rest)
    return parts if len(parts) > 1 else values


def _with_values(function: Any) -> None:
    """The form of the standard: a tuple with the values first."""

    @composed(function)
    def rule(x: Any) -> Any:
        _, *rest = function(stop(x))
        return function(np.zeros(1)).__class__(np.unique(x, equal_nan=False), *rest)


_with_values(np.unique_all)
_with_values(np.unique_counts)
_with_values(np.unique_inverse)


@composed(np.unique_values)
def _unique_values(x: Any) -> Any:
    return np.unique(x, equal_nan=False)


@composed(np.partition)
def _partition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    x, axis = flat_unless(axis, x)
    return np.take_along_axis(x, np.argpartition(x, kth, axis=axis), axis=axis)


@composed(np.compress)
def _compress(condition: Any, x: Any, axis: int | None = None, out: Any = None) -> Any:
    refuse_out("compress", out)
    return np.take(x, np.flatnonzero(stop(condition)), axis=axis)


# Functional updates -------------------------------------------------------------------------------


def _set_at(x: Any, value: Any, index: Any) -> Any:
    out = x.copy()
    out[index] = value
    return out


index_set_at = primitive(_set_at)
slice_set_at = primitive(_set_at)
defvjp(
    index_set_at,
    lambda ans, x, value, index: lambda g: index_set_at(g, np.zeros((), g.dtype), index),
    lambda ans, x, value, index: lambda g: _written(_last_writes(g, index), value),
)
RULES["setitem"] = index_set_at
WRITES["getitem"] = lambda view, whole, index: index_set_at(whole, view, index)


def _written(g: Any, value: Any) -> Any:
    """NumPy accepts a value with extra leading axes of size 1."""
    extra = np.ndim(value) - np.ndim(g)
    return unbroadcast(np.reshape(g, (1,) * extra + np.shape(g)) if extra > 0 else g, value)


defvjp(
    slice_set_at,
    lambda ans, x, values, index: lambda g: index_set_at(g, np.zeros((), g.dtype), index),
    lambda ans, x, values, index: lambda g: g[index],
)


def _last_writes(g: Any, index: Any) -> Any:
    """The gradient at each position of the index; 0 where a later write replaced the element."""
    there = g[index]
    if _is_basic(index):
        return there
    number = np.arange(there.size).reshape(there.shape)
    winner = np.zeros(np.shape(g), dtype=np.int64)
    winner[index] = number
    return np.where(winner[index] == number, there, np.zeros((), g.dtype))


@primitive
def index_add_at(x: Any, value: Any, index: Any) -> Any:
    return _add_at(x.copy(), index, value)


defvjp(
    index_add_at,
    lambda ans, x, value, index: lambda g: g,
    lambda ans, x, value, index: lambda g: unbroadcast(g[index], value),
)


@primitive
def index_multiply_at(x: Any, value: Any, index: Any) -> Any:
    out = x.copy()
    np.multiply.at(out, index, value)
    return out


def _multiply_by_value(ans: Any, x: Any, value: Any, index: Any) -> Any:
    count = np.zeros(np.shape(x), dtype=np.int64)
    np.add.at(count, index, 1)
    if count.max(initial=0) > 1:
        return lambda g: unbroadcast((g * x)[index] * _other_factors(x, value, index), value)
    return lambda g: unbroadcast((g * x)[index], value)


def _other_factors(x: Any, value: Any, index: Any) -> Any:
    """The product of the other factors of the same element, also where some of them are 0."""
    value = np.broadcast_to(value, x[index].shape)
    is_zero = stop(value) == 0
    zeros = np.zeros(np.shape(x), dtype=np.int64)
    np.add.at(zeros, index, is_zero)
    nonzero = np.where(is_zero, np.ones((), value.dtype), value)
    product = index_multiply_at(np.ones(np.shape(x), dtype=value.dtype), nonzero, index)[index]
    none_left = zeros[index] - is_zero == 0
    return np.where(none_left, product / nonzero, np.zeros((), value.dtype))


defvjp(
    index_multiply_at,
    lambda ans, x, value, index: lambda g: index_multiply_at(g, value, index),
    _multiply_by_value,
)


@primitive
def index_extreme_at(x: Any, value: Any, index: Any, ufunc: Any) -> Any:
    out = x.copy()
    ufunc.at(out, index, value)
    return out


def _winners(ans: Any, x: Any, value: Any, index: Any) -> tuple[Any, Any, Any]:
    """Which elements are equal to the result, and how many: they share the gradient."""
    kept = (x == ans).astype(ans.dtype)
    attains = (ans[index] == value).astype(ans.dtype)
    return kept, attains, index_add_at(kept, attains, index)


def _extreme_by_x(ans: Any, x: Any, value: Any, index: Any, ufunc: Any) -> Any:
    kept, _, count = _winners(ans, x, value, index)
    return lambda g: g * kept / count


def _extreme_by_value(ans: Any, x: Any, value: Any, index: Any, ufunc: Any) -> Any:
    _, attains, count = _winners(ans, x, value, index)
    return lambda g: unbroadcast((g / count)[index] * attains, value)


defvjp(index_extreme_at, _extreme_by_x, _extreme_by_value)


@primitive
def segment_sum_rows(x: Any, ids: Any, count: int) -> Any:
    out = np.zeros((count, *x.shape[1:]), dtype=x.dtype)
    inside = (ids >= 0) & (ids < count)
    np.add.at(out, ids[inside], x[inside])
    return out


def _segment_rows(g: Any, ids: Any, count: int) -> Any:
    inside = (ids >= 0) & (ids < count)
    rows = g[np.where(inside, ids, 0)]
    mask = np.reshape(inside, (-1,) + (1,) * (rows.ndim - 1))
    return np.where(mask, rows, np.zeros((), rows.dtype))


defvjp(segment_sum_rows, lambda ans, x, ids, count: lambda g: _segment_rows(g, ids, count))
