"""Arithmetic, comparisons and functions of single elements."""

from typing import Any

import trellis

from ..._core.typing import Scalar
from ...graph import Value
from .builder import Operand, Tensor, TorchBuilder
from .table import rule

_UNARY = {
    "abs": "abs", "acos": "acos", "arccos": "acos", "acosh": "acosh", "arccosh": "acosh",
    "asin": "asin", "arcsin": "asin", "asinh": "asinh", "arcsinh": "asinh", "atan": "atan",
    "arctan": "atan", "atanh": "atanh", "arctanh": "atanh", "ceil": "ceil", "cos": "cos",
    "cosh": "cosh", "erf": "erf", "exp": "exp", "expm1": "expm1", "floor": "floor", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "neg": "negative", "negative": "negative",
    "reciprocal": "reciprocal", "round": "round", "rsqrt": "rsqrt", "sign": "sign", "sgn": "sign",
    "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "tan": "tan", "tanh": "tanh",
    "trunc": "trunc", "fix": "trunc", "conj": "conj", "conj_physical": "conj",
    "_conj": "conj", "_conj_physical": "conj", "absolute": "abs", "special_expm1": "expm1",
    "special_log1p": "log1p", "special_erf": "erf", "erfc": "erfc", "special_erfc": "erfc",
    "erfinv": "erfinv", "special_erfinv": "erfinv", "positive": "positive",
}  # fmt: skip
# Those with a result of another type than their argument: no cast.
_QUESTIONS = {
    "isnan": "isnan", "isfinite": "isfinite", "isinf": "isinf", "signbit": "signbit",
    "real": "real", "imag": "imag", "view_as_real_copy": "real",
}  # fmt: skip
_BINARY = {
    "add": "add", "sub": "subtract", "subtract": "subtract", "mul": "multiply",
    "multiply": "multiply", "maximum": "maximum", "minimum": "minimum", "atan2": "atan2",
    "arctan2": "atan2", "fmod": "fmod", "remainder": "remainder", "hypot": "hypot",
    "logaddexp": "logaddexp", "copysign": "copysign", "nextafter": "nextafter",
    "fmax": "maximum", "fmin": "minimum",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift", "__lshift__": "bitwise_left_shift",
    "bitwise_right_shift": "bitwise_right_shift", "__rshift__": "bitwise_right_shift",
}  # fmt: skip
_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "not_equal": "not_equal", "lt": "less", "less": "less",
    "le": "less_equal", "less_equal": "less_equal", "gt": "greater", "greater": "greater",
    "ge": "greater_equal", "greater_equal": "greater_equal",
}  # fmt: skip
_LOGICAL = ("logical_and", "logical_or", "logical_xor")


def _of_one(name: str, cast: bool = True) -> Any:
    def convert(g: TorchBuilder, x: Tensor, **_: object) -> Any:
        is_kept = not cast or "complex" in (x.dtype or "")  # abs of a complex number is real
        return getattr(g.t, name)(x if is_kept else g.cast(x, g.out.dtype))

    return convert


def _of_two(name: str) -> Any:
    def convert(g: TorchBuilder, x: Tensor, y: Operand, alpha: Scalar = 1) -> Any:
        if alpha != 1:
            y = y * alpha if isinstance(y, (int, float)) else g.t.multiply(g.alike(y)[0], alpha)
        return getattr(g.t, name)(*as_arrays(g, *g.alike(x, y)))

    return convert


