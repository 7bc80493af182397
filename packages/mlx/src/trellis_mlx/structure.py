"""Shapes, reductions, indices, sorting, creation, products."""

import builtins
import math
from typing import Any

import mlx.core as mx

from trellis import namespace
from trellis.backend import (
    check_squeezable,
    default_dtype,
    normal_axes,
    normal_axis,
    not_bools,
    on_host,
    only_axis,
    permutation,
    refuse_dropping,
    unordered,
)
from trellis.errors import ArgumentError, ArgumentTypeError, CopyError, ShapeError

from .interchange import as_device, from_numpy
from .tracing import depth
from .types import (
    BOOL,
    COMPLEXES,
    I64,
    INEXACT,
    NAMES,
    TYPES,
    UNSIGNED,
    array,
    as_dtype,
    as_float,
    both,
    dtype_name,
    number,
    together,
)

_NUMPY = namespace("numpy")

# Types and creation -------------------------------------------------------------------------------


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if device is not None:
        as_device(device)
    native = as_dtype(dtype)
    if x.dtype == native:
        return x
    if x.dtype in COMPLEXES and native != BOOL:
        raise refuse_dropping(NAMES[x.dtype], NAMES[native])
    # MLX's derivative goes through integers as if they were floats.
    return x.astype(native) if native in INEXACT else mx.stop_gradient(x).astype(native)


def _kind(dtype: Any) -> Any:
    return TYPES[str(default_dtype())] if dtype is None else as_dtype(dtype)


def _shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    if device is not None:
        as_device(device)
    return mx.zeros(_shape(shape), _kind(dtype))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    if device is not None:
        as_device(device)
    return mx.ones(_shape(shape), _kind(dtype))


empty = zeros


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    if device is not None:
        as_device(device)
    return mx.zeros(x.shape, x.dtype if dtype is None else as_dtype(dtype))


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    if device is not None:
        as_device(device)
    return mx.ones(x.shape, x.dtype if dtype is None else as_dtype(dtype))


def eye(
    n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Any:
    if device is not None:
        as_device(device)
    columns = n_rows if n_cols is None else n_cols
    if n_rows < 0 or columns < 0:
        raise ArgumentError(f"eye() needs sizes from 0 on, got {n_rows} and {columns}.")
    if n_rows == 0 or columns == 0 or not -n_rows < k < columns:
        return mx.zeros((n_rows, columns), _kind(dtype))
    rows = mx.arange(n_rows)[:, None]
    return (mx.arange(columns)[None] - rows == k).astype(_kind(dtype))


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    """The numbers of NumPy: in float32 sums of many steps would differ."""
    return from_numpy(
        _NUMPY.arange(start, stop, step, dtype=None if dtype is None else dtype_name(dtype)),
        device=device,
    )


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True,
) -> Any:  # fmt: skip
    name = None if dtype is None else dtype_name(dtype)
    return from_numpy(
        _NUMPY.linspace(start, stop, num, dtype=name, endpoint=endpoint), device=device
    )


# Shapes -------------------------------------------------------------------------------------------


