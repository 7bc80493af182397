"""Pools."""

from collections.abc import Sequence
from typing import Any

from ...graph import Value
from .builder import OnnxBuilder
from .table import rules
from .windows import Window


def _options(x: Value, attributes: dict[str, Any]) -> dict[str, Any]:
    window = Window(**attributes)
    sizes = window.sizes(x)
    return {"window": sizes, **window.options(x, sizes)}


@rules("MaxPool")
def max_pool(
    g: OnnxBuilder, x: Value, ceil_mode: int = 0, storage_order: int = 0, **attributes: Any
) -> Any:
    options = _options(x, attributes)
    pair = g.s.max_pool_with_places(
        x, ceil_mode=bool(ceil_mode), column_major=bool(storage_order),
        dtype=g.dtype("int64"), **options,
    )  # fmt: skip
    if max(options["dilations"]) == 1:
        del options["dilations"]
    if ceil_mode:
        options["ceil_mode"] = True
    return g.s.max_pool(x, **options), g.item(pair, 1)


@rules("AveragePool")
def avg_pool(
    g: OnnxBuilder, x: Value, ceil_mode: int = 0, count_include_pad: int = 0, **attributes: Any
) -> Value:
    options = _options(x, attributes)
    return g.s.avg_pool(
        x, ceil_mode=bool(ceil_mode), count_include_pad=bool(count_include_pad), **options
    )


@rules("LpPool")
def lp_pool(g: OnnxBuilder, x: Value, ceil_mode: int = 0, p: int = 2, **attributes: Any) -> Value:
    options = _options(x, attributes)
    powers = g.t.pow(g.t.abs(x), float(p))
    total = g.s.avg_pool(powers, ceil_mode=bool(ceil_mode), divisor=1, **options)
    return g.t.pow(total, 1.0 / p)


@rules("GlobalAveragePool")
def global_avg_pool(g: OnnxBuilder, x: Value) -> Value:
    return g.t.mean(x, axis=tuple(range(2, g.known_rank(x))), keepdims=True)


@rules("GlobalMaxPool")
def global_max_pool(g: OnnxBuilder, x: Value) -> Value:
    return g.t.max(x, axis=tuple(range(2, g.known_rank(x))), keepdims=True)


@rules("GlobalLpPool")
def global_lp_pool(g: OnnxBuilder, x: Value, p: int = 2) -> Value:
    axes = tuple(range(2, g.known_rank(x)))
    total = g.t.sum(g.t.pow(g.t.abs(x), float(p)), axis=axes, keepdims=True)
    return g.t.pow(total, 1.0 / p)


@rules("MaxUnpool")
def max_unpool(
    g: OnnxBuilder,
    x: Value,
    places: Value,
    shape: Value | None = None,
    kernel_shape: Sequence[int] = (),
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    dims = len(kernel_shape)
    return g.s.max_unpool(
        x, places, None if shape is None else g.integers(shape),
        window=tuple(kernel_shape), strides=tuple(strides) if strides else (1,) * dims,
        pads=tuple(pads) if pads else (0,) * (2 * dims),
    )  # fmt: skip
