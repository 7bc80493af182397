"""Functional updates, from `index_set` and `index_add`."""

from ...._core.shapes import normal_axis
from ...array_api import Native
from . import xp


def update_slice(x: Native, values: Native, start: Native, /, *, axis: int) -> Native:
    """With `where`, so that `start` need not be known while tracing."""
    axis = normal_axis(axis, len(x.shape))
    length, steps = x.shape[axis], values.shape[axis]
    begin = xp.clip(xp.astype(start, "int32"), 0, length - steps)
    behind = xp.arange(length, device=xp.device(x)) - begin
    spread = xp.take(values, xp.clip(behind, 0, max(steps - 1, 0)), axis=axis)
    is_new = xp.logical_and(behind >= 0, behind < steps)
    shape = [1] * axis + [length] + [1] * (len(x.shape) - axis - 1)
    return xp.where(xp.reshape(is_new, tuple(shape)), spread, x)


def segment_sum(x: Native, segment_ids: Native, /, *, num_segments: int) -> Native:
    """Rows whose id is out of range go into an extra segment, which is dropped."""
    is_there = xp.logical_and(segment_ids >= 0, segment_ids < num_segments)
    place = xp.where(is_there, segment_ids, xp.full_like(segment_ids, num_segments))
    empty = xp.zeros((num_segments + 1, *x.shape[1:]), dtype=x.dtype, device=xp.device(x))
    return xp.index_add(empty, place, x)[:num_segments]
