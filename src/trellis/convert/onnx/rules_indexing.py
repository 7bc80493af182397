"""Reading and writing by index."""

from collections.abc import Sequence

import numpy as np

from ...graph import Value
from .builder import OnnxBuilder
from .table import rules

_REDUCTIONS = {"none": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}


@rules("Gather")
def gather(g: OnnxBuilder, x: Value, indices: Value, axis: int = 0) -> Value:
    known = g.array(indices)
    if known is not None and np.ndim(known) == 0 and x.shape is not None:
        place = int(known)
        before = (slice(None),) * (axis % len(x.shape))
        return g.item(x, (*before, place))
    if known is not None and known.size and known.min() >= 0 and np.ndim(known) == 1:
        return g.t.take(x, indices, axis=axis)
    return g.s.gathered(x, indices, axis=axis)


@rules("GatherElements")
def gather_elements(g: OnnxBuilder, x: Value, indices: Value, axis: int = 0) -> Value:
    return g.s.gathered_elements(x, indices, axis=axis)


@rules("GatherND")
def gather_nd(g: OnnxBuilder, x: Value, indices: Value, batch_dims: int = 0) -> Value:
    return g.s.gathered_points(x, indices, batch_dims=batch_dims, from_end=True)


@rules("Scatter", "ScatterElements")
def scatter_elements(
    g: OnnxBuilder,
    x: Value,
    indices: Value,
    updates: Value,
    axis: int = 0,
    reduction: str = "none",
) -> Value:
    return g.t.put_along_axis(x, indices, updates, axis=axis, reduce=_REDUCTIONS[reduction])


@rules("ScatterND")
def scatter_nd(
    g: OnnxBuilder, x: Value, indices: Value, updates: Value, reduction: str = "none"
) -> Value:
    return g.s.scattered_points(x, indices, updates, reduce=_REDUCTIONS[reduction], from_end=True)


@rules("TensorScatter")
def tensor_scatter(
    g: OnnxBuilder,
    x: Value,
    update: Value,
    places: Value | None = None,
    axis: int = -2,
    mode: str = "linear",
) -> Value:
    return g.s.written_at(x, update, places, axis=axis, circular=mode == "circular")


@rules("OneHot")
def one_hot(g: OnnxBuilder, indices: Value, depth: Value, values: Value, axis: int = -1) -> Value:
    return g.s.one_hot(indices, g.integer(depth), values, axis=axis)


@rules("NonZero")
def nonzero(g: OnnxBuilder, x: Value) -> Value:
    return g.s.nonzero(x, dtype=g.dtype("int64"))


@rules("Compress")
def compress(g: OnnxBuilder, x: Value, condition: Value, axis: int | None = None) -> Value:
    return g.s.compressed(x, condition, axis=axis)


@rules("Unique")
def unique(g: OnnxBuilder, x: Value, axis: int | None = None, sorted: int = 1) -> tuple[Value, ...]:
    found = g.s.unique(x, axis=axis, in_order=bool(sorted), dtype=g.dtype("int64"))
    return g.items(found, 4)


@rules("TfIdfVectorizer")
def count_words(
    g: OnnxBuilder,
    x: Value,
    max_gram_length: int = 1,
    max_skip_count: int = 0,
    min_gram_length: int = 1,
    mode: str = "TF",
    ngram_counts: Sequence[int] = (),
    ngram_indexes: Sequence[int] = (),
    pool_int64s: Sequence[int] = (),
    pool_strings: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
) -> Value:
    from ..._core.errors import NotSupportedError

    if pool_strings is not None:
        raise NotSupportedError("strings are not read")
    return g.s.counted_grams(
        x,
        pool=tuple(pool_int64s),
        begins=tuple(ngram_counts),
        places=tuple(ngram_indexes),
        lengths=(min_gram_length, max_gram_length),
        skips=max_skip_count,
        mode=mode,
        weights=None if weights is None else tuple(weights),
    )
