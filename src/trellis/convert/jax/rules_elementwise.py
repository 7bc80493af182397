"""Primitives of JAX that work element by element: one function of Trellis for most of them."""

from typing import Any

from ..._core.errors import NotSupportedError
from ...graph import Value
from ..rules import Rules
from .builder import JaxBuilder, Number, Operand

# The operands of these may be numbers, or smaller than the result: the functions broadcast.
elementwise = Rules()


elementwise.add_named("jax", "{}", lambda op: lambda g, *xs: g.named(op.name)(*xs))


_SPECIAL = {
    "lgamma": "lgamma", "digamma": "digamma", "polygamma": "polygamma", "zeta": "zeta",
    "regularized_incomplete_beta": "regularized_incomplete_beta",
    "igamma": "lower_incomplete_gamma", "igammac": "upper_incomplete_gamma",
    "population_count": "count_of_bits", "clz": "leading_zeros",
}  # fmt: skip


@elementwise(*_SPECIAL)
def special(g: JaxBuilder, *args: Value | Number) -> Value:
    arrays = [g.array(x, g.out[0].dtype) for x in args]
    return getattr(g.s, _SPECIAL[g.source])(*arrays)  # type: ignore[no-any-return]


@elementwise("bessel_i0e", "bessel_i1e")
def bessel(g: JaxBuilder, x: Value | Number) -> Value:
    return g.s.bessel_i(g.array(x, g.out[0].dtype), order=int(g.source[-2]))


@elementwise("div")
def div(g: JaxBuilder, x: Value | Number, y: Value | Number) -> Value:
    """Integers are divided towards zero."""
    if "int" not in g.out[0].dtype:
        return g.t.divide(x, y)
    return g.t.truncate_divide(x, y) if _is_safe(y) else g.s.divided_whole(x, y)


def _is_safe(divisor: Value | Number) -> bool:
    """Whether no integer can fail to be divided by it."""
    return not isinstance(divisor, Value) and divisor not in (0, -1)


@elementwise("rem")
def rem(g: JaxBuilder, x: Value | Number, y: Value | Number) -> Value:
    """The remainder has the sign of `x`."""
    if "int" in g.out[0].dtype and not _is_safe(y):
        return g.s.remainder_whole(x, y)
    return g.t.fmod(x, y)


@elementwise("round")
def round_(g: JaxBuilder, x: Value, *, rounding_method: int = 0) -> Value:
    """Halves go to the even number (1) or away from zero (0)."""
    if int(rounding_method) == 1:
        return g.t.round(x)
    return g.s.rounded_from_zero(x)


@elementwise("integer_pow")
def integer_pow(g: JaxBuilder, x: Value, *, y: int) -> Value:
    if y == 2:
        return g.t.square(x)
    if y == -1:
        return g.t.reciprocal(x)
    return g.t.pow(x, y if y >= 0 or "int" in g.out[0].dtype else float(y))


@elementwise("and", "or", "xor", "not")
def logical(g: JaxBuilder, *args: Value | Number) -> Value:
    word = g.source
    if g.out[0].dtype == "bool":
        return getattr(g.t, f"logical_{word}")(*args)  # type: ignore[no-any-return]
    name = "bitwise_invert" if word == "not" else f"bitwise_{word}"
    return getattr(g.t, name)(*args)  # type: ignore[no-any-return]


@elementwise("shift_right_logical")
def shift_right_logical(g: JaxBuilder, x: Value, y: Value | Number) -> Value:
    """Zeros come in from the left: what the shift of an unsigned number does."""
    dtype = g.out[0].dtype
    if dtype.startswith("u"):
        return g.t.bitwise_right_shift(x, y)
    x = g.t.astype(x, g.dtype(f"u{dtype}"))
    if isinstance(y, Value):
        y = g.t.astype(y, g.dtype(f"u{dtype}"))
    return g.t.astype(g.t.bitwise_right_shift(x, y), g.dtype(dtype))


@elementwise("lt_to", "le_to", "eq_to")
def total_order(g: JaxBuilder, x: Value | Number, y: Value | Number) -> Value:
    """Comparisons in which nan is the largest number."""
    by = {"lt_to": "less", "le_to": "less_equal", "eq_to": "equal"}[g.source]
    return g.s.compared_with_nan(x, y, by=by)


@elementwise("complex")
def complex_(g: JaxBuilder, real: Value | Number, imag: Value | Number) -> Value:
    return g.s.complex_of(real, imag)


@elementwise("clamp")
def clamp(g: JaxBuilder, low: Value | Number, x: Value | Number, high: Value | Number) -> Value:
    return g.t.clip(x, low, high)


@elementwise("select_n")
def select_n(g: JaxBuilder, which: Value, *cases: Value | Number) -> Value:
    """One case for each value of `which`, a bool or an index."""
    if len(cases) == 1:
        return cases[0] if isinstance(cases[0], Value) else g.array(cases[0], g.out[0].dtype)
    if not any([isinstance(case, Value) for case in cases]):
        cases = (g.array(cases[0], g.out[0].dtype), *cases[1:])  # which says the type
    if which.dtype == "bool":
        return g.t.where(which, cases[1], cases[0])
    result: Any = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        result = g.t.where(g.t.less_equal(which, i), cases[i], result)
    return result  # type: ignore[no-any-return]


_BITS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}


@elementwise("reduce_precision")
def reduce_precision(
    g: JaxBuilder, x: Value | Number, *, exponent_bits: int, mantissa_bits: int
) -> Value:
    dtype = g.out[0].dtype
    x = g.array(x, dtype)
    if exponent_bits >= _BITS[dtype][0] and mantissa_bits >= _BITS[dtype][1]:
        return x
    if dtype == "float32" and exponent_bits == 8 and mantissa_bits > 0:
        return g.s.with_fewer_bits(x, mantissa_bits)
    raise NotSupportedError(
        f"reduce_precision of {dtype} to {exponent_bits} bits of exponent and {mantissa_bits} of "
        "fraction is not read: only the fraction of float32 can be shortened."
    )


@elementwise("copy", "copy_p", "optimization_barrier", "name", "pvary")
@elementwise(
    "device_put", "layout_constraint", "sharding_constraint", "mesh_cast", "reshard", "preventcse"
)
def unchanged(g: JaxBuilder, *args: Operand) -> Any:
    whole = [g.array(x, out.dtype) for x, out in zip(args, g.out)]
    return whole[0] if len(whole) == 1 else tuple(whole)
