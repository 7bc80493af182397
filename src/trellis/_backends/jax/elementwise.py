"""Functions of each element."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import erf as jax_erf
from jax.scipy.special import erfc as jax_erfc
from jax.scipy.special import erfinv as jax_erfinv

from ..._core.dtypes import fitted
from ..._core.errors import DtypeError
from ..._core.guards import unordered
from . import _complex
from ._promotion import (
    are_complex,
    floating,
    floating_pair,
    ordered_pair,
    pair,
    promote,
    refuse_others,
)

# What is more than one call of JAX is compiled: the questions about its dtype are then answered
# while tracing, and an eager call goes JAX's fast way. Never what reads a default of Trellis, which
# would freeze.
_compiled = functools.partial(jax.jit, inline=True)

# One argument -------------------------------------------------------------------------------------

bitwise_invert = jnp.bitwise_invert
ceil = jnp.ceil
conj = jnp.conj
floor = jnp.floor
imag = jnp.imag
isfinite = jnp.isfinite
isinf = jnp.isinf
isnan = jnp.isnan
logical_not = jnp.logical_not
negative = jnp.negative
real = jnp.real
signbit = jnp.signbit
square = jnp.square
trunc = jnp.trunc


def _of_floats(fn: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """A function that needs floats: integers take the default float first."""

    def call(x: Any, /) -> Any:
        return fn(x) if x.dtype.kind not in "iub" else fn(floating(x))

    call.__name__ = call.__qualname__ = name or fn.__name__
    return call


asin = _of_floats(jnp.asin, "asin")
atan = _of_floats(jnp.atan, "atan")
cbrt = _of_floats(jnp.cbrt, "cbrt")
cos = _of_floats(jnp.cos, "cos")
erf = _of_floats(jax_erf, "erf")
erfc = _of_floats(jax_erfc, "erfc")
erfinv = _of_floats(jax_erfinv, "erfinv")
log10 = _of_floats(jnp.log10, "log10")
log2 = _of_floats(jnp.log2, "log2")
reciprocal = _of_floats(jnp.reciprocal, "reciprocal")
rsqrt = _of_floats(jax.lax.rsqrt, "rsqrt")
sin = _of_floats(jnp.sin, "sin")
tan = _of_floats(jnp.tan, "tan")


@_of_floats
@_compiled
def acos(x: Any, /) -> Any:
    y = jnp.acos(x)
    return _complex.acos(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def acosh(x: Any, /) -> Any:
    y = jnp.acosh(x)
    return _complex.acosh(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def asinh(x: Any, /) -> Any:
    y = jnp.asinh(x)
    return _complex.asinh(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def atanh(x: Any, /) -> Any:
    y = jnp.atanh(x)
    return _complex.atanh(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def cosh(x: Any, /) -> Any:
    y = jnp.cosh(x)
    return _complex.cosh(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def exp(x: Any, /) -> Any:
    y = jnp.exp(x)
    return _complex.exp(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def expm1(x: Any, /) -> Any:
    y = jnp.expm1(x)
    return _complex.expm1(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def log(x: Any, /) -> Any:
    y = jnp.log(x)
    return _complex.log(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def log1p(x: Any, /) -> Any:
    y = jnp.log1p(x)
    return _complex.log(x, y) if x.dtype.kind == "c" else y


def round(x: Any, /) -> Any:
    return jnp.round(x) if x.dtype.kind != "b" else x


def positive(x: Any, /) -> Any:
    if x.dtype.kind == "b":
        raise DtypeError("positive() is for numbers, got an array of bool.")
    return jnp.positive(x)


@_compiled
def sign(x: Any, /) -> Any:
    # JAX keeps the sign of -0.0.
    return jnp.where(x == 0, jnp.zeros_like(x), jnp.sign(x))


@_of_floats
@_compiled
def sinh(x: Any, /) -> Any:
    y = jnp.sinh(x)
    return _complex.sinh(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def sqrt(x: Any, /) -> Any:
    y = jnp.sqrt(x)
    return _complex.sqrt(x, y) if x.dtype.kind == "c" else y


@_of_floats
@_compiled
def tanh(x: Any, /) -> Any:
    y = jnp.tanh(x)
    return _complex.tanh(x, y) if x.dtype.kind == "c" else y


def nan_to_num(x: Any, /, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


# Two arguments ------------------------------------------------------------------------------------


def add(x1: Any, x2: Any, /) -> Any:
    return jnp.add(*pair(x1, x2))


def atan2(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    if are_complex(x1, x2):
        raise DtypeError("atan2() is for real numbers, got an array of complex ones.")
    return jnp.atan2(x1, x2)


def bitwise_and(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_and(*pair(x1, x2))


def bitwise_left_shift(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_left_shift(*pair(x1, x2))


def bitwise_or(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_or(*pair(x1, x2))


def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_right_shift(*pair(x1, x2))


def bitwise_xor(x1: Any, x2: Any, /) -> Any:
    return jnp.bitwise_xor(*pair(x1, x2))


def copysign(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    # |x| with the sign of y: at 0 the derivative is 0, as that of |x|.
    return _abs(jnp.asarray(x1)) * jax.lax.stop_gradient(jnp.copysign(jnp.ones_like(x1), x2))


def divide(x1: Any, x2: Any, /) -> Any:
    return jnp.divide(*floating_pair(x1, x2))


def equal(x1: Any, x2: Any, /) -> Any:
    return jnp.equal(*pair(x1, x2))


def floor_divide(x1: Any, x2: Any, /) -> Any:
    return _floor_divide(*pair(x1, x2))


@_compiled
def _floor_divide(x1: Any, x2: Any) -> Any:
    y = jnp.floor_divide(x1, x2)
    if y.dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, y)  # of integers by 0, as NumPy has it
    # JAX rounds by way of the remainder, which is exact for finite numbers and NaN or -1 for the
    # others.
    is_ordinary = jnp.isfinite(x1) & jnp.isfinite(x2) & jnp.not_equal(x1, 0)
    return jnp.where(is_ordinary, y, jnp.floor(jnp.divide(x1, x2)))


def fmod(x1: Any, x2: Any, /) -> Any:
    return _fmod(*pair(x1, x2))


@_compiled
def _fmod(x1: Any, x2: Any) -> Any:
    y = jnp.fmod(x1, x2)
    return jnp.where(x2 == 0, 0, y) if y.dtype.kind in "iub" else y


def greater(x1: Any, x2: Any, /) -> Any:
    x1, x2 = ordered_pair("greater", x1, x2)
    return jnp.greater(x1, x2)


def greater_equal(x1: Any, x2: Any, /) -> Any:
    x1, x2 = ordered_pair("greater_equal", x1, x2)
    return jnp.greater_equal(x1, x2)


def hypot(x1: Any, x2: Any, /) -> Any:
    return _hypot(*floating_pair(x1, x2))


@_compiled
def _hypot(x1: Any, x2: Any) -> Any:
    # The gradient at (0, 0) is 0, not nan.
    is_zero = (x1 == 0) & (x2 == 0)
    return jnp.where(is_zero, 0, jnp.hypot(jnp.where(is_zero, 1, x1), x2))


def less(x1: Any, x2: Any, /) -> Any:
    x1, x2 = ordered_pair("less", x1, x2)
    return jnp.less(x1, x2)


def less_equal(x1: Any, x2: Any, /) -> Any:
    x1, x2 = ordered_pair("less_equal", x1, x2)
    return jnp.less_equal(x1, x2)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    if are_complex(x1, x2):
        raise DtypeError("logaddexp() is for real numbers, got an array of complex ones.")
    return jnp.logaddexp(x1, x2)


def _truths(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Whether an element counts as true does not depend on its type: no common one is needed."""
    return _truth(x1), _truth(x2)


