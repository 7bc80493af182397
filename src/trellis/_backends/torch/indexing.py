"""Reading and functional writing at indices.

The `index_*` functions convert any index that a tensor accepts into positions in the flattened
tensor. So all of them use one functional kernel, which differentiates, works under vmap, and counts
duplicates correctly.
"""

from typing import Any

import torch

from ..._core.dtypes import fitted, refuse_dropping
from ..._core.shapes import normal_axis, only_axis
from ._helpers import FEW_KERNELS, INTEGER, NAMES, filled, ordered, unordered
from ._portable import last_values
from ._types import Tensor


def take(x: Tensor, indices: Tensor, /, *, axis: Any = None) -> Any:
    """Elements at `indices` along an axis; negative indices count from the end."""
    if axis is None:
        axis = only_axis("take", x.ndim)
    # uint8 would be treated as a mask.
    places = indices if indices.dtype is torch.int64 else indices.to(torch.int64)
    return x[(slice(None),) * normal_axis(axis, x.ndim) + (places,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Any:
    places = indices.to(torch.int64)
    places = torch.where(places < 0, places + x.shape[axis], places)
    if x.dtype in FEW_KERNELS:
        return take_along_axis(x.to(torch.int64), places, axis=axis).to(x.dtype)
    # Not take_along_dim, which takes places beyond the end modulo its size.
    axis = normal_axis(axis, x.ndim)
    others = [(*y.shape[:axis], *y.shape[axis + 1 :]) for y in (x, places)]
    if others[0] != others[1]:
        shape = torch.broadcast_shapes(*others)
        x, places = [y.expand(*shape[:axis], y.shape[axis], *shape[axis:]) for y in (x, places)]
    return torch.gather(x, axis, places)


def _value_of(value: Any, x: Tensor) -> Any:
    if isinstance(value, torch.Tensor):
        if value.dtype.is_complex and not x.dtype.is_complex:
            raise refuse_dropping(NAMES[value.dtype], NAMES[x.dtype])
        return value if value.dtype is x.dtype else value.to(x.dtype)
    if isinstance(value, (bool, int, float, complex)):
        return filled(fitted(value, NAMES[x.dtype]), x.dtype, x.device)
    return torch.as_tensor(value, device=x.device).to(x.dtype)


def _is_mask_of_one_value(idx: Any, value: Any, x: Tensor) -> bool:
    """Whether the same value is written at every position of a mask: then no shape depends on the
    mask's values.
    """
    return (
        isinstance(idx, torch.Tensor)
        and idx.dtype is torch.bool
        and value.ndim <= x.ndim - idx.ndim
    )


def _spread(mask: Any, x: Tensor) -> Any:
    return mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))


def _forwards(x: Tensor, idx: Any) -> tuple[Any, Any]:
    """The same selection without negative steps, which PyTorch lacks: those axes are flipped."""
    parts = idx if isinstance(idx, tuple) else (idx,)
    if not any([isinstance(part, slice) and (part.step or 1) < 0 for part in parts]):
        return x, idx
    taken = [_axes_taken(part) for part in parts]
    found, flipped, axis = [], [], 0
    for part, count in zip(parts, taken, strict=True):
        if isinstance(part, slice) and (part.step or 1) < 0:
            size = x.shape[axis]
            start, stop, step = part.indices(size)
            part = slice(size - 1 - start, max(size - 1 - stop, 0), -step)
            flipped.append(axis)
        found.append(part)
        axis += x.ndim - sum(taken) if part is Ellipsis else count
    return torch.flip(x, flipped), tuple(found)


