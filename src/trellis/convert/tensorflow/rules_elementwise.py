"""Operations of TensorFlow that work element by element."""

from typing import Any

from ..._core.typing import Scalar
from ...graph import Value
from ..rules import Rules
from .builder import TensorFlowBuilder

elementwise = Rules()

_SPECIAL = {
    "Lgamma": "lgamma", "Digamma": "digamma", "Polygamma": "polygamma", "Zeta": "zeta",
    "Betainc": "regularized_incomplete_beta", "Igamma": "lower_incomplete_gamma",
    "Igammac": "upper_incomplete_gamma",
}  # fmt: skip


elementwise.add_named("tensorflow", "{}", lambda op: lambda g, *xs: g.named(op.name)(*xs))


@elementwise(*_SPECIAL)
def special(g: TensorFlowBuilder, *args: Value | Scalar) -> Value:
    arrays = [x if isinstance(x, Value) else g.full((), x, g.out[0].dtype) for x in args]
    found = getattr(g.s, _SPECIAL[g.source])(*arrays)
    if g.source not in ("Igamma", "Igammac", "Betainc"):
        return found  # type: ignore[no-any-return]
    for x in arrays[:-1]:  # nothing at the limits of the parameters
        inside = g.t.logical_and(g.t.greater(x, 0), g.t.isfinite(x))
        found = g.t.where(inside, found, float("nan"))
    return found  # type: ignore[no-any-return]


@elementwise("BesselI0", "BesselI1", "BesselI0e", "BesselI1e")
def bessel(g: TensorFlowBuilder, x: Value) -> Value:
    return g.s.bessel_i(x, order=int(g.source[7]), scaled=g.source.endswith("e"))


@elementwise("PopulationCount")
def population_count(g: TensorFlowBuilder, x: Value) -> Value:
    return g.s.count_of_bits(x, dtype="uint8")


@elementwise("Angle")
def angle(g: TensorFlowBuilder, x: Value) -> Value:
    return g.t.atan2(g.t.imag(x), g.t.real(x))


@elementwise("Div")
def div(g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar) -> Value:
    return g.t.truncate_divide(x, y) if "int" in g.out[0].dtype else g.t.divide(x, y)


@elementwise("FloorDiv")
def floor_div(g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar) -> Value:
    """Of floats the quotient is rounded first: -1.0 by -0.1 is 10, where Python has 9."""
    if "int" in g.out[0].dtype:
        return g.t.floor_divide(x, y)
    return g.t.floor(g.t.divide(x, y))


@elementwise("DivNoNan", "MulNoNan")
def without_nan(g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar) -> Value:
    """Zero where the second operand is zero."""
    is_zero = g.t.equal(y, 0)
    if g.source == "MulNoNan":
        return g.t.where(is_zero, 0.0, g.t.multiply(x, y))
    return g.t.where(is_zero, 0.0, g.t.divide(x, g.t.where(is_zero, 1.0, y)))


@elementwise("Xlogy", "Xlog1py", "Xdivy")
def xlogy(g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar) -> Value:
    is_zero = g.t.equal(x, 0)
    safe = g.t.where(is_zero, 1.0, y)
    if g.source == "Xdivy":
        return g.t.where(is_zero, 0.0, g.t.divide(x, safe))
    log = g.t.log if g.source == "Xlogy" else g.t.log1p
    return g.t.where(is_zero, 0.0, g.t.multiply(x, log(safe)))


@elementwise("SquaredDifference")
def squared_difference(g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar) -> Value:
    return g.t.square(g.t.subtract(x, y))


@elementwise("LeakyRelu")
def leaky_relu(g: TensorFlowBuilder, x: Value, *, alpha: float = 0.2) -> Value:
    return g.F.leaky_relu(x, negative_slope=_short(alpha))


@elementwise("ClipByValue")
def clip(g: TensorFlowBuilder, x: Value, low: Value | Scalar, high: Value | Scalar) -> Value:
    return g.t.clip(x, low, high)


@elementwise("AddN", "AccumulateNV2")
def add_n(g: TensorFlowBuilder, *xs: Value | Scalar) -> Value:
    total: Any = xs[0]
    for x in xs[1:]:
        total = g.t.add(total, x)
    return total  # type: ignore[no-any-return]


@elementwise("Complex")
def complex_(g: TensorFlowBuilder, real: Value | Scalar, imag: Value | Scalar) -> Value:
    return g.s.complex_of(real, imag)


@elementwise("Select")
def select(g: TensorFlowBuilder, condition: Value, x: Value | Scalar, y: Value | Scalar) -> Value:
    """The old form: a vector chooses whole rows."""
    rank = len(g.out[0].shape or ())
    if condition.shape is not None and len(condition.shape) == 1 and rank > 1:
        condition = g.t.reshape(condition, (-1, *[1] * (rank - 1)))
    return g.t.where(condition, x, y)


@elementwise("Identity", "PreventGradient", "EnsureShape", "Snapshot", "CheckNumerics")
@elementwise("PlaceholderWithDefault", "IdentityN")
def unchanged(g: TensorFlowBuilder, *xs: Value | Scalar) -> Any:
    return xs[0] if len(xs) == 1 else tuple(xs)


def _short(x: float) -> float:
    """A 32-bit number as people write it."""
    import numpy as np

    return float(str(np.float32(x)))
