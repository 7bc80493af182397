"""Arithmetic, comparisons and functions of single elements."""

import math
from typing import Any

from ..._core.typing import Scalar
from ..._ops import record
from ..._ops.record import Op
from ...graph import Value
from ..rules import Rule
from .builder import Operand, Tensor, TorchBuilder
from .table import rule


def _named(op: Op) -> Rule:
    """The rule for an operation that is one of ours, by the kind of its types."""
    return _RULES[op.kind](op) if op.kind in _RULES else lambda g, x: g.named(op.name)(x)


def _of_one(op: Op) -> Rule:
    def convert(g: TorchBuilder, x: Tensor) -> Value:
        is_kept = "complex" in (x.dtype or "")  # abs of a complex number is real
        return g.named(op.name)(x if is_kept else g.cast(x, g.out.dtype))

    return convert


def _of_two(op: Op) -> Rule:
    def convert(g: TorchBuilder, x: Tensor, y: Operand, alpha: Scalar = 1) -> Value:
        if alpha != 1:
            y = y * alpha if isinstance(y, (int, float)) else g.t.multiply(g.alike(y)[0], alpha)
        return g.named(op.name)(*as_arrays(g, *g.alike(x, y)))

    return convert


def _comparing(op: Op) -> Rule:
    def convert(g: TorchBuilder, x: Tensor, y: Operand) -> Value:
        return g.named(op.name)(*as_arrays(g, *g.alike(x, y, dtype=g.promoted(x, y))))

    return convert


def _logical(op: Op) -> Rule:
    def convert(g: TorchBuilder, x: Tensor, y: Operand) -> Value:
        return g.named(op.name)(as_bool(g, x), as_bool(g, y))

    return convert


_RULES = {
    **dict.fromkeys((record.FLOATS, record.LIKE), _of_one),
    **dict.fromkeys((record.PROMOTED, record.ORDERED, record.FLOAT_PAIR), _of_two),
    **dict.fromkeys((record.EQUALITY, record.COMPARISON), _comparing),
    record.LOGICAL: _logical,
}
rule.add_named("torch", "aten.{}", _named)


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
    x, y = as_arrays(g, *g.alike(x, y))
    if rounding_mode == "floor":
        return _floored(g, x, y)
    return g.t.divide(x, y) if rounding_mode is None else g.t.truncate_divide(x, y)


