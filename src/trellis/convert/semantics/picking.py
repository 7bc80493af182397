"""Reading and writing by index as ONNX means it; negative indices count from the end."""

import math
from collections.abc import Sequence
from typing import Any

import trellis as t

from ..._array.interchange import to_numpy
from ..._core.dispatch import xp_of
from ..._core.shapes import normal_axis
from ..._core.typing import Array
from ...functional._layout import along


def gathered(x: Array, indices: Array, /, *, axis: int = 0) -> Any:
    """Slices of `x` along an axis, by an array of any shape.

    >>> import numpy as np
    >>> gathered(np.array([5, 6, 7]), np.array([[0, -1]]))
    array([[5, 7]])
    """
    axis = normal_axis(axis, len(x.shape))
    return t.take(x, _from_begin(indices, x.shape[axis]), axis=axis)


def gathered_elements(x: Array, indices: Array, /, *, axis: int = 0) -> Any:
    """One element per index; other axes may be shorter than those of `x`."""
    axis = normal_axis(axis, len(x.shape))
    cut = [slice(None) if i == axis else slice(0, n) for i, n in enumerate(indices.shape)]
    if len(x.shape) > 1:
        x = x[tuple(cut)]
    return t.take_along_axis(x, _from_begin(indices, x.shape[axis]), axis=axis)


def gathered_points(
    x: Array, indices: Array, /, *, batch_dims: int = 0, from_end: bool = False
) -> Any:
    """Slices of `x` at points: the last axis of `indices` has one index per axis of `x`.

    With `batch_dims` the first axes of both go together; with `from_end` negative indices count
    from the end.

    >>> import numpy as np
    >>> gathered_points(np.array([[1, 2], [3, 4]]), np.array([[0, 1], [1, 0]]))
    array([2, 3])
    """
    index = _point_index(x, indices, batch_dims, from_end)
    sizes, rest = x.shape[: len(index)], x.shape[len(index) :]
    place = index[0]
    for i in range(1, len(index)):
        place = place * sizes[i] + index[i]
    rows = t.reshape(x, (math.prod(sizes), *rest))
    return t.take(rows, place, axis=0)


def scattered_points(
    x: Array, indices: Array, updates: Array, /, *, reduce: str = "set", from_end: bool = False
) -> Any:
    """`x` with slices at points changed; see `gathered_points`.

    >>> import numpy as np
    >>> scattered_points(np.zeros(3), np.array([[0], [0]]), np.ones(2), reduce="add")
    array([2., 0., 0.])
    """
    return getattr(t.at(x, _point_index(x, indices, 0, from_end)), reduce)(updates)


def written_at(x: Array, update: Array, places: Array | None = None, /, *, axis: int = -2,
               circular: bool = False) -> Any:  # fmt: skip
    """`x` with `update` written along an axis, for each of the batch from its own place on; with
    `circular` what reaches beyond the end continues at the beginning."""
    xp = xp_of(x)
    axis = normal_axis(axis, len(x.shape))
    count = update.shape[axis]
    steps = xp.arange(count, dtype="int32", device=xp.device(x))
    batch = x.shape[0]
    starts = (
        xp.zeros((batch,), dtype="int32", device=xp.device(x))
        if places is None
        else t.astype(places, "int32")
    )
    rows = t.expand_dims(starts, 1) + t.expand_dims(steps, 0)
    if circular:
        rows = t.remainder(rows, x.shape[axis])
    index = t.broadcast_to(along(xp, rows, (0, axis), len(x.shape)), tuple(update.shape))
    return t.put_along_axis(x, index, update, axis=axis)


def one_hot(indices: Array, depth: int, values: Array, /, *, axis: int = -1) -> Any:
    """`values[1]` at each index along a new axis, `values[0]` elsewhere; an index outside of
    [-depth, depth) is nowhere."""
    xp = xp_of(values)
    axis = normal_axis(axis, len(indices.shape) + 1)
    whole = t.astype(indices, "int32")
    whole = t.where(whole < 0, whole + depth, whole)
    row = xp.arange(depth, dtype="int32", device=xp.device(values))
    row = along(xp, row, (axis,), len(indices.shape) + 1)
    return t.where(t.expand_dims(whole, axis=axis) == row, values[1], values[0])


