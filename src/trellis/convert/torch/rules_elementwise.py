"""Arithmetic, comparisons and functions of single elements."""

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
        return g.items(found, len(condition.shape))
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
