"""Functions of single elements, or of two elements at the same position."""

import math
from typing import Any

import mlx.core as mx

from trellis.backend import on_host, unordered
from trellis.errors import DtypeError

from . import float64, portable, random
from .gradients import of_one
from .types import (
    BOOL,
    C64,
    COMPLEXES,
    F64,
    INEXACT,
    UNSIGNED,
    array,
    as_float,
    both,
    check_number,
    real_only,
    two_floats,
)

# Of floats ----------------------------------------------------------------------------------------


def _of_floats(native: Any, wide: Any = None, of_complex: Any = None) -> Any:
    """MLX's function; in float64 and for complex numbers another one where it is not exact."""
    wide = native if wide is None else wide
    of_complex = native if of_complex is None else of_complex

    def call(x: Any, /) -> Any:
        x = as_float(x)
        if x.dtype == F64:
            return wide(x)
        return of_complex(x) if x.dtype == C64 else native(x)

    return call


def _refused(name: str) -> Any:
    return lambda x: real_only(name, x)


def _on_numpy(name: str) -> Any:
    def call(x: Any) -> Any:
        from . import backend

        return on_host(name, backend)(x)

    return call


def _complex_log10(x: Any) -> Any:
    return mx.log(x) / math.log(10)


def _complex_log2(x: Any) -> Any:
    return mx.log(x) / math.log(2)


acos = _of_floats(mx.arccos)
acosh = _of_floats(mx.arccosh)
asin = _of_floats(mx.arcsin)
asinh = _of_floats(mx.arcsinh)
atan = _of_floats(mx.arctan)
atanh = _of_floats(mx.arctanh)
cos = _of_floats(mx.cos, float64.cos)
cosh = _of_floats(mx.cosh)
exp = _of_floats(mx.exp, float64.exp)
expm1 = _of_floats(mx.expm1, float64.expm1, _on_numpy("expm1"))
log = _of_floats(mx.log)
log10 = _of_floats(mx.log10, of_complex=_complex_log10)
log1p = _of_floats(mx.log1p, of_complex=_on_numpy("log1p"))
log2 = _of_floats(mx.log2, of_complex=_complex_log2)
sin = _of_floats(mx.sin, float64.sin)
sinh = _of_floats(mx.sinh)
sqrt = _of_floats(mx.sqrt)
tan = _of_floats(mx.tan, float64.tan)
tanh = _of_floats(mx.tanh)
rsqrt = _of_floats(mx.rsqrt)
sigmoid = _of_floats(mx.sigmoid, float64.sigmoid)
erf = _of_floats(mx.erf, float64.erf, _refused("erf"))
erfc = _of_floats(float64.in_float64(float64.erfc), float64.erfc, _refused("erfc"))

erfinv = _of_floats(
    of_one(
        random.erfinv,
        lambda x, y, upstream: upstream * (math.sqrt(math.pi) / 2) * exp(mx.square(erfinv(x))),
    ),
    of_complex=_refused("erfinv"),
)


cbrt = _of_floats(
    of_one(portable.cbrt, lambda x, y, upstream: upstream / (3 * mx.square(cbrt(x)))),
    of_complex=_refused("cbrt"),
)


def exp2(x: Any, /) -> Any:
    return portable.exp2(as_float(x))


def reciprocal(x: Any, /) -> Any:
    return mx.reciprocal(as_float(x))


# Of any numbers -----------------------------------------------------------------------------------


def abs(x: Any, /) -> Any:
    return x if x.dtype in UNSIGNED else mx.abs(x)


def _whole(native: Any) -> Any:
    def call(x: Any, /) -> Any:
        return native(x) if x.dtype in INEXACT else x

    return call


ceil, floor, trunc = _whole(mx.ceil), _whole(mx.floor), _whole(mx.trunc)


def round(x: Any, /) -> Any:
    return mx.round(x) if x.dtype in INEXACT else x


def negative(x: Any, /) -> Any:
    _check_no_bools("negative", x)
    return mx.negative(x)


def positive(x: Any, /) -> Any:
    _check_no_bools("positive", x)
    return x


def _check_no_bools(function: str, x: Any) -> None:
    if x.dtype == BOOL:
        raise DtypeError(f"{function}() is for numbers, got an array of bools.")


def square(x: Any, /) -> Any:
    return mx.square(x)


def sign(x: Any, /) -> Any:
    _check_no_bools("sign", x)
    return portable.sign(x)


def signbit(x: Any, /) -> Any:
    return portable.signbit(real_only("signbit", x))


def conj(x: Any, /) -> Any:
    return mx.conj(x) if x.dtype in COMPLEXES else x


