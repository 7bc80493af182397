"""Functions that work element by element; two arrays broadcast against each other. Integers
combined with floats take the float's type, integers in functions that need floats the default
float, and Python numbers never widen an array: one table for all four (docs/dtypes.md).
"""

from .._core.dispatch import xp_of, xp_of_all, xp_of_pair
from .._core.explain import explain
from .._core.guards import check_flag, check_number, check_tolerances
from .._core.typing import A, Scalar


def abs(x: A, /) -> A:
    """Absolute value; for complex numbers the magnitude, which is real.

    >>> import numpy as np, trellis
    >>> trellis.abs(np.array([-1.5, 2.0]))
    array([1.5, 2. ])
    """
    try:
        return xp_of(x).abs(x)
    except Exception as error:
        return explain(error, abs)


def acos(x: A, /) -> A:
    """Inverse cosine, in [0, pi]; nan outside [-1, 1].

    >>> import numpy as np, trellis
    >>> trellis.acos(np.array([1.0, 0.0]))
    array([0.        , 1.57079633])
    """
    try:
        return xp_of(x).acos(x)
    except Exception as error:
        return explain(error, acos)


def acosh(x: A, /) -> A:
    """Inverse hyperbolic cosine; nan below 1.

    >>> import numpy as np, trellis
    >>> trellis.acosh(np.array([1.0, 2.0]))
    array([0.       , 1.3169579])
    """
    try:
        return xp_of(x).acosh(x)
    except Exception as error:
        return explain(error, acosh)


def add(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Sum of two arrays.

    >>> import numpy as np, trellis
    >>> trellis.add(np.array([1, 2]), np.array([10, 20]))
    array([11, 22])
    """
    try:
        return xp_of_pair(x1, x2).add(x1, x2)
    except Exception as error:
        return explain(error, add)


def asin(x: A, /) -> A:
    """Inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1].

    >>> import numpy as np, trellis
    >>> trellis.asin(np.array([0.0, 1.0]))
    array([0.        , 1.57079633])
    """
    try:
        return xp_of(x).asin(x)
    except Exception as error:
        return explain(error, asin)


def asinh(x: A, /) -> A:
    """Inverse hyperbolic sine.

    >>> import numpy as np, trellis
    >>> trellis.asinh(np.array([0.0, 1.0]))
    array([0.        , 0.88137359])
    """
    try:
        return xp_of(x).asinh(x)
    except Exception as error:
        return explain(error, asinh)


def atan(x: A, /) -> A:
    """Inverse tangent, in [-pi/2, pi/2].

    >>> import numpy as np, trellis
    >>> trellis.atan(np.array([0.0, 1.0]))
    array([0.        , 0.78539816])
    """
    try:
        return xp_of(x).atan(x)
    except Exception as error:
        return explain(error, atan)


def atan2(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Angle of the point (x2, x1) in the plane, in [-pi, pi]: the quadrant is kept.

    >>> import numpy as np, trellis
    >>> trellis.atan2(np.array([1.0, 1.0]), np.array([1.0, -1.0]))
    array([0.78539816, 2.35619449])
    """
    try:
        return xp_of_pair(x1, x2).atan2(x1, x2)
    except Exception as error:
        return explain(error, atan2)


def atanh(x: A, /) -> A:
    """Inverse hyperbolic tangent; infinite at -1 and 1, nan outside.

    >>> import numpy as np, trellis
    >>> trellis.atanh(np.array([0.0, 0.5]))
    array([0.        , 0.54930614])
    """
    try:
        return xp_of(x).atanh(x)
    except Exception as error:
        return explain(error, atanh)


