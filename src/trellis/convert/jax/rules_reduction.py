"""Primitives of JAX that reduce, accumulate, sort and slide windows."""

from collections.abc import Sequence
from typing import Any

from ...graph import Value
from ..rules import Rules
from ..target import packed
from .builder import JaxBuilder

reduction_rules = Rules()


@reduction_rules("reduce_sum", "reduce_prod")
def reduce_sum(g: JaxBuilder, x: Value, *, axes: Sequence[int], **_: object) -> Value:
    """The data type stays, as it does for no small integer elsewhere."""
    if not axes:
        return x
    fn = g.t.sum if g.source == "reduce_sum" else g.t.prod
    kind = g.out[0].dtype
    if "int" in kind:
        return fn(x, axis=packed(axes), dtype=g.dtype(kind))
    return fn(x, axis=packed(axes))


@reduction_rules("reduce_max", "reduce_min", "reduce_and", "reduce_or")
def reduce_max(g: JaxBuilder, x: Value, *, axes: Sequence[int], **_: object) -> Value:
    if not axes:
        return x
    if x.dtype == "bool":
        name = {"reduce_max": "any", "reduce_or": "any"}.get(g.source, "all")
    else:
        name = {"reduce_max": "max", "reduce_min": "min"}[g.source]
    return getattr(g.t, name)(x, axis=packed(axes))  # type: ignore[no-any-return]


@reduction_rules("reduce_xor")
def reduce_xor(g: JaxBuilder, x: Value, *, axes: Sequence[int], **_: object) -> Value:
    """Of truth values: whether an odd number of them holds."""
    counts = g.t.sum(g.t.astype(x, "int32"), axis=packed(axes), dtype="int32")
    return g.t.equal(g.t.bitwise_and(counts, 1), 1)


@reduction_rules("argmax", "argmin")
def argmax(
    g: JaxBuilder, x: Value, *, axes: Sequence[int], index_dtype: object, **_: object
) -> Value:
    found = getattr(g.t, g.source)(x, axis=axes[0])
    return g.t.astype(found, g.dtype(g.out[0].dtype))


@reduction_rules("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def cumulative(g: JaxBuilder, x: Value, *, axis: int, reverse: bool, **_: object) -> Value:
    name = {"cumsum": "cumulative_sum", "cumprod": "cumulative_prod"}.get(g.source)
    if reverse:
        x = g.described(g.t.flip(x, axis=axis), x.shape, x.dtype)
    if name is None:
        made = g.s.accumulate(x, axis=axis, by=g.source[3:])
    elif "int" in g.out[0].dtype:
        made = getattr(g.t, name)(x, axis=axis, dtype=g.dtype(g.out[0].dtype))
    else:
        made = getattr(g.t, name)(x, axis=axis)
    return g.t.flip(made, axis=axis) if reverse else made  # type: ignore[no-any-return]


@reduction_rules("sort")
def sort(g: JaxBuilder, *xs: Value, dimension: int, num_keys: int, **_: object) -> Any:
    """The first `num_keys` arrays decide about the order of all."""
    if len(xs) == 1:
        return g.t.sort(xs[0], axis=dimension)
    order: Any = None
    for key in xs[num_keys - 1 :: -1] if num_keys > 1 else xs[:1]:
        seen = key if order is None else g.t.take_along_axis(key, order, axis=dimension)
        step = g.t.argsort(seen, axis=dimension, stable=True)
        order = step if order is None else g.t.take_along_axis(order, step, axis=dimension)
    return tuple([g.t.take_along_axis(x, order, axis=dimension) for x in xs])


@reduction_rules("top_k", "approx_top_k")
def top_k(g: JaxBuilder, x: Value, *, k: int, axis: int | None = None, **_: object) -> Any:
    pair = g.t.topk(x, k, axis=-1 if axis is None else axis)
    values, indices = g.items(pair, 2)
    return values, g.t.astype(indices, g.dtype(g.out[1].dtype))


@reduction_rules("reduce_window_max", "reduce_window_min", "reduce_window_sum")
@reduction_rules("reduce_window_mul")
def reduce_window(
    g: JaxBuilder,
    x: Value,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[Any],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    **_: object,
) -> Value:
    """Maximum pooling where the first and the last axis are left alone; else any windows."""
    window, strides = tuple(window_dimensions), tuple(window_strides)
    pads = tuple([tuple(pair) for pair in padding])
    by = g.source[len("reduce_window_") :]
    n = len(window) - 2
    outer = (0, len(window) - 1)
    is_pool = by == "max" and n in (1, 2, 3) and set(base_dilation) <= {1}
    is_pool = is_pool and set(window_dilation) <= {1} and "float" in g.out[0].dtype
    is_pool = is_pool and all([window[i] == 1 and strides[i] == 1 for i in outer])
    is_pool = is_pool and all([pads[i] == (0, 0) for i in outer])
    is_pool = is_pool and all([0 <= p < w for pair, w in zip(pads, window) for p in pair])
    if is_pool:
        inner = slice(1, -1)
        around: Any = "VALID" if not any([any(pair) for pair in pads]) else pads[inner]
        fn = getattr(g.F, f"max_pool{n}d")
        return fn(x, window[inner], strides[inner], around)  # type: ignore[no-any-return]
    return g.s.reduce_window(
        x, window, strides, pads, by=by,
        x_dilations=tuple(base_dilation), dilations=tuple(window_dilation),
    )  # fmt: skip


@reduction_rules("select_and_scatter_add")
def select_and_scatter_add(
    g: JaxBuilder,
    source: Value,
    x: Value,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[Any],
    select_prim: object,
    **_: object,
) -> Value:
    pads = tuple([tuple(pair) for pair in padding])
    by = "max" if str(select_prim).startswith("g") else "min"
    return g.s.select_and_scatter_add(
        source, x, tuple(window_dimensions), tuple(window_strides), pads, by=by
    )