def nonzero(x: Array, /, *, dtype: str = "int64") -> Any:
    """The places of elements that are not zero: one row per axis."""
    found = t.stack(list(t.nonzero(x if len(x.shape) else t.reshape(x, (1,)))), axis=0)
    return t.astype(found if len(x.shape) else found[:0], dtype, copy=False)


def compressed(x: Array, condition: Array, /, *, axis: int | None = None) -> Any:
    """The slices along an axis (or the elements, in order) where a row of conditions holds."""
    if axis is None:
        x, axis = t.reshape(x, (-1,)), 0
    places = t.nonzero(condition)[0]
    return t.take(x, places, axis=axis)


def unique(
    x: Array, /, *, axis: int | None = None, in_order: bool = True, dtype: str = "int64"
) -> tuple[Any, Any, Any, Any]:
    """The different elements (or slices along an axis), where each is first found, which one each
    element is, and how often each occurs; in ascending order, or as they come.

    Its result has another shape for each input, so that it is computed outside of compiled code.
    """
    import numpy as np

    xp = xp_of(x)
    values, first, inverse, counts = np.unique(
        to_numpy(x), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not in_order:
        order = np.argsort(first)
        rank = np.argsort(order)
        values = np.take(values, order, axis=0 if axis is None else axis)
        first, counts, inverse = first[order], counts[order], rank[inverse]
    found = [xp.from_numpy(np.ascontiguousarray(values))]
    found += [xp.asarray(row.tolist(), dtype=dtype) for row in (first, inverse, counts)]
    return tuple(found)  # type: ignore[return-value]


def counted_grams(
    x: Array,
    /,
    *,
    pool: Sequence[int],
    begins: Sequence[int],
    places: Sequence[int],
    lengths: tuple[int, int],
    skips: int,
    mode: str,
    weights: Sequence[float] | None = None,
) -> Any:
    """How often each group of numbers of a pool occurs in each row (ONNX TfIdfVectorizer).

    `begins` says where in the pool groups of 1, 2, ... numbers begin, `places` where in the result
    each is counted; up to `skips` numbers may lie between those of a group. `mode` is "TF" for
    counts, "IDF" for weights, "TFIDF" for both.
    """
    import numpy as np

    xp = xp_of(x)
    rows = to_numpy(x)
    is_one = rows.ndim == 1
    rows = rows.reshape(1, -1) if is_one else rows
    grams: dict[tuple[int, ...], int] = {}
    for i, begin in enumerate(begins):
        end = begins[i + 1] if i + 1 < len(begins) else len(pool)
        for start in range(begin, end, i + 1):
            grams[tuple(pool[start : start + i + 1])] = len(grams)
    counts = np.zeros((len(rows), max(places) + 1), np.float32)
    for row, out in zip(rows.tolist(), counts):
        for length in range(lengths[0], lengths[1] + 1):
            for skip in range(1, (skips + 1 if length > 1 else 1) + 1):
                for start in range(len(row) - (length - 1) * skip):
                    gram = tuple(row[start : start + (length - 1) * skip + 1 : skip])
                    if gram in grams:
                        out[places[grams[gram]]] += 1
    scale = np.ones(counts.shape[1], np.float32)
    if weights is not None:
        for place, weight in zip(places, weights):
            scale[place] = weight
    if mode == "IDF":
        counts = (counts > 0) * scale
    elif mode == "TFIDF":
        counts = counts * scale
    return xp.from_numpy((counts[0] if is_one else counts).astype(np.float32))


def _point_index(x: Array, indices: Array, batch_dims: int, from_end: bool) -> tuple[Any, ...]:
    xp = xp_of(x)
    count = indices.shape[-1]
    rank = len(indices.shape) - 1
    index = []
    for i in range(batch_dims):
        row = xp.arange(indices.shape[i], dtype=indices.dtype, device=xp.device(x))
        index.append(t.broadcast_to(along(xp, row, (i,), rank), tuple(indices.shape[:-1])))
    for i in range(count):
        places = indices[..., i]
        index.append(_from_begin(places, x.shape[batch_dims + i]) if from_end else places)
    return tuple(index)


def _from_begin(indices: Array, size: int) -> Any:
    """Indices that count from the begin."""
    if str(t.dtype(indices)).startswith("u"):
        return indices
    return t.where(indices < 0, indices + size, indices)