def _comparing(name: str) -> Any:
    def convert(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
        return getattr(g.t, name)(*as_arrays(g, *g.alike(x, y, dtype=g.promoted(x, y))))

    return convert


def _logical(name: str) -> Any:
    def convert(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
        return getattr(g.t, name)(as_bool(g, x), as_bool(g, y))

    return convert


for _source, _name in _UNARY.items():
    if hasattr(trellis, _name):
        rule(f"aten.{_source}")(_of_one(_name))
for _source, _name in _QUESTIONS.items():
    rule(f"aten.{_source}")(_of_one(_name, cast=False))
for _source, _name in _BINARY.items():
    rule(f"aten.{_source}")(_of_two(_name))
for _source, _name in _COMPARISONS.items():
    rule(f"aten.{_source}")(_comparing(_name))
for _source in _LOGICAL:
    rule(f"aten.{_source}")(_logical(_source))


def as_bool(g: TorchBuilder, x: Operand) -> Any:
    """A number counts as true unless it is zero."""
    if isinstance(x, Value) and x.dtype not in (None, "bool"):
        return g.noted(g.t.not_equal(x, 0), x.shape, "bool")
    return x


def as_arrays(g: TorchBuilder, *xs: Operand) -> tuple[Any, ...]:
    """The same, with an array among them: of plain numbers alone the first becomes one."""
    if any([isinstance(x, Value) and x.dtype is not None for x in xs]):
        return xs
    first = g.t.asarray(xs[0], dtype=g.dtype(g.out.dtype), backend=g.to)
    return (first, *xs[1:])


@rule("aten.rsub")
def rsub(g: TorchBuilder, x: Tensor, y: Operand, alpha: Scalar = 1) -> Any:
    x, y = g.alike(x, y)
    return g.t.subtract(y, x if alpha == 1 else g.t.multiply(x, alpha))


@rule("aten.div", "aten.divide", "aten.true_divide")
def div(g: TorchBuilder, x: Tensor, y: Operand, rounding_mode: str | None = None) -> Any:
    names = {None: "divide", "floor": "floor_divide", "trunc": "truncate_divide"}
    x, y = as_arrays(g, *g.alike(x, y))
    return getattr(g.t, names[rounding_mode])(x, y)


@rule("aten.floor_divide")
def floor_divide(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
    return g.t.floor_divide(*as_arrays(g, *g.alike(x, y)))


@rule("aten.pow", "aten.float_power")
def power(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
    x, y = as_arrays(g, *g.alike(x, y))
    simple = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    if isinstance(y, (int, float)):
        if y in simple:
            return getattr(g.t, simple[y])(x)
        if y == 3:  # much quicker than a general power
            return g.t.multiply(g.t.square(x), x)
        if y == 1:
            return x
    return g.t.pow(x, y)


@rule("aten.max.other", "aten.min.other")
def extreme(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
    name = "maximum" if "max" in g.source else "minimum"
    return getattr(g.t, name)(*g.alike(x, y))


@rule("aten.logical_not")
def logical_not(g: TorchBuilder, x: Tensor) -> Any:
    if x.dtype not in (None, "bool"):
        return g.t.equal(x, 0)
    return g.t.logical_not(x)


@rule("aten.bitwise_not", "aten.__invert__")
def bitwise_not(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.logical_not(x) if x.dtype == "bool" else g.t.bitwise_invert(x)


@rule("aten.isneginf", "aten.isposinf")
def is_signed_infinity(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.equal(x, float("-inf") if "neg" in g.source else float("inf"))


@rule("aten.exp2", "aten.special_exp2")
def exp2(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.pow(2.0, g.cast(x, g.out.dtype))


@rule("aten.frac")
def frac(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.subtract(x, g.t.trunc(x))


@rule("aten.round.decimals")
def round_to(g: TorchBuilder, x: Tensor, decimals: int = 0) -> Any:
    if decimals == 0:
        return g.t.round(x)
    return g.t.divide(g.t.round(g.t.multiply(x, 10.0**decimals)), 10.0**decimals)


@rule("aten.xlogy", "aten.special_xlogy")
def xlogy(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
    x, y = g.alike(x, y)
    both = g.t.logical_and(g.t.equal(x, 0), g.t.equal(y, 0))
    return g.t.multiply(x, g.t.log(g.t.where(both, 1.0, y)))


@rule("aten.lerp")
def lerp(g: TorchBuilder, start: Operand, end: Operand, weight: Operand) -> Any:
    return g.t.add(start, g.t.multiply(g.t.subtract(end, start), weight))


@rule("aten.addcmul", "aten.addcdiv")
def add_combined(g: TorchBuilder, x: Tensor, y: Operand, z: Operand, value: Operand = 1) -> Any:
    y, z = g.alike(y, z)
    term = g.t.multiply(y, z) if "addcmul" in g.source else g.t.divide(y, z)
    return g.t.add(x, term if value == 1 else g.t.multiply(term, value))


@rule("aten.clamp", "aten.clip")
def clamp(
    g: TorchBuilder, x: Tensor, min: Operand | None = None, max: Operand | None = None
) -> Any:
    x, min, max = [g.cast(i, g.out.dtype) for i in (x, min, max)]
    return g.t.clip(x, min, max)


@rule("aten.clamp_min")
def clamp_min(g: TorchBuilder, x: Tensor, min: Operand) -> Any:
    return g.t.maximum(*[g.cast(i, g.out.dtype) for i in (x, min)])


@rule("aten.clamp_max")
def clamp_max(g: TorchBuilder, x: Tensor, max: Operand) -> Any:
    return g.t.minimum(*[g.cast(i, g.out.dtype) for i in (x, max)])


@rule("aten.where")
def where(
    g: TorchBuilder, condition: Tensor, x: Tensor | None = None, y: Operand | None = None
) -> Any:
    if x is None:
        found = g.t.nonzero(condition)
        return tuple([g.item(found, i) for i in range(len(condition.shape))])
    x, y = as_arrays(g, g.cast(x, g.out.dtype), g.cast(y, g.out.dtype))
    return g.t.where(as_bool(g, condition), x, y)


@rule("aten.masked_fill")
def masked_fill(g: TorchBuilder, x: Tensor, mask: Tensor, value: Operand) -> Any:
    return g.t.where(as_bool(g, mask), g.cast(value, x.dtype), x)


@rule("aten.nan_to_num")
def nan_to_num(g: TorchBuilder, x: Tensor, nan: float | None = None, posinf: float | None = None,
               neginf: float | None = None) -> Any:  # fmt: skip
    return g.t.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)


@rule("aten.polar")
def polar(g: TorchBuilder, size: Tensor, angle: Tensor) -> Any:
    return complex_of(g, g.t.multiply(size, g.t.cos(angle)), g.t.multiply(size, g.t.sin(angle)))


@rule("aten.complex")
def complex_of(g: TorchBuilder, real: Tensor, imag: Tensor) -> Any:
    parts = [g.t.astype(part, g.out.dtype) for part in (real, imag)]
    return g.t.add(parts[0], g.t.multiply(parts[1], 1j))


@rule("aten.view_as_complex")
def view_as_complex(g: TorchBuilder, x: Tensor) -> Any:
    return complex_of(g, g.item(x, (..., 0)), g.item(x, (..., 1)))


@rule("aten.view_as_real")
def view_as_real(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.stack([g.t.real(x), g.t.imag(x)], axis=-1)


@rule("aten.angle")
def angle(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.atan2(g.t.imag(x), g.t.real(x))