def _truth(x: Any) -> Any:
    if type(x) in (bool, int, float, complex):
        return bool(x)
    refuse_others(x)
    return x if x.dtype.kind == "b" else x != 0


def logical_and(x1: Any, x2: Any, /) -> Any:
    return jnp.logical_and(*_truths(x1, x2))


def logical_or(x1: Any, x2: Any, /) -> Any:
    return jnp.logical_or(*_truths(x1, x2))


def logical_xor(x1: Any, x2: Any, /) -> Any:
    return jnp.logical_xor(*_truths(x1, x2))


def maximum(x1: Any, x2: Any, /) -> Any:
    x1, x2 = ordered_pair("maximum", x1, x2)
    return jnp.maximum(x1, x2)


def minimum(x1: Any, x2: Any, /) -> Any:
    x1, x2 = ordered_pair("minimum", x1, x2)
    return jnp.minimum(x1, x2)


def multiply(x1: Any, x2: Any, /) -> Any:
    return jnp.multiply(*pair(x1, x2))


def nextafter(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    dtype = (x1 if hasattr(x1, "dtype") else x2).dtype
    return _nextafter(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype))


@jax.custom_jvp
def _nextafter(x1: Any, x2: Any) -> Any:
    return jnp.nextafter(x1, x2)


@_nextafter.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """The next number is as far away for all neighbours: 1 by x1, 0 by the direction."""
    y = _nextafter(*primals)
    return y, jnp.broadcast_to(tangents[0], y.shape)


