"""Primitives of JAX that reduce, accumulate, sort and slide windows."""

from collections.abc import Sequence
from typing import Any

from ...graph import Value
from ..rules import Rules
from ..target import packed
from .builder import JaxBuilder

reduction_rules = Rules()


@reduction_rules("reduce_sum", "reduce_prod")
def reduce_sum(g: JaxBuilder, x: Value, *, axes: Sequence[int]) -> Value:
    """The data type stays, as it does for no small integer elsewhere."""
    if not axes:
        return x
    fn = g.t.sum if g.source == "reduce_sum" else g.t.prod
    kind = g.out[0].dtype
    if "int" in kind:
        return fn(x, axis=packed(axes), dtype=g.dtype(kind))
    return fn(x, axis=packed(axes))


@reduction_rules("reduce_max", "reduce_min", "reduce_and", "reduce_or")
def reduce_max(g: JaxBuilder, x: Value, *, axes: Sequence[int]) -> Value:
    if not axes:
        return x
    word = g.source[len("reduce_") :]
    if x.dtype != "bool" and word in ("and", "or"):
        return g.s.reduced_by_bits(x, axis=tuple(axes), by=word)
    if x.dtype == "bool":
        name = {"reduce_max": "any", "reduce_or": "any"}.get(g.source, "all")
    else:
        name = {"reduce_max": "max", "reduce_min": "min"}[g.source]
    return getattr(g.t, name)(x, axis=packed(axes))  # type: ignore[no-any-return]


@reduction_rules("reduce_xor")
def reduce_xor(g: JaxBuilder, x: Value, *, axes: Sequence[int]) -> Value:
    """Of truth values: whether an odd number of them holds."""
    if x.dtype != "bool":
        return g.s.reduced_by_bits(x, axis=tuple(axes), by="xor")
    counts = g.t.sum(g.t.astype(x, "int32"), axis=packed(axes), dtype="int32")
    return g.t.equal(g.t.bitwise_and(counts, 1), 1)


@reduction_rules("argmax", "argmin")
def argmax(g: JaxBuilder, x: Value, *, axes: Sequence[int]) -> Value:
    found = getattr(g.t, g.source)(x, axis=axes[0])
    return g.t.astype(found, g.dtype(g.out[0].dtype))


@reduction_rules("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def cumulative(g: JaxBuilder, x: Value, *, axis: int, reverse: bool) -> Value:
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
def sort(g: JaxBuilder, *xs: Value, dimension: int, num_keys: int) -> Any:
    """The first `num_keys` arrays decide about the order of all; complex numbers by their real
    parts, then by the others."""
    keys: list[Value] = []
    for x in xs[:num_keys]:
        is_complex = x.dtype is not None and x.dtype.startswith("complex")
        keys += [g.t.real(x), g.t.imag(x)] if is_complex else [x]
    if len(xs) == 1 and len(keys) == 1:
        return g.t.sort(xs[0], axis=dimension)
    order: Any = None
    for key in keys[::-1]:
        seen = key if order is None else g.t.take_along_axis(key, order, axis=dimension)
        step = g.t.argsort(seen, axis=dimension, stable=True)
        order = step if order is None else g.t.take_along_axis(order, step, axis=dimension)
    return tuple([g.t.take_along_axis(x, order, axis=dimension) for x in xs])


@reduction_rules("top_k")
def top_k(g: JaxBuilder, x: Value, *, k: int, axis: int = -1) -> Any:
    kind = g.dtype(g.out[1].dtype)
    if "float" in g.out[0].dtype:
        return g.items(g.s.top_of_all(x, k, axis=axis, dtype=kind), 2)
    values, indices = g.items(g.t.topk(x, k, axis=axis), 2)
    return values, g.t.astype(indices, kind)


@reduction_rules("approx_top_k")
def approx_top_k(
    g: JaxBuilder, x: Value, *, k: int, reduction_dimension: int, is_max_k: bool
) -> Any:
    """On CPUs, where nothing is approximate."""
    found = g.t.topk(x, k, axis=reduction_dimension, largest=is_max_k)
    values, indices = g.items(found, 2)
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
) -> Value:
    pads = tuple([tuple(pair) for pair in padding])
    by = "max" if str(select_prim).startswith("g") else "min"
    return g.s.select_and_scatter_add(
        source, x, tuple(window_dimensions), tuple(window_strides), pads, by=by
    )
