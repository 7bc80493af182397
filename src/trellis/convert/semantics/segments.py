"""Slices that share a number, and sequences of different lengths."""

import math
from typing import Any

from ..._array.indexing import scatter
from ..._core.dispatch import xp_of, xp_of_all
from ..._core.dtypes import name_of
from ..._core.typing import Array
from ...functional._layout import along
from .numbers import limits_of

_LOWEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}


def segments_joined(x: Array, ids: Array, count: int, /, *, by: str) -> Any:
    """The "sum", "prod", "max" or "min" of slices with the same id; negative ids are left out.

    A segment without slices has 0, 1, the lowest or the highest number.

    >>> import numpy as np
    >>> segments_joined(np.array([1.0, 2.0, 4.0]), np.array([0, -1, 0]), 2, by="sum")
    array([5., 0.])
    """
    xp = xp_of_all(x, ids)
    inner = tuple(x.shape[len(ids.shape) :])
    rows = xp.reshape(x, (math.prod(ids.shape), *inner))
    places = xp.reshape(ids, (-1,))
    places = xp.where(places < 0, count, places)
    name = name_of(x.dtype)
    low, high = limits_of(name)
    if "float" in name:
        high = _LOWEST.get(name, 1.7976931348623157e308)
        low = -high
    start = {"sum": 0, "prod": 1, "max": low, "min": high}[by]
    how: Any = {"sum": "add", "prod": "multiply"}.get(by, by)
    empty = xp.full((count + 1, *inner), start, dtype=x.dtype, device=xp.device(x))
    return scatter(empty, places, rows, axis=0, reduce=how)[:count]


def reversed_sequences(x: Array, lengths: Array, /, *, axis: int, batch_axis: int) -> Any:
    """Each of a batch with its first elements along an axis in reverse, as many as its length.

    >>> import numpy as np
    >>> reversed_sequences(np.array([[1, 2, 3]]), np.array([2]), axis=1, batch_axis=0)
    array([[2, 1, 3]])
    """
    xp = xp_of_all(x, lengths)
    rank = len(x.shape)
    steps = xp.arange(x.shape[axis], dtype=lengths.dtype, device=xp.device(x))
    steps = along(xp, steps, (axis,), rank)
    ends = along(xp, lengths, (batch_axis,), rank)
    places = xp.where(steps < ends, ends - 1 - steps, steps)
    return xp.take_along_axis(x, xp.broadcast_to(places, tuple(x.shape)), axis=axis)


def places_in_order(rows: Array, values: Array, /, *, side: str, dtype: str) -> Any:
    """Where values would be put into sorted rows to keep their order: before ("left") or after
    ("right") equal ones.

    >>> import numpy as np
    >>> places_in_order(np.array([[1.0, 3.0]]), np.array([[3.0]]), side="right", dtype="int32")
    array([[2]], dtype=int32)
    """
    xp = xp_of(rows)
    rows, values = xp.expand_dims(rows, axis=-2), xp.expand_dims(values, axis=-1)
    is_before = rows <= values if side == "right" else rows < values
    return xp.sum(xp.astype(is_before, xp.as_dtype(dtype)), axis=-1, dtype=xp.as_dtype(dtype))
