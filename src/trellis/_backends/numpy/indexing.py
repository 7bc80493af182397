"""Reading and functional writing at indices, on NumPy."""

from typing import Any

import numpy as np

from ..._core.dtypes import fitted, refuse_dropping
from ._helpers import cast
from ._rules.indexing import (
    index_add_at,
    index_extreme_at,
    index_multiply_at,
    index_set_at,
    segment_sum_rows,
    slice_set_at,
)


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    return np.take(x, indices, axis=axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    return np.take_along_axis(x, indices, axis=axis)


def index_set(x: Any, idx: Any, value: Any) -> Any:
    return index_set_at(x, _cast(value, x), idx)


def index_add(x: Any, idx: Any, value: Any) -> Any:
    return index_add_at(x, _cast(value, x), idx)


def index_multiply(x: Any, idx: Any, value: Any) -> Any:
    return index_multiply_at(x, _cast(value, x), idx)


def index_min(x: Any, idx: Any, value: Any) -> Any:
    return index_extreme_at(x, _cast(value, x), idx, np.minimum)


def index_max(x: Any, idx: Any, value: Any) -> Any:
    return index_extreme_at(x, _cast(value, x), idx, np.maximum)


def update_slice(x: Any, values: Any, start: Any, /, *, axis: int) -> Any:
    axis = axis % x.ndim
    steps = values.shape[axis]
    first = max(0, min(int(start), x.shape[axis] - steps))
    return slice_set_at(x, values, (slice(None),) * axis + (slice(first, first + steps),))


def segment_sum(x: Any, segment_ids: Any, /, *, num_segments: int) -> Any:
    return segment_sum_rows(x, segment_ids, num_segments)


def _cast(value: Any, x: Any) -> Any:
    """The value to write, in the dtype of the array it is written to."""
    if not hasattr(value, "dtype"):
        return np.asarray(fitted(value, x.dtype.name), dtype=x.dtype)
    if value.dtype.kind == "c" and x.dtype.kind != "c":
        raise refuse_dropping(value.dtype.name, x.dtype.name)
    return cast(value, x.dtype)
