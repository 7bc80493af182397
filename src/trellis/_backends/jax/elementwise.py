"""Functions of each element."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import erf

from . import _complex
from .casting import _default_of

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip

# What is more than one call of JAX is compiled: the questions about its dtype are then answered while tracing,
# and an eager call goes JAX's fast way. Never what reads a default of Trellis, which would freeze.
_compiled = functools.partial(jax.jit, inline=True)

# One argument --------------------------------------------------------------------------------------

asin = jnp.asin
atan = jnp.atan
bitwise_invert = jnp.bitwise_invert
ceil = jnp.ceil
conj = jnp.conj
cos = jnp.cos
floor = jnp.floor
imag = jnp.imag
isfinite = jnp.isfinite
isinf = jnp.isinf
isnan = jnp.isnan
log10 = jnp.log10
log2 = jnp.log2
logical_not = jnp.logical_not
negative = jnp.negative
positive = jnp.positive
real = jnp.real
reciprocal = jnp.reciprocal
signbit = jnp.signbit
sin = jnp.sin
square = jnp.square
tan = jnp.tan
trunc = jnp.trunc


@_compiled
def acos(x: Any, /) -> Any:
    y = jnp.acos(x)
    return _complex.acos(x, y) if x.dtype.kind == "c" else y


@_compiled
def acosh(x: Any, /) -> Any:
    y = jnp.acosh(x)
    return _complex.acosh(x, y) if x.dtype.kind == "c" else y


@_compiled
def asinh(x: Any, /) -> Any:
    y = jnp.asinh(x)
    return _complex.asinh(x, y) if x.dtype.kind == "c" else y


@_compiled
def atanh(x: Any, /) -> Any:
    y = jnp.atanh(x)
    return _complex.atanh(x, y) if x.dtype.kind == "c" else y


@_compiled
def cosh(x: Any, /) -> Any:
    y = jnp.cosh(x)
    return _complex.cosh(x, y) if x.dtype.kind == "c" else y


@_compiled
def exp(x: Any, /) -> Any:
    y = jnp.exp(x)
    return _complex.exp(x, y) if x.dtype.kind == "c" else y


@_compiled
def expm1(x: Any, /) -> Any:
    y = jnp.expm1(x)
    return _complex.expm1(x, y) if x.dtype.kind == "c" else y


@_compiled
def log(x: Any, /) -> Any:
    y = jnp.log(x)
    return _complex.log(x, y) if x.dtype.kind == "c" else y


@_compiled
def log1p(x: Any, /) -> Any:
    y = jnp.log1p(x)
    return _complex.log(x, y) if x.dtype.kind == "c" else y


def round(x: Any, /) -> Any:
    return jnp.round(x)


@_compiled
def sign(x: Any, /) -> Any:
    # JAX keeps the sign of -0.0.
    return jnp.where(x == 0, jnp.zeros_like(x), jnp.sign(x))


@_compiled
def sinh(x: Any, /) -> Any:
    y = jnp.sinh(x)
    return _complex.sinh(x, y) if x.dtype.kind == "c" else y


@_compiled
def sqrt(x: Any, /) -> Any:
    y = jnp.sqrt(x)
    return _complex.sqrt(x, y) if x.dtype.kind == "c" else y


@_compiled
def tanh(x: Any, /) -> Any:
    y = jnp.tanh(x)
    return _complex.tanh(x, y) if x.dtype.kind == "c" else y


def nan_to_num(x: Any, /, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


# Two arguments -------------------------------------------------------------------------------------


def _scalars(x1: Any, x2: Any) -> tuple[Any, Any]:
    """A Python number takes the array's dtype; a float beside integers is the default float.

    JAX alone would make the latter float64 as soon as 64-bit types are on.
    """
    if type(x1) is type(x2):
        return x1, x2
    if type(x2) is float or type(x2) is complex:
        return x1, _beside(x2, x1)
    if type(x1) is float or type(x1) is complex:
        return _beside(x1, x2), x2
    return x1, x2


def _beside(number: Any, x: Any) -> Any:
    return jnp.asarray(number, _default_of(type(number))) if x.dtype.kind in "iub" else number


def add(x1: Any, x2: Any, /) -> Any:
    return jnp.add(*_scalars(x1, x2))


def atan2(x1: Any, x2: Any, /) -> Any:
    return jnp.atan2(*_scalars(x1, x2))


def bitwise_and(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_and(x1, x2)


def bitwise_left_shift(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_left_shift(x1, x2)


def bitwise_or(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_or(x1, x2)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_right_shift(x1, x2)


def bitwise_xor(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_xor(x1, x2)


def copysign(x1: Any, x2: Any, /) -> Any:
    return jnp.copysign(*_scalars(x1, x2))


def divide(x1: Any, x2: Any, /) -> Any:
    return jnp.divide(*_scalars(x1, x2))


def equal(x1: Any, x2: Any, /) -> Any:
    return jnp.equal(x1, x2)


def floor_divide(x1: Any, x2: Any, /) -> Any:
    return _floor_divide(*_scalars(x1, x2))


@_compiled
def _floor_divide(x1: Any, x2: Any) -> Any:
    y = jnp.floor_divide(x1, x2)
    if y.dtype.kind in "iub":
        return y
    # JAX rounds by way of the remainder, which is exact for finite numbers and NaN or -1 for the others.
    is_ordinary = jnp.isfinite(x1) & jnp.isfinite(x2) & jnp.not_equal(x1, 0)
    return jnp.where(is_ordinary, y, jnp.floor(jnp.divide(x1, x2)))


def greater(x1: Any, x2: Any, /) -> Any:
    return jnp.greater(x1, x2)


def greater_equal(x1: Any, x2: Any, /) -> Any:
    return jnp.greater_equal(x1, x2)


def hypot(x1: Any, x2: Any, /) -> Any:
    return _hypot(*_scalars(x1, x2))


@_compiled
def _hypot(x1: Any, x2: Any) -> Any:
    # The gradient at (0, 0) is 0, not nan.
    is_zero = (x1 == 0) & (x2 == 0)
    return jnp.where(is_zero, 0, jnp.hypot(jnp.where(is_zero, 1, x1), x2))


def less(x1: Any, x2: Any, /) -> Any:
    return jnp.less(x1, x2)


def less_equal(x1: Any, x2: Any, /) -> Any:
    return jnp.less_equal(x1, x2)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    return jnp.logaddexp(*_scalars(x1, x2))


def logical_and(x1: Any, x2: Any, /) -> Any:
    return jnp.logical_and(x1, x2)


def logical_or(x1: Any, x2: Any, /) -> Any:
    return jnp.logical_or(x1, x2)


def logical_xor(x1: Any, x2: Any, /) -> Any:
    return jnp.logical_xor(x1, x2)


def maximum(x1: Any, x2: Any, /) -> Any:
    return jnp.maximum(*_scalars(x1, x2))


def minimum(x1: Any, x2: Any, /) -> Any:
    return jnp.minimum(*_scalars(x1, x2))


def multiply(x1: Any, x2: Any, /) -> Any:
    return jnp.multiply(*_scalars(x1, x2))


def nextafter(x1: Any, x2: Any, /) -> Any:
    return jnp.nextafter(*_scalars(x1, x2))


def not_equal(x1: Any, x2: Any, /) -> Any:
    return jnp.not_equal(x1, x2)


def pow(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _scalars(x1, x2)
    if isinstance(x2, (int, float)) or jnp.result_type(x1, x2).kind != "f":
        return jnp.pow(x1, x2)
    return _pow(x1, x2)


@_compiled
def _pow(x1: Any, x2: Any) -> Any:
    # x**y at (0, 0) is 1, and its gradient by x is 0, not 0 * inf.
    return jnp.pow(jnp.where((x1 == 0) & (x2 == 0), 1, x1), x2)


def remainder(x1: Any, x2: Any, /) -> Any:
    return _remainder(*_scalars(x1, x2))


@_compiled
def _remainder(x1: Any, x2: Any) -> Any:
    y = jnp.remainder(x1, x2)
    return y if y.dtype.kind in "iub" else _with_sign_at_zero(y, jnp.asarray(x2, y.dtype))


@jax.custom_jvp
def _with_sign_at_zero(y: Any, x2: Any) -> Any:
    """A remainder of 0 has the sign of the divisor; the gradient does not see it."""
    return jnp.where(y == 0, jnp.copysign(y, x2), y)


@_with_sign_at_zero.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return _with_sign_at_zero(*primals), tangents[0]


def subtract(x1: Any, x2: Any, /) -> Any:
    return jnp.subtract(*_scalars(x1, x2))


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    return jnp.isclose(x1, x2, rtol, atol, equal_nan)


@_compiled
def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    # The gradient passes at the bounds themselves; jnp.clip halves it there. A bound of NaN gives NaN.
    y = jnp.asarray(x)
    if min is not None:
        y = jnp.where((y < min) | (min != min), jnp.asarray(min, y.dtype), y)
    if max is not None:
        y = jnp.where((y > max) | (max != max), jnp.asarray(max, y.dtype), y)
    return y


@_compiled
def abs(x: Any, /) -> Any:
    return _abs(x)


@jax.custom_jvp
def _abs(x: Any) -> Any:
    return jnp.abs(x)


@_abs.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """The gradient at 0 is 0; JAX's own is 1 there."""
    (x,), (t,) = primals, tangents
    if jnp.iscomplexobj(x):
        return jax.jvp(jnp.abs, (x,), (t,))
    return _abs(x), t * jnp.sign(x)
