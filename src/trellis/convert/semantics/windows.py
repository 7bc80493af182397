"""Windows over all axes of an array, as XLA slides them: with zeros between elements, and cutting
where padding is below zero."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from ..._core.dispatch import xp_of, xp_of_all
from ..._core.dtypes import name_of
from ..._core.typing import Array, Scalar
from .numbers import limits_of

Pairs = Sequence[tuple[int, int]]


def pad_dilated(x: Array, value: Array | Scalar, config: Sequence[tuple[int, int, int]], /) -> Any:
    """`x` with `value` around it and between its elements: (before, after, between) for each axis;
    fewer than zero before or after cuts elements off.

    >>> import numpy as np
    >>> pad_dilated(np.array([1.0, 2.0, 3.0]), 0.0, [(1, -1, 1)])
    array([0., 1., 0., 2., 0.])
    """
    xp = xp_of(x)
    if hasattr(value, "dtype"):
        kept = xp.ones_like(x, dtype=xp.as_dtype("bool"))
        large = pad_dilated(x, _zero(x), config)
        return xp.where(pad_dilated(kept, False, config), large, value)
    rank = len(x.shape)
    for axis, (_, _, between) in enumerate(config):
        size = x.shape[axis]
        if between == 0 or size < 2:
            continue
        x = xp.expand_dims(x, axis=axis + 1)
        pairs = [(0, 0)] * (rank + 1)
        pairs[axis + 1] = (0, between)
        x = xp.pad(x, pairs, constant_values=value)
        shape = (*x.shape[:axis], size * (between + 1), *x.shape[axis + 2 :])
        x = xp.reshape(x, shape)
        x = x[(slice(None),) * axis + (slice(None, size * (between + 1) - between),)]
    around = [(max(low, 0), max(high, 0)) for low, high, _ in config]
    if any([any(pair) for pair in around]):
        x = xp.pad(x, around, constant_values=value)
    cut = tuple(
        [
            slice(max(-low, 0), x.shape[axis] - max(-high, 0))
            for axis, (low, high, _) in enumerate(config)
        ]
    )
    if any([low < 0 or high < 0 for low, high, _ in config]):
        x = x[cut]
    return x


def reduce_window(
    x: Array,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    /,
    *,
    by: str,
    x_dilations: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
) -> Any:
    """The "sum", "mul", "max" or "min" of each window, one axis after the other.

    >>> import numpy as np
    >>> reduce_window(np.arange(4.0), (2,), (1,), [(0, 0)], by="sum")
    array([1., 3., 5.])
    """
    rank = len(window)
    spread = x_dilations or (1,) * rank
    steps = dilations or (1,) * rank
    config = [(low, high, gap - 1) for (low, high), gap in zip(padding, spread)]
    x = pad_dilated(x, _neutral(x, by), config)
    xp = xp_of(x)
    joins = {"sum": xp.add, "mul": xp.multiply, "max": xp.maximum, "min": xp.minimum}
    join = joins[by]
    for axis in range(rank):
        span = (window[axis] - 1) * steps[axis] + 1
        if span == 1 and strides[axis] == 1:
            continue
        count = (x.shape[axis] - span) // strides[axis] + 1
        parts = [
            _strided(x, axis, j * steps[axis], count, strides[axis]) for j in range(window[axis])
        ]
        x = parts[0]
        for part in parts[1:]:
            x = join(x, part)
    return x


def select_and_scatter_add(
    source: Array,
    x: Array,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    /,
    *,
    by: str,
) -> Any:
    """Each element of `source` added where its window of `x` has its first largest (or smallest)
    element: how the gradient flows back through a maximum over windows.

    >>> import numpy as np
    >>> x, source = np.array([1.0, 3.0, 2.0, 0.0]), np.array([10.0, 20.0])
    >>> select_and_scatter_add(source, x, (2,), (2,), [(0, 0)], by="max")
    array([ 0., 10., 20.,  0.])
    """
    xp = xp_of_all(source, x)
    large = pad_dilated(x, _neutral(x, by), [(low, high, 0) for low, high in padding])
    best = reduce_window(x, window, strides, padding, by=by)
    counts = tuple(source.shape)
    total = xp.zeros_like(large)
    taken = xp.zeros_like(source, dtype=xp.as_dtype("bool"))
    for offset in product(*[range(n) for n in window]):
        part = large
        for axis, start in enumerate(offset):
            part = _strided(part, axis, start, counts[axis], strides[axis])
        here = xp.logical_and(part == best, xp.logical_not(taken))
        taken = xp.logical_or(taken, here)
        back = [
            (start, large.shape[axis] - start - (counts[axis] - 1) * strides[axis] - 1,
             strides[axis] - 1)
            for axis, start in enumerate(offset)
        ]  # fmt: skip
        total = total + pad_dilated(xp.where(here, source, 0.0), 0.0, back)
    cut = [(-low, -high, 0) for low, high in padding]
    return pad_dilated(total, 0.0, cut)


def batch_groups_to_channels(x: Array, groups: int, /) -> Any:
    """(groups * N, ..., C) as (N, ..., groups * C): a convolution with groups of batches is one
    with groups of channels."""
    xp = xp_of(x)
    shape = tuple(x.shape)
    x = xp.reshape(x, (groups, shape[0] // groups, *shape[1:]))
    x = xp.moveaxis(x, 0, -2)
    return xp.reshape(x, (shape[0] // groups, *shape[1:-1], groups * shape[-1]))


def _strided(x: Array, axis: int, start: int, count: int, step: int) -> Any:
    stop = start + (count - 1) * step + 1
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def _zero(x: Array) -> Any:
    return False if name_of(x.dtype) == "bool" else 0


def _neutral(x: Array, by: str) -> Any:
    """The number that changes no result."""
    if by in ("sum", "mul"):
        return 0 if by == "sum" else 1
    low, high = limits_of(name_of(x.dtype))
    return low if by == "max" else high
