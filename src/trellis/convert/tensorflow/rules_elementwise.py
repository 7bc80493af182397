"""Operations of TensorFlow that work element by element."""

from typing import Any

from ..._core.typing import Scalar
from ...graph import Value
from ..rules import Rules
from .builder import TensorFlowBuilder

elementwise = Rules()

_SPECIAL = {"Lgamma": "lgamma", "Digamma": "digamma",
            "Polygamma": "polygamma", "Betainc": "regularized_incomplete_beta"}  # fmt: skip


elementwise.add_named("tensorflow", "{}", lambda op: lambda g, *xs, **_: g.named(op.name)(*xs))


def _add_special(operation: str, function: str) -> None:
    @elementwise(operation)
    def special(g: TensorFlowBuilder, *args: Value | Scalar, **attributes: object) -> Value:
        return getattr(g.s, function)(*args)  # type: ignore[no-any-return]


for _operation, _function in _SPECIAL.items():
    _add_special(_operation, _function)


@elementwise("Div")
def div(g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar, **_: object) -> Value:
    return g.t.truncate_divide(x, y) if "int" in g.out[0].dtype else g.t.divide(x, y)


@elementwise("DivNoNan", "MulNoNan")
def without_nan(g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar, **_: object) -> Value:
    """Zero where the second operand is zero."""
    is_zero = g.t.equal(y, 0)
    if g.source == "MulNoNan":
        return g.t.where(is_zero, 0.0, g.t.multiply(x, y))
    return g.t.where(is_zero, 0.0, g.t.divide(x, g.t.where(is_zero, 1.0, y)))


@elementwise("Xlogy", "Xdivy")
def xlogy(g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar, **_: object) -> Value:
    is_zero = g.t.equal(x, 0)
    safe = g.t.where(is_zero, 1.0, y)
    if g.source == "Xdivy":
        return g.t.where(is_zero, 0.0, g.t.divide(x, safe))
    return g.t.where(is_zero, 0.0, g.t.multiply(x, g.t.log(safe)))


@elementwise("SquaredDifference")
def squared_difference(
    g: TensorFlowBuilder, x: Value | Scalar, y: Value | Scalar, **_: object
) -> Value:
    return g.t.square(g.t.subtract(x, y))


@elementwise("LeakyRelu")
def leaky_relu(g: TensorFlowBuilder, x: Value, *, alpha: float = 0.2, **_: object) -> Value:
    return g.F.leaky_relu(x, negative_slope=_short(alpha))


@elementwise("ClipByValue")
def clip(
    g: TensorFlowBuilder, x: Value, low: Value | Scalar, high: Value | Scalar, **_: object
) -> Value:
    return g.t.clip(x, low, high)


@elementwise("AddN", "AccumulateNV2")
def add_n(g: TensorFlowBuilder, *xs: Value | Scalar, **_: object) -> Value:
    total: Any = xs[0]
    for x in xs[1:]:
        total = g.t.add(total, x)
    return total  # type: ignore[no-any-return]


@elementwise("Complex")
def complex_(
    g: TensorFlowBuilder, real: Value | Scalar, imag: Value | Scalar, **_: object
) -> Value:
    return g.s.complex_of(real, imag)


@elementwise("Select")
def select(
    g: TensorFlowBuilder, condition: Value, x: Value | Scalar, y: Value | Scalar, **_: object
) -> Value:
    """The old form: a vector chooses whole rows."""
    rank = len(g.out[0].shape or ())
    if condition.shape is not None and len(condition.shape) == 1 and rank > 1:
        condition = g.t.reshape(condition, (-1, *[1] * (rank - 1)))
    return g.t.where(condition, x, y)


@elementwise("Identity", "PreventGradient", "EnsureShape", "Snapshot", "CheckNumerics")
@elementwise("PlaceholderWithDefault", "IdentityN", "ShapeN_")
def unchanged(g: TensorFlowBuilder, *xs: Value | Scalar, **_: object) -> Any:
    return xs[0] if len(xs) == 1 else tuple(xs)


def _short(x: float) -> float:
    """A 32-bit number as people write it."""
    import numpy as np

    return float(str(np.float32(x)))