def not_equal(x1: Any, x2: Any, /) -> Any:
    return jnp.not_equal(*pair(x1, x2))


def pow(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    kind = "number" if isinstance(x2, (int, float)) else jnp.result_type(x1, x2).kind
    if kind == "i":
        return _whole_pow(x1, x2)
    return _pow(x1, x2) if kind == "f" else jnp.pow(x1, x2)


@_compiled
def _whole_pow(x1: Any, x2: Any) -> Any:
    """The whole part of 1 / x**n where the exponent is negative, as PyTorch has it."""
    of_one = jnp.where(jnp.abs(x1) == 1, jnp.pow(x1, jnp.abs(x2)), 0)
    return jnp.where(x2 < 0, of_one, jnp.pow(x1, jnp.maximum(x2, 0)))


@_compiled
def _pow(x1: Any, x2: Any) -> Any:
    # x**y at (0, 0) is 1, and its gradient by x is 0, not 0 * inf.
    return jnp.pow(jnp.where((x1 == 0) & (x2 == 0), 1, x1), x2)


def remainder(x1: Any, x2: Any, /) -> Any:
    return _remainder(*pair(x1, x2))


@_compiled
def _remainder(x1: Any, x2: Any) -> Any:
    y = jnp.remainder(x1, x2)
    if y.dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, y)
    return _with_sign_at_zero(y, jnp.asarray(x2, y.dtype))


@jax.custom_jvp
def _with_sign_at_zero(y: Any, x2: Any) -> Any:
    """A remainder of 0 has the sign of the divisor; the gradient does not see it."""
    return jnp.where(y == 0, jnp.copysign(y, x2), y)


@_with_sign_at_zero.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return _with_sign_at_zero(*primals), tangents[0]


def subtract(x1: Any, x2: Any, /) -> Any:
    return jnp.subtract(*pair(x1, x2))


def truncate_divide(x1: Any, x2: Any, /) -> Any:
    return _truncate_divide(*pair(x1, x2))


@_compiled
def _truncate_divide(x1: Any, x2: Any) -> Any:
    dtype = jnp.result_type(x1, x2)
    x1, x2 = jnp.broadcast_arrays(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype))
    if x1.dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, jax.lax.div(x1, x2))
    if x1.dtype.itemsize < 4:  # a quotient rounded to 16 bits may reach the next whole number
        quotient = jnp.divide(x1.astype("float32"), x2.astype("float32"))
        return jnp.trunc(quotient).astype(x1.dtype)
    return jnp.trunc(jnp.divide(x1, x2))


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x1, x2 = pair(x1, x2)
    return jnp.isclose(x1, x2, rtol, atol, equal_nan)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    return _clip(x, _bound(min, x), _bound(max, x))


@_compiled
def _clip(x: Any, min: Any, max: Any) -> Any:
    # The gradient passes at the bounds themselves; jnp.clip halves it there. A bound of NaN gives
    # NaN.
    y = jnp.asarray(x)
    if y.dtype.kind == "c":
        raise unordered("clip")
    if y.dtype.kind == "b":
        raise DtypeError("clip() is for numbers, got an array of bool.")
    if min is not None:
        y = jnp.where((y < min) | (min != min), jnp.asarray(min, y.dtype), y)
    if max is not None:
        y = jnp.where((y > max) | (max != max), jnp.asarray(max, y.dtype), y)
    return y


def _bound(bound: Any, x: Any) -> Any:
    """A number must fit the type of x, an array of integers must have a type in common with it."""
    if hasattr(bound, "dtype"):
        if bound.dtype.kind in "iu" and x.dtype.kind in "iu":
            promote(bound.dtype, x.dtype)
        return bound
    return None if bound is None else fitted(bound, x.dtype.name)


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
