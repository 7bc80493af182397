"""Element by element: arithmetic, comparisons, bits, types."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError
from ...graph import Value
from .builder import OnnxBuilder
from .table import SMALL, TYPES, rules

rules.add_named("onnx", "{}", lambda op: lambda g, *xs: g.named(op.name)(*xs))


@rules("Identity")
def identity(g: OnnxBuilder, x: Value) -> Value:
    return x


@rules("Div")
def divide(g: OnnxBuilder, x: Value, y: Value) -> Value:
    return g.t.divide(x, y) if g.is_float(x) else g.t.truncate_divide(x, y)


@rules("Mod")
def modulo(g: OnnxBuilder, x: Value, y: Value, fmod: int = 0) -> Value:
    return g.t.fmod(x, y) if fmod else g.t.remainder(x, y)


@rules("Pow")
def power(g: OnnxBuilder, x: Value, y: Value) -> Value:
    exponent = g.number(y)
    if (
        isinstance(exponent, (int, float))
        and g.is_float(x)
        and (g.rank(y) or 0) <= (g.rank(x) or 0)
    ):
        if exponent == 2:
            return g.t.square(x)
        if exponent == 0.5:
            return g.t.sqrt(x)
    if x.dtype is None or x.dtype == y.dtype:
        return g.t.pow(x, y)
    if g.is_float(x):
        return g.t.pow(x, g.cast(y, x.dtype))
    # Integers to the power of fractions: computed as fractions, kept as integers.
    kind = y.dtype if g.is_float(y) and y.dtype else x.dtype
    z = g.t.pow(g.cast(x, kind), g.cast(y, kind))
    return g.t.astype(z, g.dtype(x.dtype))


def _folded(name: str) -> Any:
    def rule(g: OnnxBuilder, *xs: Value) -> Value:
        total = xs[0]
        for x in xs[1:]:
            total = getattr(g.t, name)(total, x)
        return total

    return rule


for _op, _name in {"Max": "maximum", "Min": "minimum", "Sum": "add"}.items():
    rules(_op)(_folded(_name))


@rules("Mean")
def mean(g: OnnxBuilder, *xs: Value) -> Value:
    return g.t.divide(_folded("add")(g, *xs), float(len(xs)))


@rules("IsInf")
def is_infinite(
    g: OnnxBuilder, x: Value, detect_negative: int = 1, detect_positive: int = 1
) -> Value:
    if detect_negative and detect_positive:
        return g.t.isinf(x)
    if detect_negative:
        return g.t.equal(x, -math.inf)
    if detect_positive:
        return g.t.equal(x, math.inf)
    return g.t.zeros_like(x, dtype="bool")


@rules("BitShift")
def shift(g: OnnxBuilder, x: Value, y: Value, direction: str = "LEFT") -> Value:
    if x.dtype is None or x.dtype.startswith("int"):
        return g.s.shifted(x, y, right=direction == "RIGHT")
    if direction == "LEFT":
        return g.t.bitwise_left_shift(x, y)
    return g.t.bitwise_right_shift(x, y)


@rules("Clip")
def clip(
    g: OnnxBuilder,
    x: Value,
    low: Value | None = None,
    high: Value | None = None,
    min: float | None = None,
    max: float | None = None,
) -> Value:
    # Not a call of clip: where low > high, high wins.
    lowest, highest = g.number(low, min), g.number(high, max)
    if isinstance(lowest, (int, float)) and isinstance(highest, (int, float)):
        if lowest <= highest and g.is_float(x):
            return g.t.clip(x, lowest, highest)
    y = x if lowest is None else g.t.maximum(x, lowest)
    return y if highest is None else g.t.minimum(y, highest)


@rules("Cast")
def cast(g: OnnxBuilder, x: Value, to: int = 1, saturate: int = 1, round_mode: str = "up") -> Value:
    return cast_to(g, x, TYPES.get(to, "unknown"), saturate=bool(saturate), round_mode=round_mode)


@rules("CastLike")
def cast_like(
    g: OnnxBuilder, x: Value, y: Value, saturate: int = 1, round_mode: str = "up"
) -> Value:
    if y.dtype is None:
        return g.s.cast_like(x, y)
    return cast_to(g, x, y.dtype, saturate=bool(saturate), round_mode=round_mode)


def cast_to(
    g: OnnxBuilder, x: Value, name: str, *, saturate: bool = True, round_mode: str = "up"
) -> Value:
    """The value in another type; nothing to do where it has that type."""
    if name == "str" or x.dtype == "str":
        raise NotSupportedError("strings are not converted to numbers or back")
    if x.dtype == name:
        return x
    if x.dtype in SMALL or name in SMALL:
        return g.s.cast_small(x, name, saturate=saturate, round_mode=round_mode)
    return g.t.astype(x, g.dtype(name))


@rules("BitCast")
def bit_cast(g: OnnxBuilder, x: Value, to: int = 1) -> Value:
    return g.s.bit_cast(x, TYPES.get(to, "unknown"))


@rules("Constant")
def constant(
    g: OnnxBuilder,
    value: np.ndarray | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[float] | None = None,
    **other: Any,
) -> Value:
    if other:
        raise NotSupportedError(f"a constant given as {next(iter(other))}")
    if value is not None:
        return g.constant(value)
    for content, kind in (
        (value_float, np.float32),
        (value_floats, np.float32),
        (value_int, np.int64),
        (value_ints, np.int64),
    ):
        if content is not None:
            return g.constant(np.array(content, kind))
    raise NotSupportedError("a constant without a value")