def bitwise_and(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Bits set in both; for bools the logical and.

    >>> import numpy as np, trellis
    >>> trellis.bitwise_and(np.array([6, 3]), np.array([3, 1]))
    array([2, 1])
    """
    try:
        return xp_of_pair(x1, x2).bitwise_and(x1, x2)
    except Exception as error:
        return explain(error, bitwise_and)


def bitwise_invert(x: A, /) -> A:
    """Every bit inverted; for bools the logical not.

    >>> import numpy as np, trellis
    >>> trellis.bitwise_invert(np.array([0, 5]))
    array([-1, -6])
    """
    try:
        return xp_of(x).bitwise_invert(x)
    except Exception as error:
        return explain(error, bitwise_invert)


def bitwise_left_shift(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Bits moved left, which multiplies by powers of two.

    >>> import numpy as np, trellis
    >>> trellis.bitwise_left_shift(np.array([1, 3]), np.array([2, 1]))
    array([4, 6])
    """
    try:
        return xp_of_pair(x1, x2).bitwise_left_shift(x1, x2)
    except Exception as error:
        return explain(error, bitwise_left_shift)


def bitwise_or(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Bits set in either; for bools the logical or.

    >>> import numpy as np, trellis
    >>> trellis.bitwise_or(np.array([6, 1]), np.array([1, 2]))
    array([7, 3])
    """
    try:
        return xp_of_pair(x1, x2).bitwise_or(x1, x2)
    except Exception as error:
        return explain(error, bitwise_or)


def bitwise_right_shift(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Bits moved right, the sign kept: division by powers of two, rounded down.

    >>> import numpy as np, trellis
    >>> trellis.bitwise_right_shift(np.array([8, -5]), np.array([2, 1]))
    array([ 2, -3])
    """
    try:
        return xp_of_pair(x1, x2).bitwise_right_shift(x1, x2)
    except Exception as error:
        return explain(error, bitwise_right_shift)


def bitwise_xor(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Bits set in exactly one; for bools the exclusive or.

    >>> import numpy as np, trellis
    >>> trellis.bitwise_xor(np.array([6, 1]), np.array([3, 1]))
    array([5, 0])
    """
    try:
        return xp_of_pair(x1, x2).bitwise_xor(x1, x2)
    except Exception as error:
        return explain(error, bitwise_xor)


def cbrt(x: A, /) -> A:
    """Cube root, negative for negative numbers.

    >>> import numpy as np, trellis
    >>> trellis.cbrt(np.array([-8.0, 27.0]))
    array([-2.,  3.])
    """
    try:
        return xp_of(x).cbrt(x)
    except Exception as error:
        return explain(error, cbrt)


def ceil(x: A, /) -> A:
    """The nearest whole number that is not smaller; integers stay integers.

    >>> import numpy as np, trellis
    >>> trellis.ceil(np.array([1.2, -1.2]))
    array([ 2., -1.])
    """
    try:
        return xp_of(x).ceil(x)
    except Exception as error:
        return explain(error, ceil)


def clip(x: A, /, min: A | Scalar | None = None, max: A | Scalar | None = None) -> A:
    """The elements limited to `min` and `max`; None means no limit on that side.

    The result has the type of `x`.

    >>> import numpy as np, trellis
    >>> trellis.clip(np.array([-1.0, 0.5, 3.0]), 0, 1)
    array([0. , 0.5, 1. ])
    """
    try:
        return xp_of_all(x, min, max).clip(x, min, max)
    except Exception as error:
        return explain(error, clip)


def conj(x: A, /) -> A:
    """Complex conjugate.

    >>> import numpy as np, trellis
    >>> trellis.conj(np.array([1 + 2j]))
    array([1.-2.j])
    """
    try:
        return xp_of(x).conj(x)
    except Exception as error:
        return explain(error, conj)


def copysign(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """The magnitude of the first with the sign of the second, -0.0 counting as negative.

    >>> import numpy as np, trellis
    >>> trellis.copysign(np.array([1.0, 2.0]), np.array([-0.0, 3.0]))
    array([-1.,  2.])
    """
    try:
        return xp_of_pair(x1, x2).copysign(x1, x2)
    except Exception as error:
        return explain(error, copysign)


def cos(x: A, /) -> A:
    """Cosine of an angle in radians.

    >>> import numpy as np, trellis
    >>> trellis.cos(np.array([0.0, 1.0]))
    array([1.        , 0.54030231])
    """
    try:
        return xp_of(x).cos(x)
    except Exception as error:
        return explain(error, cos)


def cosh(x: A, /) -> A:
    """Hyperbolic cosine.

    >>> import numpy as np, trellis
    >>> trellis.cosh(np.array([0.0, 1.0]))
    array([1.        , 1.54308063])
    """
    try:
        return xp_of(x).cosh(x)
    except Exception as error:
        return explain(error, cosh)


def divide(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Quotient; integers divide to the default float.

    >>> import numpy as np, trellis
    >>> trellis.divide(np.array([1.0, 3.0]), 2)
    array([0.5, 1.5])
    """
    try:
        return xp_of_pair(x1, x2).divide(x1, x2)
    except Exception as error:
        return explain(error, divide)


def equal(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether elements are equal; nan equals nothing.

    >>> import numpy as np, trellis
    >>> trellis.equal(np.array([1, 2]), np.array([1, 3]))
    array([ True, False])
    """
    try:
        return xp_of_pair(x1, x2).equal(x1, x2)
    except Exception as error:
        return explain(error, equal)


def erf(x: A, /) -> A:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.

    >>> import numpy as np, trellis
    >>> trellis.erf(np.array([0.0, 1.0]))
    array([0.        , 0.84270079])
    """
    try:
        return xp_of(x).erf(x)
    except Exception as error:
        return explain(error, erf)


def erfc(x: A, /) -> A:
    """One minus the error function, accurate where it is small.

    >>> import numpy as np, trellis
    >>> trellis.erfc(np.array([0.0, 10.0]))
    array([1.00000000e+00, 2.08848758e-45])
    """
    try:
        return xp_of(x).erfc(x)
    except Exception as error:
        return explain(error, erfc)


def erfinv(x: A, /) -> A:
    """Inverse of the error function; infinite at -1 and 1, nan outside.

    >>> import numpy as np, trellis
    >>> trellis.erfinv(np.array([0.0, 0.5]))
    array([0.        , 0.47693628])
    """
    try:
        return xp_of(x).erfinv(x)
    except Exception as error:
        return explain(error, erfinv)


def exp(x: A, /) -> A:
    """e to the power of each element.

    >>> import numpy as np, trellis
    >>> trellis.exp(np.array([0.0, 1.0]))
    array([1.        , 2.71828183])
    """
    try:
        return xp_of(x).exp(x)
    except Exception as error:
        return explain(error, exp)


def exp2(x: A, /) -> A:
    """2 to the power of x.

    >>> import numpy as np, trellis
    >>> trellis.exp2(np.array([0.0, 3.0]))
    array([1., 8.])
    """
    try:
        return xp_of(x).exp2(x)
    except Exception as error:
        return explain(error, exp2)


def expm1(x: A, /) -> A:
    """exp(x) - 1, accurate near 0.

    >>> import numpy as np, trellis
    >>> trellis.expm1(np.array([0.0, 1e-10]))
    array([0.e+00, 1.e-10])
    """
    try:
        return xp_of(x).expm1(x)
    except Exception as error:
        return explain(error, expm1)


def floor(x: A, /) -> A:
    """The nearest whole number that is not larger; integers stay integers.

    >>> import numpy as np, trellis
    >>> trellis.floor(np.array([1.8, -1.2]))
    array([ 1., -2.])
    """
    try:
        return xp_of(x).floor(x)
    except Exception as error:
        return explain(error, floor)


def floor_divide(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """The floor of the quotient, so that it rounds down for negative numbers too.

    >>> import numpy as np, trellis
    >>> trellis.floor_divide(np.array([7, -7]), 2)
    array([ 3, -4])
    """
    try:
        return xp_of_pair(x1, x2).floor_divide(x1, x2)
    except Exception as error:
        return explain(error, floor_divide)


def fmod(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Remainder of a division rounded towards zero: it has the sign of `x1` (C, NumPy and torch).

    `remainder` has the sign of `x2` instead. Integers stay integers.

    >>> import numpy as np, trellis
    >>> trellis.fmod(np.array([-7, 7]), 3)
    array([-1,  1])
    """
    try:
        return xp_of_pair(x1, x2).fmod(x1, x2)
    except Exception as error:
        return explain(error, fmod)


def greater(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether the first is greater.

    >>> import numpy as np, trellis
    >>> trellis.greater(np.array([1, 3]), 2)
    array([False,  True])
    """
    try:
        return xp_of_pair(x1, x2).greater(x1, x2)
    except Exception as error:
        return explain(error, greater)


def greater_equal(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether the first is greater or equal.

    >>> import numpy as np, trellis
    >>> trellis.greater_equal(np.array([1, 2]), 2)
    array([False,  True])
    """
    try:
        return xp_of_pair(x1, x2).greater_equal(x1, x2)
    except Exception as error:
        return explain(error, greater_equal)


def hypot(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """sqrt(x1**2 + x2**2) without intermediate overflow.

    >>> import numpy as np, trellis
    >>> trellis.hypot(np.array([3.0]), np.array([4.0]))
    array([5.])
    """
    try:
        return xp_of_pair(x1, x2).hypot(x1, x2)
    except Exception as error:
        return explain(error, hypot)


def imag(x: A, /) -> A:
    """Imaginary part, as a real array.

    >>> import numpy as np, trellis
    >>> trellis.imag(np.array([1 + 2j]))
    array([2.])
    """
    try:
        return xp_of(x).imag(x)
    except Exception as error:
        return explain(error, imag)


def isclose(
    x1: A | Scalar,
    x2: A | Scalar,
    /,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> A:
    """Whether abs(x1 - x2) <= atol + rtol * abs(x2); infinities of one sign are close.

    >>> import numpy as np, trellis
    >>> trellis.isclose(np.array([1.0, 2.0]), np.array([1.0 + 1e-7, 2.1]))
    array([ True, False])
    """
    try:
        if equal_nan is not False:
            check_flag(equal_nan)
        check_tolerances("isclose", rtol, atol)
        xp = xp_of_pair(x1, x2)
        return xp.isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)
    except Exception as error:
        return explain(error, isclose)


def isfinite(x: A, /) -> A:
    """Whether elements are neither infinite nor nan.

    >>> import numpy as np, trellis
    >>> trellis.isfinite(np.array([1.0, np.inf, np.nan]))
    array([ True, False, False])
    """
    try:
        return xp_of(x).isfinite(x)
    except Exception as error:
        return explain(error, isfinite)


def isinf(x: A, /) -> A:
    """Whether elements are infinite, of either sign.

    >>> import numpy as np, trellis
    >>> trellis.isinf(np.array([1.0, -np.inf, np.nan]))
    array([False,  True, False])
    """
    try:
        return xp_of(x).isinf(x)
    except Exception as error:
        return explain(error, isinf)


def isnan(x: A, /) -> A:
    """Whether elements are nan.

    >>> import numpy as np, trellis
    >>> trellis.isnan(np.array([1.0, np.inf, np.nan]))
    array([False, False,  True])
    """
    try:
        return xp_of(x).isnan(x)
    except Exception as error:
        return explain(error, isnan)


def less(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether the first is smaller.

    >>> import numpy as np, trellis
    >>> trellis.less(np.array([1, 3]), 2)
    array([ True, False])
    """
    try:
        return xp_of_pair(x1, x2).less(x1, x2)
    except Exception as error:
        return explain(error, less)


def less_equal(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether the first is smaller or equal.

    >>> import numpy as np, trellis
    >>> trellis.less_equal(np.array([2, 3]), 2)
    array([ True, False])
    """
    try:
        return xp_of_pair(x1, x2).less_equal(x1, x2)
    except Exception as error:
        return explain(error, less_equal)


def log(x: A, /) -> A:
    """Natural logarithm; -inf at 0, nan below.

    >>> import numpy as np, trellis
    >>> trellis.log(np.array([1.0, np.e]))
    array([0., 1.])
    """
    try:
        return xp_of(x).log(x)
    except Exception as error:
        return explain(error, log)


def log10(x: A, /) -> A:
    """Logarithm to the base 10.

    >>> import numpy as np, trellis
    >>> trellis.log10(np.array([1.0, 100.0]))
    array([0., 2.])
    """
    try:
        return xp_of(x).log10(x)
    except Exception as error:
        return explain(error, log10)


def log1p(x: A, /) -> A:
    """log(1 + x), accurate near 0.

    >>> import numpy as np, trellis
    >>> trellis.log1p(np.array([0.0, 1e-10]))
    array([0.e+00, 1.e-10])
    """
    try:
        return xp_of(x).log1p(x)
    except Exception as error:
        return explain(error, log1p)


def log2(x: A, /) -> A:
    """Logarithm to the base 2.

    >>> import numpy as np, trellis
    >>> trellis.log2(np.array([1.0, 8.0]))
    array([0., 3.])
    """
    try:
        return xp_of(x).log2(x)
    except Exception as error:
        return explain(error, log2)


def logaddexp(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """log(exp(x1) + exp(x2)) without intermediate overflow.

    >>> import numpy as np, trellis
    >>> trellis.logaddexp(np.array([1000.0]), np.array([1000.0]))
    array([1000.69314718])
    """
    try:
        return xp_of_pair(x1, x2).logaddexp(x1, x2)
    except Exception as error:
        return explain(error, logaddexp)


def logical_and(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether both are true.

    >>> import numpy as np, trellis
    >>> trellis.logical_and(np.array([True, True]), np.array([True, False]))
    array([ True, False])
    """
    try:
        return xp_of_pair(x1, x2).logical_and(x1, x2)
    except Exception as error:
        return explain(error, logical_and)


def logical_not(x: A, /) -> A:
    """Whether elements are false.

    >>> import numpy as np, trellis
    >>> trellis.logical_not(np.array([True, False]))
    array([False,  True])
    """
    try:
        return xp_of(x).logical_not(x)
    except Exception as error:
        return explain(error, logical_not)


def logical_or(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether at least one is true.

    >>> import numpy as np, trellis
    >>> trellis.logical_or(np.array([True, False]), np.array([False, False]))
    array([ True, False])
    """
    try:
        return xp_of_pair(x1, x2).logical_or(x1, x2)
    except Exception as error:
        return explain(error, logical_or)


def logical_xor(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether exactly one is true.

    >>> import numpy as np, trellis
    >>> trellis.logical_xor(np.array([True, False]), np.array([True, True]))
    array([False,  True])
    """
    try:
        return xp_of_pair(x1, x2).logical_xor(x1, x2)
    except Exception as error:
        return explain(error, logical_xor)


def maximum(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """The larger of two elements; nan where either is nan.

    >>> import numpy as np, trellis
    >>> trellis.maximum(np.array([1.0, 5.0]), 3)
    array([3., 5.])
    """
    try:
        return xp_of_pair(x1, x2).maximum(x1, x2)
    except Exception as error:
        return explain(error, maximum)


def minimum(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """The smaller of two elements; nan where either is nan.

    >>> import numpy as np, trellis
    >>> trellis.minimum(np.array([1.0, 5.0]), 3)
    array([1., 3.])
    """
    try:
        return xp_of_pair(x1, x2).minimum(x1, x2)
    except Exception as error:
        return explain(error, minimum)


def multiply(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Product of two arrays, element by element.

    >>> import numpy as np, trellis
    >>> trellis.multiply(np.array([1.0, 2.0]), 3)
    array([3., 6.])
    """
    try:
        return xp_of_pair(x1, x2).multiply(x1, x2)
    except Exception as error:
        return explain(error, multiply)


def nan_to_num(
    x: A, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> A:
    """The elements with nan and infinities replaced; by default infinities become the largest
    numbers.

    >>> import numpy as np, trellis
    >>> trellis.nan_to_num(np.array([np.nan, np.inf, 1.0]), posinf=9.0)
    array([0., 9., 1.])
    """
    try:
        if type(nan) is not float:
            check_number(nan)
        if posinf is not None and type(posinf) is not float:
            check_number(posinf)
        if neginf is not None and type(neginf) is not float:
            check_number(neginf)
        return xp_of(x).nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    except Exception as error:
        return explain(error, nan_to_num)


def negative(x: A, /) -> A:
    """The elements with the opposite sign.

    >>> import numpy as np, trellis
    >>> trellis.negative(np.array([1.0, -2.0]))
    array([-1.,  2.])
    """
    try:
        return xp_of(x).negative(x)
    except Exception as error:
        return explain(error, negative)


def nextafter(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """The next number of the type after x1 in the direction of x2.

    >>> import numpy as np, trellis
    >>> trellis.nextafter(np.array([0.0]), np.array([1.0]))
    array([5.e-324])
    """
    try:
        return xp_of_pair(x1, x2).nextafter(x1, x2)
    except Exception as error:
        return explain(error, nextafter)


def not_equal(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Whether elements differ; nan differs from itself.

    >>> import numpy as np, trellis
    >>> trellis.not_equal(np.array([1, 2]), np.array([1, 3]))
    array([False,  True])
    """
    try:
        return xp_of_pair(x1, x2).not_equal(x1, x2)
    except Exception as error:
        return explain(error, not_equal)


def positive(x: A, /) -> A:
    """The elements as they are.

    >>> import numpy as np, trellis
    >>> trellis.positive(np.array([1.0, -2.0]))
    array([ 1., -2.])
    """
    try:
        return xp_of(x).positive(x)
    except Exception as error:
        return explain(error, positive)


def pow(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """x1 to the power of x2; integers to negative powers are truncated.

    >>> import numpy as np, trellis
    >>> trellis.pow(np.array([2.0, 3.0]), 2)
    array([4., 9.])
    """
    try:
        return xp_of_pair(x1, x2).pow(x1, x2)
    except Exception as error:
        return explain(error, pow)


def real(x: A, /) -> A:
    """Real part, as a real array.

    >>> import numpy as np, trellis
    >>> trellis.real(np.array([1 + 2j]))
    array([1.])
    """
    try:
        return xp_of(x).real(x)
    except Exception as error:
        return explain(error, real)


def reciprocal(x: A, /) -> A:
    """1 / x.

    >>> import numpy as np, trellis
    >>> trellis.reciprocal(np.array([2.0, 4.0]))
    array([0.5 , 0.25])
    """
    try:
        return xp_of(x).reciprocal(x)
    except Exception as error:
        return explain(error, reciprocal)


def remainder(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Remainder of the floored division: it has the sign of x2.

    >>> import numpy as np, trellis
    >>> trellis.remainder(np.array([7, -7]), 3)
    array([1, 2])
    """
    try:
        return xp_of_pair(x1, x2).remainder(x1, x2)
    except Exception as error:
        return explain(error, remainder)


def round(x: A, /) -> A:
    """The nearest whole number; halves go to the even one.

    >>> import numpy as np, trellis
    >>> trellis.round(np.array([0.5, 1.5, 2.4]))
    array([0., 2., 2.])
    """
    try:
        return xp_of(x).round(x)
    except Exception as error:
        return explain(error, round)


def rsqrt(x: A, /) -> A:
    """One over the square root; infinite at 0, nan for negative numbers.

    >>> import numpy as np, trellis
    >>> trellis.rsqrt(np.array([4.0, 16.0]))
    array([0.5 , 0.25])
    """
    try:
        return xp_of(x).rsqrt(x)
    except Exception as error:
        return explain(error, rsqrt)


def sign(x: A, /) -> A:
    """-1, 0 or 1; nan stays nan; for complex numbers x / abs(x).

    >>> import numpy as np, trellis
    >>> trellis.sign(np.array([-3.0, 0.0, 2.0]))
    array([-1.,  0.,  1.])
    """
    try:
        return xp_of(x).sign(x)
    except Exception as error:
        return explain(error, sign)


def signbit(x: A, /) -> A:
    """Whether the sign bit is set; true for -0.0.

    >>> import numpy as np, trellis
    >>> trellis.signbit(np.array([-0.0, 0.0, -1.0]))
    array([ True, False,  True])
    """
    try:
        return xp_of(x).signbit(x)
    except Exception as error:
        return explain(error, signbit)


def sin(x: A, /) -> A:
    """Sine of an angle in radians.

    >>> import numpy as np, trellis
    >>> trellis.sin(np.array([0.0, 1.0]))
    array([0.        , 0.84147098])
    """
    try:
        return xp_of(x).sin(x)
    except Exception as error:
        return explain(error, sin)


def sinh(x: A, /) -> A:
    """Hyperbolic sine.

    >>> import numpy as np, trellis
    >>> trellis.sinh(np.array([0.0, 1.0]))
    array([0.        , 1.17520119])
    """
    try:
        return xp_of(x).sinh(x)
    except Exception as error:
        return explain(error, sinh)


def sqrt(x: A, /) -> A:
    """Square root; nan below 0.

    >>> import numpy as np, trellis
    >>> trellis.sqrt(np.array([4.0, 9.0]))
    array([2., 3.])
    """
    try:
        return xp_of(x).sqrt(x)
    except Exception as error:
        return explain(error, sqrt)


def square(x: A, /) -> A:
    """x * x.

    >>> import numpy as np, trellis
    >>> trellis.square(np.array([-2.0, 3.0]))
    array([4., 9.])
    """
    try:
        return xp_of(x).square(x)
    except Exception as error:
        return explain(error, square)


def subtract(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Difference of two arrays.

    >>> import numpy as np, trellis
    >>> trellis.subtract(np.array([3.0, 5.0]), 1)
    array([2., 4.])
    """
    try:
        return xp_of_pair(x1, x2).subtract(x1, x2)
    except Exception as error:
        return explain(error, subtract)


def tan(x: A, /) -> A:
    """Tangent of an angle in radians.

    >>> import numpy as np, trellis
    >>> trellis.tan(np.array([0.0, 1.0]))
    array([0.        , 1.55740772])
    """
    try:
        return xp_of(x).tan(x)
    except Exception as error:
        return explain(error, tan)


def tanh(x: A, /) -> A:
    """Hyperbolic tangent.

    >>> import numpy as np, trellis
    >>> trellis.tanh(np.array([0.0, 1.0]))
    array([0.        , 0.76159416])
    """
    try:
        return xp_of(x).tanh(x)
    except Exception as error:
        return explain(error, tanh)


def trunc(x: A, /) -> A:
    """The whole part, rounded toward zero; integers stay integers.

    >>> import numpy as np, trellis
    >>> trellis.trunc(np.array([1.8, -1.8]))
    array([ 1., -1.])
    """
    try:
        return xp_of(x).trunc(x)
    except Exception as error:
        return explain(error, trunc)


def truncate_divide(x1: A | Scalar, x2: A | Scalar, /) -> A:
    """Quotient rounded towards zero; `floor_divide` rounds down. Integers stay integers.

    >>> import numpy as np, trellis
    >>> trellis.truncate_divide(np.array([-7, 7]), 2)
    array([-3,  3])
    """
    try:
        return xp_of_pair(x1, x2).truncate_divide(x1, x2)
    except Exception as error:
        return explain(error, truncate_divide)
