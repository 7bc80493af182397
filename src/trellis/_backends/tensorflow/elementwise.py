"""Functions of single elements, or of two elements at the same position."""

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..._core.errors import DtypeError
from ..._core.guards import unordered
from ..._ops import TABLE, record
from ..._ops.elementwise import OPS
from ..._ops.making import Wrap, functions_in, made, plainly
from . import _portable
from ._helpers import (
    COMPLEX,
    FLOAT32,
    FLOAT32_ENUM,
    FLOATING,
    SCALARS,
    SIGNED,
    UNSIGNED,
    Eager,
    cast,
    floating,
    floating_pair,
    is_plain_pair,
    may_differentiate,
    pair,
    refuse_others,
    scalar,
    truth,
)
from ._private import datatype_of
from ._types import Tensor

# The plain operations: the same kernels and gradients as those of tf.math, without the layers of
# Python above them, which take twice as long as the kernel of a small tensor.
_raw = tf.raw_ops

_LN2, _LN10 = math.log(2), math.log(10)


# Promotion ----------------------------------------------------------------------------------------


def _kernel(name: str) -> Any:
    """The plain operation: its name is the last of its names in the reader's table."""
    return getattr(_raw, TABLE[name].reads["tensorflow"].split()[-1])


def _of_floats(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    kernel = None if hasattr(_portable, name) else _kernel(name)

    def call(x: Tensor, /) -> Any:
        return fn(floating(x)) if kernel is None else kernel(x=floating(x))

    call.__name__ = call.__qualname__ = name
    return call


def _of_pairs(meet: Callable[[Any, Any], tuple[Any, Any]]) -> Wrap:
    def wrap(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
        kernel = None if hasattr(_portable, name) else _kernel(name)

        def call(x1: Any, x2: Any, /) -> Any:
            x1, x2 = meet(x1, x2)
            return fn(x1, x2) if kernel is None else kernel(x=x1, y=x2)

        call.__name__ = call.__qualname__ = name
        return call

    return wrap


def _ordered_pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    x1, x2 = pair(x1, x2)
    if x1.dtype is tf.bool:
        return tf.cast(x1, tf.uint8), tf.cast(x2, tf.uint8)
    return x1, x2


def _bools(x1: Any, x2: Any) -> tuple[Any, Any]:
    """An element is true or false whatever its type: no promotion is needed."""
    return _truth(x1), _truth(x2)


def _truth(x: Tensor) -> Any:
    if isinstance(x, SCALARS):
        return tf.constant(bool(x))
    refuse_others(x)
    return truth(x)


globals().update(
    made(
        [op for op in OPS if "tensorflow" in op.reads or hasattr(_portable, op.key)],
        "tensorflow",
        {"tf": tf},
        functions_in(_portable),
        {
            record.LIKE: plainly,
            record.QUESTION: plainly,
            record.FLOATS: _of_floats,
            record.PROMOTED: _of_pairs(pair),
            record.EQUALITY: _of_pairs(pair),
            record.COMPARISON: _of_pairs(_ordered_pair),
            record.FLOAT_PAIR: _of_pairs(floating_pair),
            record.LOGICAL: _of_pairs(_bools),
        },
    )
)

# Arithmetic ---------------------------------------------------------------------------------------


def add(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return tf.logical_or(x1, x2) if x1.dtype is tf.bool else _raw.AddV2(x=x1, y=x2)


def multiply(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    return tf.logical_and(x1, x2) if x1.dtype is tf.bool else _raw.Mul(x=x1, y=x2)


def pow(x1: Any, x2: Any, /) -> Any:
    is_number = type(x2) is int
    x1, x2 = pair(x1, x2)
    return tf.pow(x1, x2) if is_number and x1.dtype in SIGNED else _portable.pow(x1, x2)


def negative(x: Tensor, /) -> Any:
    if x.dtype in UNSIGNED:
        return tf.subtract(tf.zeros([], x.dtype), x)
    return _raw.Neg(x=x)


def positive(x: Tensor, /) -> Any:
    if x.dtype is tf.bool:
        raise DtypeError("positive() is for numbers, got an array of bool.")
    return tf.identity(x)


def abs(x: Tensor, /) -> Any:
    if x.dtype is FLOAT32:
        return _raw.Abs(x=x)
    if x.dtype in UNSIGNED or x.dtype is tf.bool:
        return tf.identity(x)
    return tf.abs(x)


def sign(x: Tensor, /) -> Any:
    if x.dtype in UNSIGNED:
        return tf.cast(tf.not_equal(x, tf.zeros([], x.dtype)), x.dtype)
    return _complex_sign(x) if x.dtype in COMPLEX else tf.sign(x)


def _complex_sign(x: Tensor) -> Any:
    """x / |x|; the kernel returns 0 below 1e-19 in complex64."""
    a, b = tf.math.real(x), tf.math.imag(x)
    length, zero = _portable.hypot(a, b), tf.zeros([], a.dtype)
    is_zero = tf.equal(length, zero)
    length = tf.where(is_zero, tf.ones([], a.dtype), length)
    # The result for a zero has no sign, whatever its own.
    a, b = tf.where(is_zero, zero, a), tf.where(is_zero, zero, b)
    return tf.complex(a / length, b / length)


def square(x: Tensor, /) -> Any:
    return _raw.Square(x=x) if x.dtype is not tf.bool else tf.identity(x)


def _extreme(name: str) -> Callable[..., Any]:
    """For two eager float32 tensors that are not differentiated, the kernel itself."""
    kernel, portable = _kernel(name), getattr(_portable, name)

    def call(x1: Any, x2: Any, /) -> Any:
        if is_plain_pair(x1, x2):
            extreme = kernel(x=x1, y=x2)
            if type(extreme) is Eager:
                return extreme
        x1, x2 = pair(x1, x2)
        if x1.dtype is tf.bool or may_differentiate():
            return portable(x1, x2)
        return kernel(x=x1, y=x2)

    call.__name__ = call.__qualname__ = name
    return call


maximum, minimum = _extreme("maximum"), _extreme("minimum")


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Any:
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


def _bound(bound: Any, x: Tensor) -> Any:
    """A number must fit the type of x."""
    return scalar(bound, x.dtype) if isinstance(bound, SCALARS) else bound


# Rounding -----------------------------------------------------------------------------------------


def floor(x: Tensor, /) -> Any:
    if x.dtype in COMPLEX:
        raise unordered("floor")
    return tf.floor(x) if x.dtype in FLOATING else tf.identity(x)


def ceil(x: Tensor, /) -> Any:
    if x.dtype in COMPLEX:
        raise unordered("ceil")
    return tf.math.ceil(x) if x.dtype in FLOATING else tf.identity(x)


def trunc(x: Tensor, /) -> Any:
    if x.dtype in COMPLEX:
        raise unordered("trunc")
    return _portable.trunc(x)


def round(x: Tensor, /) -> Any:
    if x.dtype in COMPLEX:
        return tf.complex(tf.round(tf.math.real(x)), tf.round(tf.math.imag(x)))
    return tf.round(x) if x.dtype in FLOATING else tf.identity(x)


# Exponentials and logarithms ----------------------------------------------------------------------


def expm1(x: Tensor, /) -> Any:
    x = floating(x)
    return _complex_expm1(x) if x.dtype in COMPLEX else tf.math.expm1(x)


def _complex_expm1(x: Tensor) -> Any:
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


def log(x: Tensor, /) -> Any:
    x = floating(x)
    return _complex_log(x, 1.0) if x.dtype in COMPLEX else _raw.Log(x=x)


def _complex_log(x: Tensor, unit: float) -> Any:
    """The kernel squares the parts: NaN from 1e19 on, and below 1e-19, in complex64."""
    a, b = tf.math.real(x), tf.math.imag(x)
    return tf.complex(tf.math.log(_portable.hypot(a, b)) / unit, tf.math.atan2(b, a) / unit)


def log1p(x: Tensor, /) -> Any:
    x = floating(x)
    return _complex_log1p(x) if x.dtype in COMPLEX else tf.math.log1p(x)


def _complex_log1p(x: Tensor) -> Any:
    """TensorFlow's kernel is NaN at the infinities."""
    a, b = tf.math.real(x), tf.math.imag(x)
    near = (tf.abs(a) < 0.5) & (tf.abs(b) < 0.5)
    zero = tf.zeros([], a.dtype)
    small_a, small_b = tf.where(near, a, zero), tf.where(near, b, zero)
    close = tf.math.log1p(small_a * (2 + small_a) + small_b * small_b) / 2
    far = tf.math.log(tf.where(near, tf.ones([], a.dtype), _portable.hypot(1 + a, b)))
    return tf.complex(tf.where(near, close, far), tf.math.atan2(b, 1 + a))


def log2(x: Tensor, /) -> Any:
    x = floating(x)
    return _complex_log(x, _LN2) if x.dtype in COMPLEX else _portable.log2(x)


def log10(x: Tensor, /) -> Any:
    x = floating(x)
    return _complex_log(x, _LN10) if x.dtype in COMPLEX else _portable.log10(x)


# Angles -------------------------------------------------------------------------------------------


def atan2(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    return _raw.Atan2(y=x1, x=x2)


def tanh(x: Tensor, /) -> Any:
    if type(x) is Eager and datatype_of(x) == FLOAT32_ENUM:  # `is_plain`, without the call
        return _raw.Tanh(x=x)
    x = floating(x)
    y = _raw.Tanh(x=x)
    return y if x.dtype is FLOAT32 or x.dtype in FLOATING else _complex_tanh(x, y)


def _complex_tanh(x: Tensor, y: Tensor) -> Any:
    """At the infinities the imaginary zero has the sign of x, where the kernel follows sin(2x)."""
    a, b = tf.math.real(x), tf.math.imag(x)
    limit = tf.complex(tf.math.real(y), _portable.copysign(tf.zeros_like(b), b))
    return tf.where(tf.math.is_inf(a) & tf.math.is_finite(b), limit, y)


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x1, x2 = floating_pair(x1, x2)
    return _portable.isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)


# Kinds of values ----------------------------------------------------------------------------------


def _of_parts(fn: Any, x: Tensor, join: Any, otherwise: Any) -> Any:
    if x.dtype in FLOATING:
        return fn(x)
    if x.dtype in COMPLEX:
        return join(fn(tf.math.real(x)), fn(tf.math.imag(x)))
    return otherwise(x, tf.bool)


def isnan(x: Tensor, /) -> Any:
    return _of_parts(tf.math.is_nan, x, tf.logical_or, tf.zeros_like)


def isinf(x: Tensor, /) -> Any:
    return _of_parts(tf.math.is_inf, x, tf.logical_or, tf.zeros_like)


def isfinite(x: Tensor, /) -> Any:
    return _of_parts(tf.math.is_finite, x, tf.logical_and, tf.ones_like)


def nan_to_num(
    x: Tensor, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    return _portable.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


# Complex numbers ----------------------------------------------------------------------------------


def real(x: Tensor, /) -> Any:
    return tf.math.real(x) if x.dtype in COMPLEX else tf.identity(x)


def imag(x: Tensor, /) -> Any:
    return tf.math.imag(x) if x.dtype in COMPLEX else tf.zeros_like(x)


def conj(x: Tensor, /) -> Any:
    return tf.math.conj(x) if x.dtype in COMPLEX else tf.identity(x)


# Logic and bits -----------------------------------------------------------------------------------


def logical_xor(x1: Any, x2: Any, /) -> Any:
    return tf.not_equal(_truth(x1), _truth(x2))


def logical_not(x: Tensor, /) -> Any:
    return tf.logical_not(truth(x))
