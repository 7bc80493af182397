"""XLA's gather, scatter and slices at computed places, whose windows may begin anywhere.

`outside` says what happens to windows that are not wholly inside of the array: "clip" moves them
inside, "fill" reads nan (integers: the smallest number) and writes nothing, "promise" means that
there are none.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from ..._array.indexing import scatter
from ..._core.dispatch import xp_of, xp_of_all
from ..._core.dtypes import name_of
from ..._core.typing import Array, Backend
from .numbers import limits_of


def take_within(
    x: Array, indices: Array, /, *, axis: int, outside: str = "clip", fill: float | None = None
) -> Any:
    """Slices of `x` along an axis, by indices that may lie outside.

    >>> import numpy as np
    >>> take_within(np.array([1.0, 2.0]), np.array([1, 5]), axis=0, outside="fill")
    array([ 2., nan])
    """
    xp = xp_of_all(x, indices)
    last = x.shape[axis] - 1
    found = xp.take(x, xp.clip(indices, 0, last), axis=axis)
    if outside != "fill":
        return found
    inside = xp.logical_and(indices >= 0, indices <= last)
    around = (1,) * (len(x.shape) - axis - 1)
    inside = xp.reshape(inside, (*_sizes(inside), *around)) if around else inside
    return xp.where(inside, found, _fill(x, fill))


def gather_slices(
    x: Array,
    indices: Array,
    sizes: Sequence[int],
    /,
    *,
    offset_axes: Sequence[int],
    collapsed_axes: Sequence[int],
    start_axes: Sequence[int],
    batch_axes: Sequence[int] = (),
    index_batch_axes: Sequence[int] = (),
    outside: str = "clip",
    fill: float | None = None,
) -> Any:
    """Windows of `sizes` out of `x`, one for each vector along the last axis of `indices`.

    The vector says where the window begins along `start_axes`. `collapsed_axes` of the window are
    left out; the others are the axes `offset_axes` of the result.

    >>> import numpy as np
    >>> x, starts = np.arange(6.0), np.array([[1], [3]])
    >>> gather_slices(x, starts, (2,), offset_axes=(1,), collapsed_axes=(), start_axes=(0,))
    array([[1., 2.],
           [3., 4.]])
    """
    xp = xp_of_all(x, indices)
    places = _Places(
        xp, x, indices, sizes, collapsed_axes, start_axes, batch_axes, index_batch_axes
    )
    flat, inside = places.flat(outside)
    found = xp.take(places.rows(x), flat, axis=0)
    if outside == "fill":
        inside = xp.reshape(inside, (*_sizes(inside), *[1] * len(places.whole)))
        found = xp.where(inside, found, _fill(x, fill))
    count = len(indices.shape) - 1
    now = [*places.windows, *places.whole]  # the axes of x that follow those of the indices
    order: list[int] = []
    batch = iter(range(count))
    kept = sorted(now)
    for i in range(count + len(now)):
        if i in offset_axes:
            order.append(count + now.index(kept[list(offset_axes).index(i)]))
        else:
            order.append(next(batch))
    return found if order == sorted(order) else xp.permute_dims(found, tuple(order))


def scatter_slices(
    x: Array,
    indices: Array,
    updates: Array,
    /,
    *,
    window_axes: Sequence[int],
    inserted_axes: Sequence[int],
    start_axes: Sequence[int],
    batch_axes: Sequence[int] = (),
    index_batch_axes: Sequence[int] = (),
    reduce: str = "set",
    outside: str = "fill",
) -> Any:
    """`x` with windows changed by `updates`, whose axes `window_axes` are those of the window.

    >>> import numpy as np
    >>> x, starts, new = np.zeros(4), np.array([[1], [1]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> scatter_slices(
    ...     x, starts, new, window_axes=(1,), inserted_axes=(), start_axes=(0,), reduce="add"
    ... )
    array([0., 4., 6., 0.])
    """
    xp = xp_of_all(x, indices, updates)
    rank = len(x.shape)
    windowed = [d for d in range(rank) if d not in (*inserted_axes, *batch_axes)]
    sizes = [1] * rank
    for d, axis in zip(windowed, window_axes):
        sizes[d] = updates.shape[axis]
    single = (*inserted_axes,)
    places = _Places(xp, x, indices, sizes, single, start_axes, batch_axes, index_batch_axes)
    flat, inside = places.flat(outside)
    batch = [i for i in range(len(updates.shape)) if i not in window_axes]
    now = [window_axes[windowed.index(d)] for d in (*places.windows, *places.whole)]
    order = (*batch, *now)
    if order != tuple(sorted(order)):
        updates = xp.permute_dims(updates, order)
    rows = places.rows(x)
    count = rows.shape[0]
    if outside == "fill":  # what lies outside goes to a row of its own, which is left out again
        flat = xp.where(inside, flat, count)
        rows = xp.concat([rows, xp.zeros_like(rows[:1])], axis=0)
    shape = (prod(_sizes(flat)), *rows.shape[1:])
    updates = xp.astype(xp.reshape(updates, shape), rows.dtype, copy=False)
    changed = scatter(rows, xp.reshape(flat, (-1,)), updates, axis=0, reduce=reduce)  # type: ignore[arg-type]
    return places.from_rows(changed[:count] if outside == "fill" else changed)


class _Places:
    """Where windows lie in an array: axes that are looked up, and those that are taken whole."""

    def __init__(
        self,
        xp: Backend,
        x: Array,
        indices: Array,
        sizes: Sequence[int],
        collapsed: Sequence[int],
        starts: Sequence[int],
        batch: Sequence[int],
        index_batch: Sequence[int],
    ):
        self.xp, self.shape = xp, _sizes(x)
        self.indices, self.sizes = indices, list(sizes)
        self.starts, self.batch, self.index_batch = list(starts), list(batch), list(index_batch)
        axes = range(len(self.shape))
        self.whole = [
            d for d in axes if d not in (*starts, *batch, *collapsed) and sizes[d] == self.shape[d]
        ]
        self.looked_up = [d for d in axes if d not in self.whole]
        self.windows = [d for d in self.looked_up if d not in (*collapsed, *batch)]

    def rows(self, x: Array) -> Any:
        """`x` with the axes that are looked up as one, in front."""
        xp, order = self.xp, (*self.looked_up, *self.whole)
        if order != tuple(sorted(order)):
            x = xp.permute_dims(x, order)
        count = prod([self.shape[d] for d in self.looked_up])
        return xp.reshape(x, (count, *[self.shape[d] for d in self.whole]))

    def from_rows(self, rows: Array) -> Any:
        """What `rows` was made of, with changed numbers."""
        order = [*self.looked_up, *self.whole]
        x = self.xp.reshape(rows, tuple([self.shape[d] for d in order]))
        if order == sorted(order):
            return x
        return self.xp.permute_dims(x, tuple([order.index(d) for d in range(len(order))]))

    def flat(self, outside: str) -> tuple[Any, Any]:
        """The number of the row of each element of each window, and which windows are inside."""
        xp = self.xp
        outer = _sizes(self.indices)[:-1]
        rank = len(outer) + len(self.windows)
        place = xp.zeros((1,) * rank, dtype=xp.as_dtype("int32"), device=xp.device(self.indices))
        inside = xp.ones((1,) * rank, dtype=xp.as_dtype("bool"), device=xp.device(self.indices))
        for d in self.looked_up:
            position = self._start(d, outer)
            last = self.shape[d] - self.sizes[d]
            if d in self.starts:
                clipped = xp.clip(position, 0, last)
                inside = xp.logical_and(inside, self._around(clipped == position, outer))
                position = clipped if outside != "promise" else position
            position = self._around(position, outer)
            if d in self.windows:
                shape = [1] * rank
                shape[len(outer) + self.windows.index(d)] = self.sizes[d]
                position = position + xp.reshape(self._arange(self.sizes[d]), tuple(shape))
            place = place * self.shape[d] + position
        full = (*outer, *[self.sizes[d] for d in self.windows])
        return xp.broadcast_to(place, full), xp.broadcast_to(inside, full)

    def _start(self, d: int, outer: tuple[int, ...]) -> Any:
        xp = self.xp
        if d in self.starts:
            column = self.indices[..., self.starts.index(d)]
            return xp.astype(column, xp.as_dtype("int32"), copy=False)
        shape = [1] * len(outer)
        if d in self.batch:
            shape[self.index_batch[self.batch.index(d)]] = self.shape[d]
            return xp.reshape(self._arange(self.shape[d]), tuple(shape))
        return xp.reshape(self._arange(1), tuple(shape))

    def _around(self, x: Array, outer: tuple[int, ...]) -> Any:
        """`x` of the shape of the indices, with an axis of size 1 for each axis of the window."""
        if not self.windows:
            return x
        return self.xp.reshape(x, (*_sizes(x), *[1] * len(self.windows)))

    def _arange(self, n: int) -> Any:
        xp = self.xp
        return xp.arange(n, dtype=xp.as_dtype("int32"), device=xp.device(self.indices))


def dynamic_slice(x: Array, starts: Sequence[Any], sizes: Sequence[int], /) -> Any:
    """A window of `x` that begins at `starts`, moved inside where it would reach beyond.

    >>> import numpy as np
    >>> dynamic_slice(np.arange(5), [4], (2,))
    array([3, 4])
    """
    xp = xp_of(x)
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        if size == x.shape[axis]:
            continue
        last = x.shape[axis] - size
        if isinstance(start, int):
            start = min(max(start, 0), last)
            x = x[(slice(None),) * axis + (slice(start, start + size),)]
            continue
        start = xp.clip(xp.astype(start, xp.as_dtype("int32"), copy=False), 0, last)
        steps = xp.arange(size, dtype=start.dtype, device=xp.device(x))
        x = xp.take(x, start + steps, axis=axis)
    return x


def dynamic_update_slice(x: Array, update: Array, starts: Sequence[Any], /) -> Any:
    """`x` with a window that begins at `starts` replaced by `update`.

    >>> import numpy as np
    >>> dynamic_update_slice(np.zeros(3), np.ones(2), [1])
    array([0., 1., 1.])
    """
    xp = xp_of_all(x, update)
    rank = len(x.shape)
    inside = None
    for axis, start in enumerate(starts):
        size, count = x.shape[axis], update.shape[axis]
        if size == count:
            continue
        if isinstance(start, int):
            start = min(max(start, 0), size - count)
        else:
            start = xp.clip(xp.astype(start, xp.as_dtype("int32"), copy=False), 0, size - count)
        steps = xp.arange(size, dtype=xp.as_dtype("int32"), device=xp.device(x)) - start
        here = xp.logical_and(steps >= 0, steps < count)
        here = xp.reshape(here, (size, *[1] * (rank - axis - 1)))
        inside = here if inside is None else xp.logical_and(inside, here)
        update = xp.take(update, xp.clip(steps, 0, count - 1), axis=axis)
    return update if inside is None else xp.where(inside, update, x)


def _fill(x: Array, fill: float | None) -> Any:
    name = name_of(x.dtype)
    if fill is not None:
        return int(fill) if "int" in name else fill
    if "float" in name or "complex" in name:
        return float("nan")
    return limits_of(name)[0 if name.startswith("int") else 1]


def _sizes(x: Array) -> tuple[int, ...]:
    return tuple(x.shape)