@rule("aten.floor_divide")
def floor_divide(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
    return _floored(g, *as_arrays(g, *g.alike(x, y)))


def _floored(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
    is_whole = "int" in (g.out.dtype or "") or isinstance(y, int)
    return g.t.floor_divide(x, y) if is_whole else g.s.floor_divided(x, y)


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


@rule("aten.fmax", "aten.fmin")
def extreme_number(g: TorchBuilder, x: Tensor, y: Tensor) -> Any:
    """Of a number and nan the number."""
    x, y = g.alike(x, y)
    both = g.t.maximum(x, y) if "fmax" in g.source else g.t.minimum(x, y)
    return g.t.where(g.t.isnan(x), y, g.t.where(g.t.isnan(y), x, both))


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


@rule("aten.frac")
def frac(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.subtract(x, g.t.trunc(x))


@rule("aten.round.decimals")
def round_to(g: TorchBuilder, x: Tensor, decimals: int = 0) -> Any:
    if decimals == 0:
        return g.t.round(x)
    return g.t.divide(g.t.round(g.t.multiply(x, 10.0**decimals)), 10.0**decimals)


@rule("aten.xlogy", "aten.special_xlogy", "aten.special_xlog1py")
def xlogy(g: TorchBuilder, x: Tensor, y: Operand) -> Any:
    x, y = g.alike(x, y)
    x, y = as_arrays(g, x, y)
    is_zero = g.t.logical_and(g.t.equal(x, 0), g.t.equal(y, y))  # not of nan
    if "log1p" in g.source:
        return g.t.where(is_zero, 0.0, g.t.multiply(x, g.t.log1p(g.t.where(is_zero, 0.0, y))))
    return g.t.where(is_zero, 0.0, g.t.multiply(x, g.t.log(g.t.where(is_zero, 1.0, y))))


@rule("aten.lerp")
def lerp(g: TorchBuilder, start: Tensor, end: Operand, weight: Operand) -> Any:
    """From the nearer end."""
    step = g.t.subtract(end, start)
    near = g.t.add(start, g.t.multiply(step, weight))
    if isinstance(weight, (int, float)):
        return near if abs(weight) < 0.5 else (
            g.t.subtract(end, g.t.multiply(step, 1 - weight))
        )  # fmt: skip
    far = g.t.subtract(end, g.t.multiply(step, g.t.subtract(1, weight)))
    return g.t.where(g.t.less(g.t.abs(weight), 0.5), near, far)


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
        return g.items(found, len(condition.shape))
    x, y = as_arrays(g, g.cast(x, g.out.dtype), g.cast(y, g.out.dtype))
    return g.t.where(as_bool(g, condition), x, y)


@rule("aten.masked_fill")
def masked_fill(g: TorchBuilder, x: Tensor, mask: Tensor, value: Operand) -> Any:
    if x.dtype == "bool":
        value = bool(value) if not isinstance(value, Value) else as_bool(g, value)
    elif "int" in (x.dtype or "") and isinstance(value, float):
        value = int(value)
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
    return g.s.complex_of(real, imag)


@rule("aten.view_as_complex")
def view_as_complex(g: TorchBuilder, x: Tensor) -> Any:
    return complex_of(g, g.item(x, (..., 0)), g.item(x, (..., 1)))


@rule("aten.view_as_real")
def view_as_real(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.stack([g.t.real(x), g.t.imag(x)], axis=-1)


@rule("aten.angle")
def angle(g: TorchBuilder, x: Tensor) -> Any:
    """Of real numbers pi where they are negative, which -0 is not; nan of nan."""
    if "complex" in (x.dtype or ""):
        return g.t.atan2(g.t.imag(x), g.t.real(x))
    x = g.cast(x, g.out.dtype)
    found = g.t.where(g.t.less(x, 0), math.pi, g.t.zeros_like(x))
    return g.t.where(g.t.isnan(x), x, found)


@rule("aten.sign", "aten.sgn")
def sign(g: TorchBuilder, x: Tensor) -> Any:
    """Zero of nan. A complex number is divided by its absolute value, which may be infinite."""
    if x.dtype == "bool":
        return x
    found = g.t.sign(x)
    if "complex" in (x.dtype or ""):
        limits = g.t.where(g.t.isfinite(x), g.t.zeros_like(x), math.nan)
        return g.t.where(g.t.isfinite(g.t.abs(x)), found, limits)
    return g.t.where(g.t.isnan(x), 0.0, found) if "float" in (x.dtype or "") else found


@rule("aten.conj", "aten.conj_physical", "aten._conj", "aten._conj_physical")
def conj(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.conj(x) if "complex" in (x.dtype or "") else x


@rule("aten.lgamma", "aten.special_gammaln")
def lgamma(g: TorchBuilder, x: Tensor) -> Any:
    return g.s.lgamma_with_poles(g.cast(x, g.out.dtype))


@rule("aten.digamma", "aten.special_digamma", "aten.special_psi")
def digamma(g: TorchBuilder, x: Tensor) -> Any:
    return g.s.digamma_with_poles(g.cast(x, g.out.dtype))


@rule("aten.ldexp")
def ldexp(g: TorchBuilder, x: Tensor, exponent: Tensor) -> Any:
    x, exponent = [g.cast(i, g.out.dtype) for i in (x, exponent)]
    return g.t.multiply(x, g.t.exp2(exponent))


@rule("aten.dist")
def dist(g: TorchBuilder, x: Tensor, y: Tensor, p: float = 2) -> Any:
    gap = g.t.reshape(g.t.subtract(x, y), (-1,))
    return g.linalg.vector_norm(gap, ord=float(p))