def real(x: Any, /) -> Any:
    return mx.real(x) if x.dtype in COMPLEXES else x


def imag(x: Any, /) -> Any:
    if x.dtype in COMPLEXES:
        return mx.imag(x)
    return mx.zeros_like(x)


def isnan(x: Any, /) -> Any:
    return mx.isnan(x)


def isinf(x: Any, /) -> Any:
    return mx.isinf(x)


def isfinite(x: Any, /) -> Any:
    return mx.isfinite(x)


def logical_not(x: Any, /) -> Any:
    return mx.logical_not(x)


def bitwise_invert(x: Any, /) -> Any:
    return mx.logical_not(x) if x.dtype == BOOL else mx.bitwise_invert(x)


# Of two arguments ---------------------------------------------------------------------------------


def _promoted(native: Any) -> Any:
    def call(x1: Any, x2: Any, /) -> Any:
        return native(*both(x1, x2))

    return call


add, subtract, multiply = _promoted(mx.add), _promoted(mx.subtract), _promoted(mx.multiply)
bitwise_and = _promoted(mx.bitwise_and)
bitwise_or = _promoted(mx.bitwise_or)
bitwise_xor = _promoted(mx.bitwise_xor)
bitwise_left_shift = _promoted(portable.bitwise_left_shift)
bitwise_right_shift = _promoted(portable.bitwise_right_shift)
equal, not_equal = _promoted(mx.equal), _promoted(mx.not_equal)


def _ordered(name: str, native: Any) -> Any:
    def call(x1: Any, x2: Any, /) -> Any:
        a, b = both(x1, x2)
        if a.dtype in COMPLEXES:
            raise unordered(name)
        return native(a, b)

    return call


greater, less = _ordered("greater", mx.greater), _ordered("less", mx.less)
greater_equal = _ordered("greater_equal", mx.greater_equal)
less_equal = _ordered("less_equal", mx.less_equal)


maximum = _ordered("maximum", portable.maximum)
minimum = _ordered("minimum", portable.minimum)
floor_divide = _ordered("floor_divide", portable.floor_divide)
remainder = _ordered("remainder", portable.remainder)


def _truth(x: Any) -> Any:
    if not isinstance(x, array):
        check_number(x)
        return array(bool(x))
    return x if x.dtype == BOOL else x != 0


def logical_and(x1: Any, x2: Any, /) -> Any:
    return mx.logical_and(_truth(x1), _truth(x2))


def logical_or(x1: Any, x2: Any, /) -> Any:
    return mx.logical_or(_truth(x1), _truth(x2))


def logical_xor(x1: Any, x2: Any, /) -> Any:
    return mx.not_equal(_truth(x1), _truth(x2))


def divide(x1: Any, x2: Any, /) -> Any:
    return mx.divide(*two_floats(x1, x2))


def atan2(x1: Any, x2: Any, /) -> Any:
    return mx.arctan2(*two_floats(x1, x2))


def pow(x1: Any, x2: Any, /) -> Any:
    a, b = both(x1, x2)
    if a.dtype not in INEXACT:
        return portable.pow(a, b)
    return _power(*mx.broadcast_arrays(a, b))


def _power_vjp(primals: Any, upstream: Any, y: Any) -> Any:
    """0 for the exponent 0, and by the exponent for the base 0: MLX's are nan."""
    a, b = primals
    one = mx.ones_like(a)
    by_base = mx.where(b == 0, 0, b * pow(a, mx.where(b == 0, one, b - 1)))
    by_exponent = mx.where(a == 0, 0, pow(a, b) * log(mx.where(a == 0, one, a)))
    if a.dtype == C64:
        by_base, by_exponent = mx.conj(by_base), mx.conj(by_exponent)
    return upstream * by_base, upstream * by_exponent


_power = mx.custom_function(lambda a, b: mx.power(a, b))
_power.vjp(_power_vjp)


def fmod(x1: Any, x2: Any, /) -> Any:
    """The remainder with the sign of x1."""
    a, b = both(x1, x2)
    return portable.fmod(real_only("fmod", a), b)


truncate_divide = _promoted(portable.truncate_divide)


def copysign(x1: Any, x2: Any, /) -> Any:
    a, b = two_floats(x1, x2)
    return portable.copysign(real_only("copysign", a), b)


def hypot(x1: Any, x2: Any, /) -> Any:
    a, b = two_floats(x1, x2)
    return portable.hypot(real_only("hypot", a), b)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    a, b = two_floats(x1, x2)
    real_only("logaddexp", a)
    return float64.logaddexp(a, b) if a.dtype == F64 else mx.logaddexp(a, b)
