"""Reading and writing by arrays of indices, as torch and ONNX mean it."""

from collections.abc import Sequence
from typing import Any

import trellis

from ..._core.typing import Array


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
    table = trellis.reshape(moved, (_product(sizes), *[x.shape[axis] for axis in rest]))
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
    axes = [axis for axis, item in enumerate(items) if item is not None]
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    sizes = [x.shape[axis] for axis in axes]
    flat = _flat_index([items[axis] for axis in axes], sizes)
    shape, count = tuple(flat.shape), len(flat.shape)
    tail = [x.shape[axis] for axis in rest]
    first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    lead, after = tail[:first], tail[first:]
    values = trellis.broadcast_to(values, (*lead, *shape, *after))
    if first:
        values = trellis.moveaxis(values, tuple(range(first, first + count)), tuple(range(count)))
    order = (*axes, *rest)
    moved = trellis.permute_dims(x, order)
    table = trellis.reshape(moved, (_product(sizes), *tail))
    rows = trellis.reshape(values, (-1, *tail)) if shape != () else values[None]
    changed = trellis.scatter(
        table, trellis.reshape(flat, (-1,)), rows, axis=0, reduce="add" if add else "set"
    )
    changed = trellis.reshape(changed, tuple(moved.shape))
    back = tuple([order.index(axis) for axis in range(len(order))])
    return trellis.permute_dims(changed, back)


def with_slice(x: Array, key: int | slice | tuple[Any, ...], values: Array, /) -> Any:
    """`x` with `values` at `x[key]`, a place made of integers and slices."""
    return trellis.at(x, key).set(values)


def reduced_along_axis(x: Array, indices: Array, values: Array, /, *, axis: int, reduce: str,
                       include_self: bool) -> Any:  # fmt: skip
    """Like `trellis.put_along_axis`, where `x` itself counts as a value only if `include_self`;
    "mean" is known too."""
    names: dict[str, Any] = {
        "sum": "add",
        "mean": "add",
        "prod": "multiply",
        "amax": "max",
        "amin": "min",
    }
    neutral = {"add": 0, "multiply": 1, "max": float("-inf"), "min": float("inf")}[names[reduce]]
    put = trellis.put_along_axis
    touched = trellis.not_equal(put(trellis.zeros_like(x), indices, 1, axis=axis), 0)
    start = x if include_self else trellis.where(touched, neutral, x)
    found = put(start, indices, values, axis=axis, reduce=names[reduce])
    if reduce != "mean":
        return found
    ones = trellis.ones_like(x)
    if not include_self:
        ones = trellis.where(touched, 0, ones)
    counts = put(ones, indices, 1, axis=axis, reduce="add")
    return trellis.divide(found, trellis.maximum(counts, 1))


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
    rows, cols = moved.shape[-2], moved.shape[-1]
    count = values.shape[-1]
    key = (..., list(range(max(-offset, 0), max(-offset, 0) + count)),
           list(range(max(offset, 0), max(offset, 0) + count)))  # fmt: skip
    backend = trellis.backend_of(x)
    flat = [r * cols + c for r, c in zip(key[1], key[2])]
    lines = trellis.reshape(moved, (*moved.shape[:-2], rows * cols))
    where = trellis.asarray(flat, dtype="int32", backend=backend)
    lines = trellis.scatter(lines, where, values, axis=-1)
    return trellis.moveaxis(trellis.reshape(lines, moved.shape), (-2, -1), axes)


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


def _product(sizes: list[Any]) -> Any:
    total = 1
    for n in sizes:
        total = total * n
    return total
