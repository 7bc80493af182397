"""Functions of each element by itself, or of two elements at the same place."""

import math
from typing import Any

import tensorflow as tf

from ..._core.errors import DtypeError
from ..._core.guards import unordered
from ._helpers import (
    COMPLEX,
    FLOAT32,
    FLOAT32_ENUM,
    FLOATING,
    SCALARS,
    SIGNED,
    UNSIGNED,
    Eager,
    bits,
    cast,
    floating,
    floating_pair,
    is_plain_pair,
    may_differentiate,
    pair,
    refuse_others,
    safe_sqrt,
    scalar,
    tensor,
    truth,
)

# The plain operations: the same kernels and gradients as those of tf.math, without the layers of
# Python above them, which take twice as long as the kernel of a small tensor.
_raw = tf.raw_ops

_LN2, _LN10 = math.log(2), math.log(10)


# Arithmetic ---------------------------------------------------------------------------------------


def add(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return tf.logical_or(x1, x2) if x1.dtype is tf.bool else _raw.AddV2(x=x1, y=x2)


def subtract(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return _raw.Sub(x=x1, y=x2)


def multiply(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return tf.logical_and(x1, x2) if x1.dtype is tf.bool else _raw.Mul(x=x1, y=x2)


def divide(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    return _raw.RealDiv(x=x1, y=x2)


def floor_divide(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    if x1.dtype is tf.bfloat16:  # the kernel rounds the quotient before it takes the floor
        wide = floor_divide(tf.cast(x1, tf.float32), tf.cast(x2, tf.float32))
        return tf.cast(wide, tf.bfloat16)
    return (
        tf.math.floordiv(x1, x2) if x1.dtype in FLOATING else _by_nonzero(x1, x2, tf.math.floordiv)
    )


def _by_nonzero(x1: Any, x2: Any, fn: Any) -> Any:
    """Integers divided by 0 give 0, as on NumPy; TensorFlow would end the call."""
    zero, one = tf.zeros([], x2.dtype), tf.ones([], x2.dtype)
    is_zero = tf.equal(x2, zero)
    return tf.where(is_zero, zero, fn(x1, tf.where(is_zero, one, x2)))


def remainder(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    if x1.dtype not in FLOATING:
        return _by_nonzero(x1, x2, tf.math.floormod)
    result = tf.math.floormod(x1, x2)
    return _zero_signed_by(result, tensor(x2))


@tf.custom_gradient
def _zero_signed_by(x: Any, divisor: Any) -> Any:
    """The zeros among remainders take the sign of the divisor; the gradient passes as if nothing
    was done.
    """

    def grad(upstream: Any) -> Any:
        return upstream, tf.zeros_like(divisor)

    zero = tf.zeros([], x.dtype)
    signed = tf.where(signbit(divisor), -zero, zero)
    return tf.where(tf.equal(x, zero), signed, x), grad


def fmod(x1: Any, x2: Any, /) -> Any:
    """Of positive numbers both remainders are the same; the sign of x1 is taken off and put back.

    `TruncateMod` has no gradient, and no kernel for most of the types.
    """
    x1, x2 = pair(x1, x2)
    if x1.dtype in FLOATING:
        is_negative = signbit(x1)
        rest = tf.math.floormod(tf.where(is_negative, -x1, x1), tf.abs(x2))
        return tf.where(is_negative, -rest, rest)
    rest, zero = _by_nonzero(x1, x2, tf.math.floormod), tf.zeros([], x1.dtype)
    is_above = tf.not_equal(rest, zero) & tf.not_equal(x1 < zero, x2 < zero)
    return tf.where(is_above, rest - x2, rest)


def truncate_divide(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    if x1.dtype not in FLOATING:
        return _by_nonzero(x1, x2, _truncated_quotient)
    if x1.dtype.size < 4:  # a quotient rounded to 16 bits may reach the next whole number
        wide = tf.cast(x1, tf.float32) / tf.cast(x2, tf.float32)
        return tf.cast(trunc(wide), x1.dtype)
    return trunc(x1 / x2)


def _truncated_quotient(x1: Any, x2: Any) -> Any:
    return _raw.TruncateDiv(x=x1, y=x2)


def pow(x1: Any, x2: Any, /) -> Any:
    is_number = type(x2) is int
    x1, x2 = pair(x1, x2)
    if x1.dtype in SIGNED and not is_number:
        # The whole part of 1 / x**n where the exponent is negative, as PyTorch has it.
        of_one = tf.where(tf.equal(tf.abs(x1), 1), tf.pow(x1, tf.abs(x2)), tf.zeros([], x1.dtype))
        return tf.where(x2 < 0, of_one, tf.pow(x1, tf.maximum(x2, tf.zeros([], x2.dtype))))
    if x1.dtype in UNSIGNED:
        # No kernel for these. Multiplication wraps around alike in int64.
        return tf.cast(tf.pow(tf.cast(x1, tf.int64), tf.cast(x2, tf.int64)), x1.dtype)
    if x1.dtype in FLOATING:
        # x**y at (0, 0) is 1, and its gradient by x is 0, not 0 * inf.
        nothing = tf.equal(x1, 0) & tf.equal(x2, 0)
        x1 = tf.where(nothing, tf.ones([], x1.dtype), x1)
    return tf.pow(x1, x2)


def negative(x: Any, /) -> Any:
    if x.dtype in UNSIGNED:
        return tf.subtract(tf.zeros([], x.dtype), x)
    return _raw.Neg(x=x)


def positive(x: Any, /) -> Any:
    if x.dtype is tf.bool:
        raise DtypeError("positive() is for numbers, got an array of bool.")
    return tf.identity(x)


def abs(x: Any, /) -> Any:
    if x.dtype is FLOAT32:
        return _raw.Abs(x=x)
    if x.dtype in UNSIGNED or x.dtype is tf.bool:
        return tf.identity(x)
    return tf.abs(x)


def sign(x: Any, /) -> Any:
    if x.dtype in UNSIGNED:
        return tf.cast(tf.not_equal(x, tf.zeros([], x.dtype)), x.dtype)
    return _complex_sign(x) if x.dtype in COMPLEX else tf.sign(x)


def _complex_sign(x: Any) -> Any:
    """x / |x|; the kernel answers 0 below 1e-19 in complex64."""
    a, b = tf.math.real(x), tf.math.imag(x)
    length, zero = hypot(a, b), tf.zeros([], a.dtype)
    is_zero = tf.equal(length, zero)
    length = tf.where(is_zero, tf.ones([], a.dtype), length)
    # A zero has no sign in the answer, whatever its own.
    a, b = tf.where(is_zero, zero, a), tf.where(is_zero, zero, b)
    return tf.complex(a / length, b / length)


def square(x: Any, /) -> Any:
    return _raw.Square(x=x) if x.dtype is not tf.bool else tf.identity(x)


def sqrt(x: Any, /) -> Any:
    return _raw.Sqrt(x=floating(x))


def rsqrt(x: Any, /) -> Any:
    return _raw.Rsqrt(x=floating(x))


def reciprocal(x: Any, /) -> Any:
    return _raw.Reciprocal(x=floating(x))


def cbrt(x: Any, /) -> Any:
    """TensorFlow has none: a power, and one step of Newton's method for its last digits."""
    x = floating(x)
    size, one = tf.abs(x), tf.ones([], x.dtype)
    is_plain = (size > 0) & tf.math.is_finite(size)
    size = tf.where(is_plain, size, one)
    third = tf.constant(1 / 3, x.dtype)
    root = tf.pow(size, third)
    root = copysign(root - (root - size / (root * root)) / 3, x)
    # At 0 and the infinities the argument itself. The power lets the derivative at 0 be infinite.
    is_zero = tf.equal(x, tf.zeros([], x.dtype))
    power = tf.pow(tf.where(is_zero, x, one), third)
    zero = x - (tf.stop_gradient(power) - power)
    return tf.where(is_plain, root, tf.where(is_zero, zero, x))


def hypot(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    one = tf.ones([], x1.dtype)
    # Scaled by the larger one, so that squares neither overflow nor vanish.
    scale = tf.stop_gradient(tf.maximum(tf.abs(x1), tf.abs(x2)))
    scale = tf.where(tf.math.is_finite(scale) & (scale > 0), scale, one)
    length = scale * safe_sqrt(tf.square(x1 / scale) + tf.square(x2 / scale))
    infinite = tf.math.is_inf(x1) | tf.math.is_inf(x2)
    return tf.where(infinite, tf.constant(math.inf, x1.dtype), length)


def maximum(x1: Any, x2: Any, /) -> Any:
    if is_plain_pair(x1, x2):
        extreme = _raw.Maximum(x=x1, y=x2)
        if type(extreme) is Eager:
            return extreme
    x1, x2 = pair(x1, x2)
    if x1.dtype is tf.bool:
        return tf.logical_or(x1, x2)
    return _shared_ties(x1, x2, _raw.Maximum(x=x1, y=x2))


def minimum(x1: Any, x2: Any, /) -> Any:
    if is_plain_pair(x1, x2):
        extreme = _raw.Minimum(x=x1, y=x2)
        if type(extreme) is Eager:
            return extreme
    x1, x2 = pair(x1, x2)
    if x1.dtype is tf.bool:
        return tf.logical_and(x1, x2)
    return _shared_ties(x1, x2, _raw.Minimum(x=x1, y=x2))


def _shared_ties(x1: Any, x2: Any, extreme: Any) -> Any:
    """The same values; at ties each side gets half of the gradient, where tf gives all to the
    first.
    """
    if not may_differentiate() or x1.dtype not in FLOATING:
        return extreme
    is_tie = tf.equal(x1, x2) & tf.math.is_finite(x1)
    return tf.where(is_tie, x2 + tf.constant(0.5, x1.dtype) * (x1 - x2), extreme)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    if x.dtype is tf.bool:
        raise DtypeError("clip() is for numbers, got an array of bool.")
    # The gradient passes at the bounds themselves. A bound of NaN gives NaN.
    result = tf.identity(x)
    if min is not None:
        result, low = pair(result, _bound(min, x))
        result = tf.where((result < low) | tf.not_equal(low, low), low, result)
    if max is not None:
        result, high = pair(result, _bound(max, x))
        result = tf.where((result > high) | tf.not_equal(high, high), high, result)
    return cast(result, x.dtype)


def _bound(bound: Any, x: Any) -> Any:
    """A number must fit the type of x."""
    return scalar(bound, x.dtype) if isinstance(bound, SCALARS) else bound


def copysign(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    size = tf.abs(x1)
    return tf.where(signbit(x2), -size, size)


def nextafter(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    kernel = tf.math.nextafter if x1.dtype in (tf.float32, tf.float64) else _nextafter_half
    y = kernel(tf.stop_gradient(x1), tf.stop_gradient(x2))
    # The derivative is 1 by x1 and 0 by x2, where they are equal too.
    finite = tf.where(tf.math.is_finite(x1), x1, tf.zeros_like(x1))
    return y - (tf.stop_gradient(finite) - finite)


def _nextafter_half(x1: Any, x2: Any) -> Any:
    """The 16-bit floats have no kernel: count in bit patterns instead."""
    x1, x2 = x1 + tf.zeros_like(x2), x2 + tf.zeros_like(x1)
    pattern = bits(x1)
    one = tf.ones([], pattern.dtype)
    away = tf.equal(x2 > x1, x1 > 0)
    stepped = tf.where(away, pattern + one, pattern - one)
    smallest = tf.where(x2 > 0, one, one + tf.constant(pattern.dtype.min, pattern.dtype))
    stepped = tf.where(tf.equal(x1, tf.zeros([], x1.dtype)), smallest, stepped)
    result = tf.where(tf.equal(x1, x2), x2, tf.bitcast(stepped, x1.dtype))
    return tf.where(tf.math.is_nan(x1) | tf.math.is_nan(x2), x1 + x2, result)


# Rounding -----------------------------------------------------------------------------------------


def floor(x: Any, /) -> Any:
    if x.dtype in COMPLEX:
        raise unordered("floor")
    return tf.floor(x) if x.dtype in FLOATING else tf.identity(x)


def ceil(x: Any, /) -> Any:
    if x.dtype in COMPLEX:
        raise unordered("ceil")
    return tf.math.ceil(x) if x.dtype in FLOATING else tf.identity(x)


def trunc(x: Any, /) -> Any:
    if x.dtype in COMPLEX:
        raise unordered("trunc")
    if x.dtype not in FLOATING:
        return tf.identity(x)
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))


def round(x: Any, /) -> Any:
    if x.dtype in COMPLEX:
        return tf.complex(tf.round(tf.math.real(x)), tf.round(tf.math.imag(x)))
    return tf.round(x) if x.dtype in FLOATING else tf.identity(x)


# Exponentials and logarithms ----------------------------------------------------------------------


def exp(x: Any, /) -> Any:
    return _raw.Exp(x=floating(x))


def expm1(x: Any, /) -> Any:
    x = floating(x)
    return _complex_expm1(x) if x.dtype in COMPLEX else tf.math.expm1(x)


def _complex_expm1(x: Any) -> Any:
    """TensorFlow's kernel loses digits near zero and is NaN at the infinities."""
    a, b = tf.math.real(x), tf.math.imag(x)
    zero = tf.zeros([], a.dtype)
    real_part = tf.math.expm1(a) * tf.cos(b) - 2 * tf.square(tf.sin(b / 2))
    real_part = tf.where(tf.equal(real_part, zero), zero, real_part)
    imag_part = tf.where(tf.equal(b, zero), b, tf.exp(a) * tf.sin(b))
    endless = tf.math.is_inf(a) & ~tf.math.is_finite(b)
    real_part = tf.where(endless, tf.where(a > 0, a, -tf.ones([], a.dtype)), real_part)
    imag_part = tf.where(endless & (a < 0), zero, imag_part)
    return tf.complex(real_part, imag_part)


def log(x: Any, /) -> Any:
    x = floating(x)
    return _complex_log(x, 1.0) if x.dtype in COMPLEX else _raw.Log(x=x)


def _complex_log(x: Any, unit: float) -> Any:
    """The kernel squares the parts: NaN from 1e19 on, and below 1e-19, in complex64."""
    a, b = tf.math.real(x), tf.math.imag(x)
    return tf.complex(tf.math.log(hypot(a, b)) / unit, tf.math.atan2(b, a) / unit)


def log1p(x: Any, /) -> Any:
    x = floating(x)
    return _complex_log1p(x) if x.dtype in COMPLEX else tf.math.log1p(x)


def _complex_log1p(x: Any) -> Any:
    """TensorFlow's kernel is NaN at the infinities."""
    a, b = tf.math.real(x), tf.math.imag(x)
    near = (tf.abs(a) < 0.5) & (tf.abs(b) < 0.5)
    zero = tf.zeros([], a.dtype)
    small_a, small_b = tf.where(near, a, zero), tf.where(near, b, zero)
    close = tf.math.log1p(small_a * (2 + small_a) + small_b * small_b) / 2
    far = tf.math.log(tf.where(near, tf.ones([], a.dtype), hypot(1 + a, b)))
    return tf.complex(tf.where(near, close, far), tf.math.atan2(b, 1 + a))


def log2(x: Any, /) -> Any:
    x = floating(x)
    if x.dtype in COMPLEX:
        return _complex_log(x, _LN2)
    return tf.math.log(x) / tf.constant(_LN2, x.dtype)


def log10(x: Any, /) -> Any:
    x = floating(x)
    if x.dtype in COMPLEX:
        return _complex_log(x, _LN10)
    return tf.math.log(x) / tf.constant(_LN10, x.dtype)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    first = x1 >= x2
    high, low = tf.where(first, x1, x2), tf.where(first, x2, x1)
    # Two equal infinities differ by NaN, where the sum is that infinity.
    level = tf.equal(high, low) & tf.math.is_inf(high)
    distance = tf.where(level, tf.zeros([], x1.dtype), low - high)
    return tf.where(level, high, high + tf.math.softplus(distance))


def erf(x: Any, /) -> Any:
    x = floating(x)
    if x.dtype is tf.float64:
        # The float64 kernel answers infinities with nan; from 10 on erf is 1 to the last digit.
        ten = tf.constant(10.0, x.dtype)
        x = tf.where(tf.abs(x) > ten, tf.sign(x) * ten, x)
    return tf.math.erf(x)


def erfc(x: Any, /) -> Any:
    x = floating(x)
    if x.dtype is tf.float64:
        # The float64 kernel answers infinities with nan; beyond 30 erfc is 0 or 2.
        limit = tf.constant(30.0, x.dtype)
        x = tf.where(tf.abs(x) > limit, tf.sign(x) * limit, x)
    return tf.math.erfc(x)


def erfinv(x: Any, /) -> Any:
    x = floating(x)
    if x.dtype.size < 4:
        return tf.cast(tf.math.erfinv(tf.cast(x, tf.float32)), x.dtype)
    return tf.math.erfinv(x)


# Angles -------------------------------------------------------------------------------------------


def sin(x: Any, /) -> Any:
    return _raw.Sin(x=floating(x))


def cos(x: Any, /) -> Any:
    return _raw.Cos(x=floating(x))


def tan(x: Any, /) -> Any:
    return _raw.Tan(x=floating(x))


def asin(x: Any, /) -> Any:
    return _raw.Asin(x=floating(x))


def acos(x: Any, /) -> Any:
    return _raw.Acos(x=floating(x))


def atan(x: Any, /) -> Any:
    return _raw.Atan(x=floating(x))


def atan2(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    return tf.math.atan2(x1, x2)


def sinh(x: Any, /) -> Any:
    return _raw.Sinh(x=floating(x))


def cosh(x: Any, /) -> Any:
    return _raw.Cosh(x=floating(x))


def tanh(x: Any, /) -> Any:
    if type(x) is Eager and x._datatype_enum() == FLOAT32_ENUM:  # `is_plain`, without the call
        return _raw.Tanh(x=x)
    x = floating(x)
    y = _raw.Tanh(x=x)
    return y if x.dtype is FLOAT32 or x.dtype in FLOATING else _complex_tanh(x, y)


def _complex_tanh(x: Any, y: Any) -> Any:
    """At the infinities the imaginary zero has the sign of x, where the kernel follows sin(2x)."""
    a, b = tf.math.real(x), tf.math.imag(x)
    limit = tf.complex(tf.math.real(y), copysign(tf.zeros_like(b), b))
    return tf.where(tf.math.is_inf(a) & tf.math.is_finite(b), limit, y)


def asinh(x: Any, /) -> Any:
    return _raw.Asinh(x=floating(x))


def acosh(x: Any, /) -> Any:
    return _raw.Acosh(x=floating(x))


def atanh(x: Any, /) -> Any:
    return _raw.Atanh(x=floating(x))


# Comparisons --------------------------------------------------------------------------------------


def equal(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return _raw.Equal(x=x1, y=x2)


def not_equal(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return _raw.NotEqual(x=x1, y=x2)


def _ordered_pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    x1, x2 = pair(x1, x2)
    if x1.dtype is tf.bool:
        return tf.cast(x1, tf.uint8), tf.cast(x2, tf.uint8)
    return x1, x2


def less(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _ordered_pair(x1, x2)
    return _raw.Less(x=x1, y=x2)


def less_equal(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _ordered_pair(x1, x2)
    return _raw.LessEqual(x=x1, y=x2)


def greater(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _ordered_pair(x1, x2)
    return _raw.Greater(x=x1, y=x2)


def greater_equal(x1: Any, x2: Any, /) -> Any:
    x1, x2 = _ordered_pair(x1, x2)
    return _raw.GreaterEqual(x=x1, y=x2)


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x1, x2 = floating_pair(x1, x2)
    near = tf.abs(x1 - x2) <= atol + rtol * tf.abs(x2)
    result = tf.equal(x1, x2) | (near & isfinite(x1) & isfinite(x2))
    return result | (isnan(x1) & isnan(x2)) if equal_nan else result


# Kinds of values ----------------------------------------------------------------------------------


def _of_parts(fn: Any, x: Any, join: Any, otherwise: Any) -> Any:
    if x.dtype in FLOATING:
        return fn(x)
    if x.dtype in COMPLEX:
        return join(fn(tf.math.real(x)), fn(tf.math.imag(x)))
    return otherwise(x, tf.bool)


def isnan(x: Any, /) -> Any:
    return _of_parts(tf.math.is_nan, x, tf.logical_or, tf.zeros_like)


def isinf(x: Any, /) -> Any:
    return _of_parts(tf.math.is_inf, x, tf.logical_or, tf.zeros_like)


def isfinite(x: Any, /) -> Any:
    return _of_parts(tf.math.is_finite, x, tf.logical_and, tf.ones_like)


def signbit(x: Any, /) -> Any:
    if x.dtype is tf.bool:
        return tf.zeros_like(x)
    return tf.less(bits(tf.convert_to_tensor(x)), 0) if x.dtype in FLOATING else tf.less(x, 0)


def nan_to_num(
    x: Any, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    if x.dtype in COMPLEX:
        parts = [
            nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf)
            for part in (tf.math.real(x), tf.math.imag(x))
        ]
        return tf.complex(parts[0], parts[1])
    if x.dtype not in FLOATING:
        return tf.identity(x)
    high = x.dtype.max if posinf is None else posinf
    low = x.dtype.min if neginf is None else neginf
    infinite = tf.math.is_inf(x)
    x = tf.where(tf.math.is_nan(x), tf.constant(nan, x.dtype), x)
    x = tf.where(infinite & (x > 0), tf.constant(high, x.dtype), x)
    return tf.where(infinite & (x < 0), tf.constant(low, x.dtype), x)


# Complex numbers ----------------------------------------------------------------------------------


def real(x: Any, /) -> Any:
    return tf.math.real(x) if x.dtype in COMPLEX else tf.identity(x)


def imag(x: Any, /) -> Any:
    return tf.math.imag(x) if x.dtype in COMPLEX else tf.zeros_like(x)


def conj(x: Any, /) -> Any:
    return tf.math.conj(x) if x.dtype in COMPLEX else tf.identity(x)


# Logic and bits -----------------------------------------------------------------------------------


def _bools(x1: Any, x2: Any) -> tuple[Any, Any]:
    return _truth(x1), _truth(x2)


def _truth(x: Any) -> Any:
    if isinstance(x, SCALARS):
        return tf.constant(bool(x))
    refuse_others(x)
    return truth(x)


def logical_and(x1: Any, x2: Any, /) -> Any:
    return tf.logical_and(*_bools(x1, x2))


def logical_or(x1: Any, x2: Any, /) -> Any:
    return tf.logical_or(*_bools(x1, x2))


def logical_xor(x1: Any, x2: Any, /) -> Any:
    return tf.not_equal(*_bools(x1, x2))


def logical_not(x: Any, /) -> Any:
    return tf.logical_not(truth(x))


def bitwise_and(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return tf.logical_and(x1, x2) if x1.dtype is tf.bool else tf.bitwise.bitwise_and(x1, x2)


def bitwise_or(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return tf.logical_or(x1, x2) if x1.dtype is tf.bool else tf.bitwise.bitwise_or(x1, x2)


def bitwise_xor(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return tf.not_equal(x1, x2) if x1.dtype is tf.bool else tf.bitwise.bitwise_xor(x1, x2)


def bitwise_invert(x: Any, /) -> Any:
    return tf.logical_not(x) if x.dtype is tf.bool else tf.bitwise.invert(x)


def bitwise_left_shift(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    # TensorFlow leaves open what shifting by the whole width does; here all bits are gone.
    inside = x2 < x1.dtype.size * 8
    return tf.where(inside, tf.bitwise.left_shift(x1, x2), tf.zeros([], x1.dtype))


def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    width = x1.dtype.size * 8
    if x1.dtype in SIGNED:
        return tf.bitwise.right_shift(x1, tf.minimum(x2, tf.constant(width - 1, x2.dtype)))
    return tf.where(x2 < width, tf.bitwise.right_shift(x1, x2), tf.zeros([], x1.dtype))
