"""Reading and writing by arrays of indices, as torch and ONNX mean it."""

import math
from collections.abc import Sequence
from typing import Any

import trellis

from ..._core.typing import Array
from .numbers import limits_of


def index(x: Array, indices: Sequence[Array | None], /) -> Any:
    """`x[indices]`: arrays of indices broadcast against each other, None takes a whole axis, a
    mask of bools takes the elements where it is true."""
    items = _without_masks(x, indices)
    axes = [axis for axis, item in enumerate(items) if item is not None]
    ndim = len(x.shape)
    rest = [axis for axis in range(ndim) if axis not in axes]
    first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    sizes = [x.shape[axis] for axis in axes]
    flat = _flat_index([items[axis] for axis in axes], sizes)
    order = (*axes, *rest)
    moved = x if order == tuple(range(ndim)) else trellis.permute_dims(x, order)
    table = trellis.reshape(moved, (math.prod(sizes), *[x.shape[axis] for axis in rest]))
    found = trellis.take(table, flat, axis=0)
    if first == 0:
        return found
    # Adjacent indices keep the position of their axes.
    count = len(flat.shape)
    source = tuple(range(count))
    return trellis.moveaxis(found, source, tuple([first + i for i in source]))


def with_indexed(
    x: Array, indices: Sequence[Array | None], values: Array, /, *, add: bool = False
) -> Any:
    """`x` with `values` at `x[indices]`, or added there, where repeated indices add up."""
    items = _without_masks(x, indices)
    place = trellis.at(x, tuple([slice(None) if item is None else item for item in items]))
    return place.add(values) if add else place.set(values)


def with_slice(x: Array, key: int | slice | tuple[Any, ...], values: Array, /) -> Any:
    """`x` with `values` at `x[key]`, a place made of integers and slices."""
    return trellis.at(x, key).set(values)


def reduced_along_axis(x: Array, indices: Array, values: Array, /, *, axis: int, reduce: str,
                       include_self: bool) -> Any:  # fmt: skip
    """Like `trellis.put_along_axis`, where `x` itself counts as a value only if `include_self`;
    "mean" is known too."""
    names: dict[str, Any] = {"prod": "multiply", "amax": "max", "amin": "min"}
    how = names.get(reduce, "add")
    low, high = limits_of(str(trellis.dtype(x)))
    neutral = {"add": 0, "multiply": 1, "max": low, "min": high}[how]
    put = trellis.put_along_axis
    touched = trellis.not_equal(put(trellis.zeros_like(x), indices, 1, axis=axis), 0)
    start = x if include_self else trellis.where(touched, neutral, x)
    found = put(start, indices, values, axis=axis, reduce=how)
    if reduce != "mean":
        return found
    ones = trellis.ones_like(x)
    if not include_self:
        ones = trellis.where(touched, 0, ones)
    counts = put(ones, indices, 1, axis=axis, reduce="add")
    counts = trellis.maximum(counts, 1)
    if "int" in str(trellis.dtype(x)):
        return trellis.floor_divide(found, counts)
    return trellis.divide(found, counts)


def with_masked(x: Array, mask: Array, values: Array, /) -> Any:
    """`x` with the first elements of `values`, in their order, where `mask` is true."""
    shape = tuple(x.shape)
    mask = trellis.reshape(trellis.broadcast_to(mask, shape), (-1,))
    places = trellis.subtract(trellis.cumulative_sum(trellis.astype(mask, "int32"), axis=0), 1)
    chosen = trellis.take(trellis.reshape(values, (-1,)), trellis.maximum(places, 0), axis=0)
    return trellis.reshape(trellis.where(mask, chosen, trellis.reshape(x, (-1,))), shape)


def diagonal_matrix(x: Array, /, *, offset: int = 0) -> Any:
    """Matrices with the vectors along the last axis of `x` on a diagonal."""
    n = x.shape[-1] + abs(offset)
    rows = trellis.pad(x, (*[(0, 0)] * (len(x.shape) - 1), (max(offset, 0), max(-offset, 0))))
    eye = trellis.eye(n, dtype="bool", backend=trellis.backend_of(x))
    full = trellis.where(
        eye, trellis.expand_dims(rows, axis=-2), trellis.zeros_like(rows[..., :1, None])
    )
    return trellis.roll(full, -offset, axis=-2) if offset else full


def with_diagonal(
    x: Array, values: Array, /, *, offset: int = 0, axes: tuple[int, int] = (-2, -1)
) -> Any:
    """`x` with `values` on a diagonal of the matrices that two of its axes form."""
    moved = trellis.moveaxis(x, axes, (-2, -1))
    places = [
        trellis.asarray(
            [max(shift, 0) + i for i in range(values.shape[-1])],
            dtype="int32",
            backend=trellis.backend_of(x),
        )
        for shift in (-offset, offset)
    ]
    key = (*[slice(None)] * (len(x.shape) - 2), *places)
    return trellis.moveaxis(trellis.at(moved, key).set(values), (-2, -1), axes)


def bincount(
    x: Any, weights: Array | None = None, /, *, minlength: int = 0, dtype: str | None = None
) -> Any:
    """How often each number from 0 to the largest occurs, or the sum of its weights."""
    count = max(int(trellis.max(x)) + 1 if x.shape[0] else 0, minlength)
    given = trellis.ones_like(x, dtype=dtype) if weights is None else weights
    return trellis.segment_sum(given, x, num_segments=count)


def _without_masks(x: Array, indices: Sequence[Array | None]) -> list[Any]:
    """One item for each axis: an array of integers, or None."""
    items: list[Any] = []
    for item in indices:
        if item is not None and str(trellis.dtype(item)) == "bool":
            items += list(trellis.nonzero(item))
        else:
            items.append(item)
    return items + [None] * (len(x.shape) - len(items))


def _flat_index(items: list[Any], sizes: list[Any]) -> Any:
    """The indices along several axes as one along all of them."""
    flat: Any = None
    for item, n in zip(items, sizes):
        item = trellis.where(trellis.less(item, 0), trellis.add(item, n), item)
        flat = item if flat is None else trellis.add(trellis.multiply(flat, n), item)
    return flat
