"""Quantized numbers and products of small integers."""

from typing import Any

from ...graph import Value
from .builder import OnnxBuilder
from .rules_elementwise import cast_to
from .table import SMALL, TYPES, rules
from .windows import Window


def _name(number: int | None) -> str | None:
    return TYPES[number] if number else None


@rules("QuantizeLinear")
def quantize(
    g: OnnxBuilder,
    x: Value,
    scale: Value,
    zero: Value | None = None,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int | None = None,
    precision: int | None = None,
    saturate: int = 1,
) -> Value:
    kind = _name(output_dtype) or (zero.dtype if zero is not None else None) or "uint8"
    zeros = zero if zero is None or zero.dtype not in SMALL else cast_to(g, zero, "float32")
    y = g.s.quantized(
        x, scale, zeros, dtype=kind if kind not in SMALL else None, axis=axis, block=block_size,
        limits=_limits(kind), precision=_name(precision),
    )  # fmt: skip
    return g.s.cast_small(y, kind, saturate=bool(saturate)) if kind in SMALL else y


@rules("DequantizeLinear")
def dequantize(
    g: OnnxBuilder,
    x: Value,
    scale: Value,
    zero: Value | None = None,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int | None = None,
) -> Value:
    x = cast_to(g, x, "float32") if x.dtype in SMALL else x
    zeros = zero if zero is None or zero.dtype not in SMALL else cast_to(g, zero, "float32")
    kind = _name(output_dtype) or scale.dtype or "float32"
    scale = cast_to(g, scale, "float32") if scale.dtype in SMALL else scale
    return g.s.dequantized(x, scale, zeros, dtype=kind, axis=axis, block=block_size)


@rules("DynamicQuantizeLinear")
def dynamic_quantize(g: OnnxBuilder, x: Value) -> tuple[Value, ...]:
    found = g.s.quantized_by_range(x)
    return g.items(found, 3)


@rules("MatMulInteger")
def matmul_integer(
    g: OnnxBuilder,
    a: Value,
    b: Value,
    a_zero: Value | None = None,
    b_zero: Value | None = None,
) -> Value:
    return g.s.integer_matmul(a, b, a_zero, b_zero)


@rules("ConvInteger")
def conv_integer(
    g: OnnxBuilder,
    x: Value,
    w: Value,
    x_zero: Value | None = None,
    w_zero: Value | None = None,
    group: int = 1,
    **attributes: Any,
) -> Value:
    window = Window(**attributes)
    options = window.options(x, window.sizes(w))
    return g.s.integer_convolution(x, w, x_zero, w_zero, groups=group, **options)


@rules("QLinearMatMul")
def quantized_matmul(
    g: OnnxBuilder,
    a: Value,
    a_scale: Value,
    a_zero: Value,
    b: Value,
    b_scale: Value,
    b_zero: Value,
    y_scale: Value,
    y_zero: Value,
) -> Value:
    total = g.s.integer_matmul(a, b, a_zero, b_zero)
    return _requantized(g, total, a_scale, b_scale, y_scale, y_zero, axis=None)


@rules("QLinearConv")
def quantized_conv(
    g: OnnxBuilder,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    w: Value,
    w_scale: Value,
    w_zero: Value,
    y_scale: Value,
    y_zero: Value,
    b: Value | None = None,
    group: int = 1,
    **attributes: Any,
) -> Value:
    window = Window(**attributes)
    options = window.options(x, window.sizes(w))
    total = g.s.integer_convolution(x, w, x_zero, w_zero, b, groups=group, **options)
    return _requantized(g, total, x_scale, w_scale, y_scale, y_zero, axis=1)


def _requantized(
    g: OnnxBuilder, total: Value, x_scale: Value, w_scale: Value, y_scale: Value, y_zero: Value,
    axis: int | None,
) -> Value:  # fmt: skip
    kind = y_zero.dtype or "uint8"
    return g.s.requantized(
        total, x_scale, w_scale, y_scale, y_zero, dtype=kind, limits=_limits(kind), axis=axis
    )


def _limits(kind: str) -> tuple[int, int] | None:
    """The lowest and highest number of an integer type."""
    if "float" in kind:
        return None
    bits = int(kind.lstrip("uint"))
    return (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
