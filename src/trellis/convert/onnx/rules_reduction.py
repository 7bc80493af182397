"""Sums, extremes and other reductions; running sums; the places of extremes."""

from typing import Any

from ...graph import Value
from ..module import has_64_bits
from .builder import OnnxBuilder
from .table import rules


def _axes(g: OnnxBuilder, axes: Any, noop: int) -> Any:
    """Axes as an attribute or an input; None for all, () for none at all."""
    if isinstance(axes, Value):
        known = g.ints(axes)
        if known is None:
            return g.s.integers(axes) if noop else g.s.axes_of(axes)
        axes = known
    if axes is None or len(axes) == 0:
        return () if noop else None
    return tuple(axes)


def _reduction(name: str) -> Any:
    def rule(
        g: OnnxBuilder,
        x: Value,
        given: Value | None = None,
        axes: Any = None,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Value:
        where = _axes(g, given if given is not None else axes, noop_with_empty_axes)
        if isinstance(where, tuple) and not where and name in ("max", "min", "mean", "sum", "prod"):
            return x
        options = {"axis": where, "keepdims": bool(keepdims)}
        return _reduced(g, name, x, options)

    return rule


def _reduced(g: OnnxBuilder, name: str, x: Value, options: dict[str, Any]) -> Value:
    is_float = g.is_float(x)
    if name in ("sum", "prod"):
        if not is_float:
            options["dtype"] = g.dtype(x.dtype or "int64")
        return getattr(g.t, name)(x, **options)
    if name in ("max", "min"):
        if x.dtype == "bool":
            return (g.t.any if name == "max" else g.t.all)(x, **options)
        if g.sizes(x) is None or 0 in (g.sizes(x) or ()):
            return g.s.extreme_or_limit(x, is_largest=name == "max", **options)
        return getattr(g.t, name)(x, **options)
    if name == "mean":
        if is_float:
            return g.t.mean(x, **options)
        return g.s.integer_mean(x, **options)
    if name in ("square_sum", "abs_sum"):
        sizes = g.t.square(x) if name == "square_sum" else g.t.abs(x)
        return _reduced(g, "sum", g.described(sizes, x.shape, x.dtype), options)
    # What follows leaves the integers: computed in float, kept in the type of x.
    wide = x if is_float else g.cast(x, "float64" if has_64_bits(g.to) else "float32")
    if name == "norm":
        y = g.t.sqrt(g.t.sum(g.t.square(wide), **options))
    elif name == "log_sum":
        y = g.t.log(g.t.sum(wide, **options))
    else:
        y = g.t.logsumexp(wide, **options)
    return y if is_float else g.t.astype(y, g.dtype(x.dtype or "int64"))


for _op, _name in {
    "ReduceSum": "sum", "ReduceProd": "prod", "ReduceMax": "max", "ReduceMin": "min",
    "ReduceMean": "mean", "ReduceSumSquare": "square_sum", "ReduceL1": "abs_sum",
    "ReduceL2": "norm", "ReduceLogSum": "log_sum", "ReduceLogSumExp": "logsumexp",
}.items():  # fmt: skip
    rules(_op)(_reduction(_name))


def _running(name: str) -> Any:
    def rule(g: OnnxBuilder, x: Value, axis: Value, exclusive: int = 0, reverse: int = 0) -> Value:
        where = g.integer(axis)
        options = {"axis": where, "exclusive": bool(exclusive), "reverse": bool(reverse)}
        if exclusive or reverse:
            return g.s.running(x, by=name, **options)
        kind = None if g.is_float(x) else g.dtype(x.dtype or "int64")
        return getattr(g.t, f"cumulative_{name}")(x, axis=where, dtype=kind)

    return rule


rules("CumSum")(_running("sum"))
rules("CumProd")(_running("prod"))


def _place(name: str) -> Any:
    def rule(
        g: OnnxBuilder, x: Value, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
    ) -> Value:
        options = {"axis": axis, "keepdims": bool(keepdims)}
        if select_last_index:
            return g.s.last_place(x, is_largest=name == "argmax", **options)
        return g.t.astype(getattr(g.t, name)(x, **options), g.dtype("int64"), copy=False)

    return rule


rules("ArgMax")(_place("argmax"))
rules("ArgMin")(_place("argmin"))


@rules("TopK")
def top_k(
    g: OnnxBuilder, x: Value, k: Value, axis: int = -1, largest: int = 1, sorted: int = 1
) -> tuple[Value, ...]:
    pair = g.t.topk(x, g.integer(k), axis=axis, largest=bool(largest))
    return g.items(pair, 2)