def _axes_taken(part: Any) -> int:
    """How many axes of the array an item of an index takes; `...` takes the rest."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, torch.Tensor) and part.dtype is torch.bool else 1


def _whole(part: Any) -> Any:
    """Integers as int64: PyTorch treats uint8 as a mask, and has no 16-bit indices."""
    is_integer = isinstance(part, torch.Tensor) and part.dtype in INTEGER
    return part.to(torch.int64) if is_integer else part


def _places(x: Tensor, idx: Any, value: Any) -> tuple[Any, Any]:
    """Indices into the flattened `x`, and a value for each."""
    idx = tuple([_whole(i) for i in idx]) if isinstance(idx, tuple) else _whole(idx)
    places, idx = _forwards(torch.arange(x.numel(), device=x.device).reshape(x.shape), idx)
    places = places[idx]
    while value.ndim > places.ndim and value.shape[0] == 1:  # as x[idx] = value allows it
        value = value[0]
    return places.reshape(-1), value.broadcast_to(places.shape).reshape(-1)


def index_set(x: Tensor, idx: Any, value: Any) -> Any:
    """A copy of `x` in which `x[idx]` is `value`."""
    value = _value_of(value, x)
    if x.dtype in FEW_KERNELS:
        return index_set(x.to(torch.int64), idx, value.to(torch.int64)).to(x.dtype)
    if _is_mask_of_one_value(idx, value, x):
        return torch.where(_spread(idx, x), value, x)
    places, values = _places(x, idx, value)
    if _may_repeat(idx):
        values = last_values(values, places, x.numel())
    return torch.index_put(x.reshape(-1), (places,), values).reshape(x.shape)


def _may_repeat(idx: Any) -> bool:
    """Whether an index may name an element twice; slices and masks do not."""
    parts = idx if isinstance(idx, tuple) else (idx,)
    return any(
        [not isinstance(p, (int, slice)) and p is not None and p is not Ellipsis for p in parts]
    )


def index_add(x: Tensor, idx: Any, value: Any) -> Any:
    """A copy of `x` with `value` added at `x[idx]`; duplicates add up."""
    value = _value_of(value, x)
    if x.dtype in FEW_KERNELS:
        return index_add(x.to(torch.int64), idx, value.to(torch.int64)).to(x.dtype)
    if _is_mask_of_one_value(idx, value, x):
        return torch.where(_spread(idx, x), x + value, x)
    places, values = _places(x, idx, value)
    return torch.index_add(x.reshape(-1), 0, places, values).reshape(x.shape)


def _index_reduce(x: Tensor, idx: Any, value: Any, reduce: str, combine: Any) -> Any:
    if _is_mask_of_one_value(idx, value, x):
        return torch.where(_spread(idx, x), combine(x, value), x)
    places, values = _places(x, idx, value)
    return torch.scatter_reduce(x.reshape(-1), 0, places, values, reduce).reshape(x.shape)


def index_multiply(x: Tensor, idx: Any, value: Any) -> Any:
    """A copy of `x` multiplied by `value` at `x[idx]`; duplicates multiply up."""
    value = _value_of(value, x)
    if x.dtype in FEW_KERNELS:
        return index_multiply(x.to(torch.int64), idx, value.to(torch.int64)).to(x.dtype)
    if not x.is_floating_point() or _is_mask_of_one_value(idx, value, x):
        return _index_reduce(x, idx, value, "prod", torch.mul)
    places, values = _places(x, idx, value)
    return x * _products(places, values, x.numel()).reshape(x.shape)


def _products(places: Any, values: Tensor, size: int) -> Any:
    """The product of the values at each position, 1 where there is none.

    scatter_reduce("prod") would do, but its forward-mode derivative is silently zero (torch 2.13).
    A segmented scan: after k rounds each value holds the product of the last 2**k at its position.
    """
    places, order = torch.sort(places, stable=True)
    values = values[order]
    reach = 1
    while reach < values.shape[0]:
        same = places[reach:] == places[:-reach]
        grown = torch.where(same, values[reach:] * values[:-reach], values[reach:])
        values = torch.cat([values[:reach], grown])
        reach *= 2
    is_last = torch.cat(
        [places[1:] != places[:-1], places.new_ones(places[:1].shape, dtype=torch.bool)]
    )
    totals = torch.zeros(size, dtype=values.dtype, device=values.device)
    totals = torch.index_add(totals, 0, places, torch.where(is_last, values, 0))
    is_touched = torch.zeros(size, dtype=torch.bool, device=values.device)
    is_touched = torch.index_fill(is_touched, 0, places, True)
    return torch.where(is_touched, totals, 1)


def index_min(x: Tensor, idx: Any, value: Any) -> Any:
    """A copy of `x` that at `x[idx]` is at most `value`."""
    value = _value_of(value, x)
    if x.dtype in FEW_KERNELS:
        return unordered(index_min(ordered(x), idx, ordered(value)), x.dtype)
    return _index_reduce(x, idx, value, "amin", torch.minimum)


def index_max(x: Tensor, idx: Any, value: Any) -> Any:
    """A copy of `x` that at `x[idx]` is at least `value`."""
    value = _value_of(value, x)
    if x.dtype in FEW_KERNELS:
        return unordered(index_max(ordered(x), idx, ordered(value)), x.dtype)
    return _index_reduce(x, idx, value, "amax", torch.maximum)


def update_slice(x: Tensor, values: Tensor, start: Any, /, *, axis: int) -> Any:
    steps = values.shape[axis]
    start = start.clamp(0, x.shape[axis] - steps)
    places = torch.arange(steps, dtype=torch.int64, device=x.device) + start
    return torch.index_copy(x, axis, places, values)


def segment_sum(x: Tensor, segment_ids: Any, /, *, num_segments: int) -> Any:
    """Row i of the result is the sum of the rows of `x` whose segment id is i. Those of other ids
    go to one more row, which is cut off."""
    if x.dtype in FEW_KERNELS:
        return segment_sum(x.to(torch.int64), segment_ids, num_segments=num_segments).to(x.dtype)
    ids = segment_ids.to(torch.int64)
    ids = torch.where((ids < 0) | (ids > num_segments), num_segments, ids)
    totals = torch.zeros((num_segments + 1, *x.shape[1:]), dtype=x.dtype, device=x.device)
    return torch.index_add(totals, 0, ids, x)[:num_segments]