def reshape(x: Any, /, shape: Any, *, copy: Any = None) -> Any:
    if copy is False:
        raise CopyError("copy=False, but MLX does not promise to share memory. Write copy=None.")
    shape = _shape(shape)
    if x.size == 0 and -1 in shape:
        known = math.prod([n for n in shape if n != -1])
        shape = tuple([(0 if known == 0 else x.size // known) if n == -1 else n for n in shape])
    return mx.reshape(x, shape)


def permute_dims(x: Any, /, axes: Any) -> Any:
    return mx.transpose(x, permutation(axes, x.ndim))


def matrix_transpose(x: Any, /) -> Any:
    return mx.swapaxes(x, -1, -2)


def broadcast_to(x: Any, /, shape: Any) -> Any:
    return mx.broadcast_to(x, _shape(shape))


def expand_dims(x: Any, /, axis: int) -> Any:
    return mx.expand_dims(x, axis)


def squeeze(x: Any, /, axis: Any) -> Any:
    axes = axis if isinstance(axis, tuple) else (axis,)
    check_squeezable(axes, x.shape)
    return mx.squeeze(x, normal_axes(axes, x.ndim)) if axes else x


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    sources, targets = normal_axes(source, x.ndim), normal_axes(destination, x.ndim)
    order = [i for i in range(x.ndim) if i not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return mx.transpose(x, order)


def concat(arrays: Any, /, *, axis: Any = 0) -> Any:
    same = together(arrays)
    if axis is None:
        return mx.concatenate([mx.reshape(x, (-1,)) for x in same], axis=0)
    return mx.concatenate(same, axis=axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    return mx.stack(together(arrays), axis=axis)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    axes = normal_axes(axis, x.ndim)
    back = tuple([slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim)])
    return x[back] if axes else x


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    if axis == () or x.size == 0:
        return x
    return mx.roll(x, shift, axis)


def tile(x: Any, repetitions: Any, /) -> Any:
    return mx.tile(x, tuple(repetitions))


# Reductions ---------------------------------------------------------------------------------------


def _reduced(native: Any, x: Any, axis: Any, keepdims: bool, of_nothing: Any) -> Any:
    """MLX's reduction. That of an empty array never ends, or reads what was in memory before."""
    if axis == ():
        return x
    axes = normal_axes(axis, x.ndim)
    if x.size:
        return native(x, None if axis is None else list(axes), keepdims=keepdims)
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    if of_nothing is None and math.prod([x.shape[i] for i in axes]) == 0:
        raise ShapeError("The largest or smallest of no elements: there is none.")
    shape = [1 if i in axes else n for i, n in enumerate(x.shape)] if keepdims else kept
    return mx.broadcast_to(array(of_nothing or 0).astype(x.dtype), shape)


def _total_type(x: Any, dtype: Any) -> Any:
    if dtype is not None:
        return as_dtype(dtype)
    if x.dtype in INEXACT:
        return x.dtype
    return mx.uint64 if x.dtype in UNSIGNED else I64


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    kind = _total_type(x, dtype)
    return _reduced(mx.sum, x.astype(kind), axis, keepdims, 0).astype(kind)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    kind = _total_type(x, dtype)
    return _reduced(mx.prod, x.astype(kind), axis, keepdims, 1).astype(kind)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if x.dtype in COMPLEXES:
        raise unordered("max")
    return _reduced(mx.max, x, axis, keepdims, None)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if x.dtype in COMPLEXES:
        raise unordered("min")
    return _reduced(mx.min, x, axis, keepdims, None)


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    truth = x if x.dtype == BOOL else x != 0
    return _reduced(mx.all, truth, axis, keepdims, True)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    truth = x if x.dtype == BOOL else x != 0
    return _reduced(mx.any, truth, axis, keepdims, False)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduced(mx.mean, as_float(x), axis, keepdims, math.nan)


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    return _running("cumulative_sum", mx.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    return _running("cumulative_prod", mx.cumprod, x, axis, dtype, 1 if include_initial else None)


def _running(name: str, native: Any, x: Any, axis: Any, dtype: Any, initial: Any) -> Any:
    along = only_axis(name, x.ndim) if axis is None else normal_axis(axis, x.ndim)
    x = x.astype(_total_type(x, dtype))
    found = native(x, axis=along).astype(x.dtype) if x.size else x
    if initial is None:
        return found
    shape = list(x.shape)
    shape[along] = 1
    return mx.concatenate([mx.full(shape, initial, dtype=x.dtype), found], axis=along)


# Order --------------------------------------------------------------------------------------------


def argmax(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _best("argmax", mx.argmax, x, axis, keepdims)


def argmin(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _best("argmin", mx.argmin, x, axis, keepdims)


def _best(name: str, native: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype in COMPLEXES:
        raise unordered(name)
    x = mx.stop_gradient(x)
    if axis is None:
        found = native(mx.reshape(x, (-1,)), axis=0)
        found = mx.reshape(found, (1,) * x.ndim) if keepdims else found
    else:
        found = native(x, axis=normal_axis(axis, x.ndim), keepdims=keepdims)
    return found.astype(I64)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Equal elements in the order in which they come, also in descending order."""
    if x.dtype in COMPLEXES:
        raise unordered("argsort")
    axis = normal_axis(axis, x.ndim)
    x = mx.stop_gradient(x)
    if not descending:
        return mx.argsort(x, axis=axis).astype(I64)
    last = x.shape[axis] - 1
    back = mx.argsort(flip(x, axis=axis), axis=axis).astype(I64)
    return last - flip(back, axis=axis)


# Indices ------------------------------------------------------------------------------------------


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    if not isinstance(condition, array):
        raise ArgumentTypeError(f"where() expects an array for condition, got {condition!r}.")
    if condition.dtype != BOOL:
        raise not_bools(NAMES[condition.dtype])
    return mx.where(condition, *both(x1, x2))


def take(x: Any, indices: Any, /, *, axis: Any = None) -> Any:
    along = only_axis("take", x.ndim) if axis is None else normal_axis(axis, x.ndim)
    return mx.take(x, _counted(indices, x.shape[along]), axis=along)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    along = normal_axis(axis, x.ndim)
    return mx.take_along_axis(x, _counted(indices, x.shape[along]), axis=along)


def _counted(indices: Any, size: int) -> Any:
    """Indices from the start; small integers could not hold the size."""
    if indices.dtype in UNSIGNED:
        return mx.stop_gradient(indices)
    indices = mx.stop_gradient(indices)  # MLX has no derivative by them, not even zeros
    wide = indices if indices.dtype in (mx.int32, I64) else indices.astype(mx.int32)
    return mx.where(wide < 0, wide + size, wide)


def _value(value: Any, x: Any) -> Any:
    if not isinstance(value, array):
        return number(value, x.dtype) if isinstance(value, (bool, int, float, complex)) else value
    if value.dtype in COMPLEXES and x.dtype not in COMPLEXES:
        raise refuse_dropping(NAMES[value.dtype], NAMES[x.dtype])
    return value.astype(x.dtype)


def _mask(idx: Any, x: Any) -> Any:
    """A mask with as many axes as `x`, if the index is one."""
    if isinstance(idx, array) and idx.dtype == BOOL:
        return mx.reshape(idx, (*idx.shape, *[1] * (x.ndim - idx.ndim)))
    return None


def index_set(x: Any, idx: Any, value: Any) -> Any:
    """A copy of `x` in which `x[idx]` is `value`."""
    value = _value(value, x)
    mask = _mask(idx, x)
    if mask is not None:
        return mx.where(mask, value, x)
    idx = _checked(idx, x)
    if _may_repeat(idx):
        return _last_written(x, idx, value)
    found = array(x)
    found[idx] = value
    return found


def _checked(idx: Any, x: Any) -> Any:
    """The index without derivatives; MLX writes anywhere for one that is out of bounds."""
    parts = idx if isinstance(idx, tuple) else (idx,)
    axis = 0
    for i, part in enumerate(parts):
        if part is Ellipsis:
            axis = x.ndim - len([p for p in parts[i + 1 :] if p is not None])
        elif part is not None:
            if isinstance(part, int) and not -x.shape[axis] <= part < x.shape[axis]:
                raise ArgumentError(
                    f"index {part} is out of bounds for axis {axis} with size {x.shape[axis]}"
                )
            axis += 1
    parts = tuple([mx.stop_gradient(p) if isinstance(p, array) else p for p in parts])
    return parts if isinstance(idx, tuple) else parts[0]


def _may_repeat(idx: Any) -> bool:
    parts = idx if isinstance(idx, tuple) else (idx,)
    return builtins.any([isinstance(part, (array, list)) for part in parts])


def _last_written(x: Any, idx: Any, value: Any) -> Any:
    """Of several values for one element the last, which alone has a gradient."""
    places = mx.reshape(mx.arange(x.size), x.shape)[idx]
    if places.size == 0:
        return x
    while value.ndim > places.ndim and value.shape[0] == 1:  # as x[idx] = value allows it
        value = value[0]
    values = mx.reshape(mx.broadcast_to(value, places.shape), (-1,))
    order = mx.arange(values.size, dtype=mx.int32)
    last = mx.full((x.size,), -1, dtype=mx.int32).at[mx.reshape(places, (-1,))].maximum(order)
    chosen = mx.take(values, mx.maximum(last, 0))
    return mx.reshape(mx.where(last < 0, mx.reshape(x, (-1,)), chosen), x.shape)


def index_add(x: Any, idx: Any, value: Any) -> Any:
    value = _value(value, x)
    mask = _mask(idx, x)
    if mask is not None:
        return mx.where(mask, x + value, x)
    return x.at[_checked(idx, x)].add(value)


def _compared(function: str) -> Any:
    """MLX has no derivative of these: they run on NumPy, where there is one, unless a program is
    compiled; MLX raises if a derivative is asked for then."""

    def call(x: Any, idx: Any, value: Any) -> Any:
        if not depth.compiled or _mask(idx, x) is not None:
            from . import backend

            return on_host(f"index_{function}", backend)(x, idx, value)
        native = {"max": "maximum", "min": "minimum"}.get(function, function)
        return getattr(x.at[_checked(idx, x)], native)(_value(value, x))

    call.made = "host"  # type: ignore[attr-defined]
    return call


index_max, index_min, index_multiply = _compared("max"), _compared("min"), _compared("multiply")


def searchsorted(x1: Any, x2: Any, /, *, side: Any = "left", sorter: Any = None) -> Any:
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted() knows the sides 'left' and 'right', got {side!r}.")
    a, b = both(x1 if sorter is None else take(x1, sorter, axis=0), x2)
    if a.dtype in COMPLEXES:
        raise unordered("searchsorted")
    if a.size == 0 or b.size == 0:
        return mx.zeros(b.shape, I64)
    return mx.searchsorted(mx.stop_gradient(a), mx.stop_gradient(b), side).astype(I64)


# Products -----------------------------------------------------------------------------------------


def matmul(x1: Any, x2: Any, /) -> Any:
    a, b = both(x1, x2)
    if a.dtype in INEXACT and a.size and b.size:
        return mx.matmul(a, b)
    return _product_of_any(a, b)


def _product_of_any(a: Any, b: Any) -> Any:
    """MLX has no product of integers or of empty matrices: sums of products of elements."""
    left = a if a.ndim > 1 else a[None]
    right = b if b.ndim > 1 else b[:, None]
    if left.shape[-1] != right.shape[-2]:
        return mx.matmul(a.astype(mx.float32), b.astype(mx.float32))  # says what does not fit
    found = (left[..., :, :, None] * right[..., None, :, :]).sum(axis=-2).astype(a.dtype)
    found = found if a.ndim > 1 else found[..., 0, :]
    return found if b.ndim > 1 else found[..., 0]
