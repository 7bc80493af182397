"""Primitives of JAX that work element by element: one function of Trellis for most of them."""

from typing import Any

from ...graph import Value
from ..rules import Rules
from .builder import JaxBuilder, Number, Operand

# The operands of these may be numbers, or smaller than the result: the functions broadcast.
elementwise = Rules()


elementwise.add_named("jax", "{}", lambda op: lambda g, *xs, **_: g.named(op.name)(*xs))


for _special in ("lgamma", "digamma", "polygamma", "regularized_incomplete_beta"):

    def _add_special(name: str) -> None:
        @elementwise(name)
        def special(g: JaxBuilder, *args: Value | Number, **_: object) -> Value:
            arrays = [g.array(x, g.out[0].dtype) for x in args]
            return getattr(g.s, name)(*arrays)  # type: ignore[no-any-return]

    _add_special(_special)


@elementwise("div")
def div(g: JaxBuilder, x: Value | Number, y: Value | Number, **_: object) -> Value:
    """Integers are divided towards zero."""
    return g.t.truncate_divide(x, y) if "int" in g.out[0].dtype else g.t.divide(x, y)


@elementwise("round")
def round_(g: JaxBuilder, x: Value, *, rounding_method: int = 0, **_: object) -> Value:
    """Halves go to the even number (1) or away from zero (0)."""
    if int(rounding_method) == 1:
        return g.t.round(x)
    return g.t.multiply(g.t.sign(x), g.t.floor(g.t.add(g.t.abs(x), 0.5)))


@elementwise("integer_pow")
def integer_pow(g: JaxBuilder, x: Value, *, y: int, **_: object) -> Value:
    if y == 2:
        return g.t.square(x)
    if y == -1:
        return g.t.reciprocal(x)
    return g.t.pow(x, y if y >= 0 or "int" in g.out[0].dtype else float(y))


@elementwise("and", "or", "xor", "not")
def logical(g: JaxBuilder, *args: Value | Number, **_: object) -> Value:
    word = g.source
    if g.out[0].dtype == "bool":
        return getattr(g.t, f"logical_{word}")(*args)  # type: ignore[no-any-return]
    name = "bitwise_invert" if word == "not" else f"bitwise_{word}"
    return getattr(g.t, name)(*args)  # type: ignore[no-any-return]


@elementwise("shift_right_logical")
def shift_right_logical(g: JaxBuilder, x: Value, y: Value | Number, **_: object) -> Value:
    """Zeros come in from the left: what the shift of an unsigned number does."""
    dtype = g.out[0].dtype
    if dtype.startswith("u"):
        return g.t.bitwise_right_shift(x, y)
    x = g.t.astype(x, g.dtype(f"u{dtype}"))
    if isinstance(y, Value):
        y = g.t.astype(y, g.dtype(f"u{dtype}"))
    return g.t.astype(g.t.bitwise_right_shift(x, y), g.dtype(dtype))


@elementwise("lt_to", "le_to", "eq_to")
def total_order(g: JaxBuilder, x: Value | Number, y: Value | Number, **_: object) -> Value:
    """Comparisons in which nan is the largest number."""
    by = {"lt_to": "less", "le_to": "less_equal", "eq_to": "equal"}[g.source]
    return g.s.compared_with_nan(x, y, by=by)


@elementwise("complex")
def complex_(g: JaxBuilder, real: Value | Number, imag: Value | Number, **_: object) -> Value:
    return g.s.complex_of(real, imag)


@elementwise("clamp")
def clamp(
    g: JaxBuilder, low: Value | Number, x: Value | Number, high: Value | Number, **_: object
) -> Value:
    return g.t.clip(x, low, high)


@elementwise("select_n")
def select_n(g: JaxBuilder, which: Value, *cases: Value | Number, **_: object) -> Value:
    """One case for each value of `which`, a bool or an index."""
    if len(cases) == 1:
        return cases[0] if isinstance(cases[0], Value) else g.array(cases[0], g.out[0].dtype)
    if which.dtype == "bool":
        return g.t.where(which, cases[1], cases[0])
    result: Any = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        result = g.t.where(g.t.less_equal(which, i), cases[i], result)
    return result  # type: ignore[no-any-return]


@elementwise("copy", "copy_p", "reduce_precision", "optimization_barrier", "name", "pvary")
@elementwise(
    "device_put", "layout_constraint", "sharding_constraint", "mesh_cast", "reshard", "preventcse"
)
def unchanged(g: JaxBuilder, *args: Operand, **_: object) -> Any:
    whole = [g.array(x, out.dtype) for x, out in zip(args, g.out)]
    return whole[0] if len(whole) == 1 else tuple(whole)
