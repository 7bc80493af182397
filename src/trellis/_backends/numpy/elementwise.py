"""Element-wise functions on NumPy: plain ufuncs. Traced arrays answer through `__array_ufunc__`."""

from typing import Any

import numpy as np

from ._rules.elementwise import erf as erf

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
]

abs = np.abs
acos = np.arccos
acosh = np.arccosh
asin = np.arcsin
asinh = np.arcsinh
atan = np.arctan
atanh = np.arctanh
bitwise_invert = np.bitwise_invert
ceil = np.ceil
conj = np.conjugate
cos = np.cos
cosh = np.cosh
exp = np.exp
floor = np.floor
isfinite = np.isfinite
isinf = np.isinf
isnan = np.isnan
log = np.log
log2 = np.log2
log10 = np.log10
logical_not = np.logical_not
negative = np.negative
positive = np.positive
reciprocal = np.reciprocal
sign = np.sign
signbit = np.signbit
sin = np.sin
sinh = np.sinh
square = np.square
sqrt = np.sqrt
tan = np.tan
trunc = np.trunc
add = np.add
atan2 = np.arctan2
bitwise_and = np.bitwise_and
bitwise_left_shift = np.bitwise_left_shift
bitwise_or = np.bitwise_or
bitwise_right_shift = np.bitwise_right_shift
bitwise_xor = np.bitwise_xor
copysign = np.copysign
divide = np.divide
equal = np.equal
greater = np.greater
greater_equal = np.greater_equal
hypot = np.hypot
less = np.less
less_equal = np.less_equal
logaddexp = np.logaddexp
logical_and = np.logical_and
logical_or = np.logical_or
logical_xor = np.logical_xor
maximum = np.maximum
minimum = np.minimum
multiply = np.multiply
nextafter = np.nextafter
not_equal = np.not_equal
pow = np.power
remainder = np.remainder
subtract = np.subtract


_np_tanh = np.tanh  # found faster than in NumPy's module, which has a `__getattr__`


def tanh(x: Any, /) -> Any:
    return _complex_tanh(x) if x.dtype.kind == "c" else _np_tanh(x)


def _complex_tanh(x: Any) -> Any:
    """At the infinities the imaginary zero has the sign of x, where NumPy follows sin(2x)."""
    y, b = np.tanh(x), np.imag(x)
    limit = _joined(np.real(y), np.copysign(np.zeros_like(b), b))
    return np.where(np.isinf(np.real(x)) & np.isfinite(b), limit, y)


def expm1(x: Any, /) -> Any:
    return _complex_expm1(x) if x.dtype.kind == "c" else np.expm1(x)


def _complex_expm1(x: Any) -> Any:
    """exp(a + ib) - 1 without cancellation, and with the standard's answers at infinity."""
    a, b = np.real(x), np.imag(x)
    no_angle = (b == 0) | (np.isinf(a) & (a < 0) & ~np.isfinite(b))
    # At a = -inf any angle gives -1, at b = 0 the number is real.
    angle = np.where(no_angle, np.zeros((), b.dtype), b)
    is_far = np.isinf(a) & (a > 0) & ~np.isfinite(angle)
    with np.errstate(invalid="ignore"):  # nan is the answer there
        half = np.sin(angle / 2)
        real_part = np.where(
            b == 0, np.expm1(a) + 0.0, np.expm1(a) * np.cos(angle) - 2 * half * half
        )
        imag_part = np.where(no_angle, np.where(b == 0, b, angle), np.exp(a) * np.sin(angle))
    return _joined(np.where(is_far, a, real_part), imag_part)


def log1p(x: Any, /) -> Any:
    return _complex_log1p(x) if x.dtype.kind == "c" else np.log1p(x)


def _complex_log1p(x: Any) -> Any:
    """NumPy adds the 1 before the logarithm, which loses the real part of a small number."""
    y, a, b = np.log1p(x), np.real(x), np.imag(x)
    is_small, zero = (np.abs(a) < 0.5) & (np.abs(b) < 0.5), np.zeros((), a.dtype)
    a, b = np.where(is_small, a, zero), np.where(is_small, b, zero)
    near = np.log1p(a * (2 + a) + b * b) / 2
    return _joined(np.where(is_small, near, np.real(y)), np.imag(y))


def _joined(real_part: Any, imag_part: Any) -> Any:
    """A complex array from its parts; `a + 1j * b` alone would make nan of an infinite `b`."""
    plain = (np.ndarray, np.generic)
    if not (isinstance(real_part, plain) and isinstance(imag_part, plain)):
        return real_part + 1j * imag_part  # traced: the sum has a derivative
    joined = np.empty(real_part.shape, dtype=np.result_type(real_part, np.complex64))
    joined.real, joined.imag = real_part, imag_part
    return joined


def floor_divide(x1: Any, x2: Any, /) -> Any:
    quotient = np.floor_divide(x1, x2)
    if quotient.dtype.kind != "f":
        return quotient
    # NumPy answers inf // 1 with nan and 1 // -inf with -1; the standard with inf and -0.
    is_infinite = np.isinf(x1) | np.isinf(x2)
    if not np.any(is_infinite):
        return quotient
    with np.errstate(invalid="ignore"):
        return np.where(is_infinite, np.floor(np.divide(x1, x2)), quotient)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    # Array bounds take the dtype of x, as the standard asks; Python numbers do so by themselves.
    low = np.astype(min, x.dtype) if hasattr(min, "dtype") and min.dtype != x.dtype else min
    high = np.astype(max, x.dtype) if hasattr(max, "dtype") and max.dtype != x.dtype else max
    if low is None and high is None:
        return np.positive(x) if x.dtype != np.bool_ else x
    return np.clip(x, low, high)


def imag(x: Any, /) -> Any:
    return np.imag(x)


def real(x: Any, /) -> Any:
    return np.real(x)


def round(x: Any, /) -> Any:
    return np.round(x)


def nan_to_num(x: Any, /, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    return np.isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)
