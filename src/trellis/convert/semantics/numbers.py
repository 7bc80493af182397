"""Numbers as bits, complex numbers from parts, orders that include nan, running maxima."""

from typing import Any

from ..._core.dispatch import xp_of, xp_of_all
from ..._core.dtypes import name_of
from ..._core.errors import NotSupportedError
from ..._core.typing import Array, Backend


def complex_of(real: Array | float, imag: Array | float, /) -> Any:
    """`real + 1j * imag`.

    >>> import numpy as np
    >>> complex_of(np.array(1.0), np.array(2.0)).item()
    (1+2j)
    """
    xp = xp_of_all(real, imag)
    array = real if hasattr(real, "dtype") else imag
    kind = xp.as_dtype("complex128" if "64" in name_of(array.dtype) else "complex64")
    if not hasattr(imag, "dtype"):
        return xp.astype(real, kind) + complex(0.0, imag)
    # A product of infinity with 1j has a real part of nan.
    is_finite = xp.isfinite(imag)
    turned = xp.astype(xp.where(is_finite, imag, 0.0), kind) * 1j
    for number, is_it in _not_finite(xp, imag):
        turned = xp.where(is_it, xp.full_like(turned, complex(0.0, number)), turned)
    if not hasattr(real, "dtype"):
        return turned + real
    # torch multiplies the second term of a sum with 1 + 0j: it must be finite.
    is_finite = xp.isfinite(real)
    whole = turned + xp.astype(xp.where(is_finite, real, 0.0), kind)
    whole = xp.where(is_finite, whole, xp.astype(real, kind) + turned)
    for first, is_first in _not_finite(xp, real):
        for second, is_second in _not_finite(xp, imag):
            both = xp.full_like(whole, complex(first, second))
            whole = xp.where(xp.logical_and(is_first, is_second), both, whole)
    return whole


def _not_finite(xp: Backend, x: Any) -> list[tuple[float, Any]]:
    """The numbers that are not finite, each with where `x` is one."""
    found = [(number, xp.equal(x, number)) for number in (float("inf"), float("-inf"))]
    return [*found, (float("nan"), xp.isnan(x))]


def floor_divided(x: Array, y: Array | float, /) -> Any:
    """`x // y` of floats by way of their remainder: -1 for a negative number and infinity, nan for
    infinity and a number.

    >>> import numpy as np
    >>> floor_divided(np.array([-1.0, 1.0]), np.array([np.inf, np.inf]))
    array([-1.,  0.])
    """
    xp = xp_of_all(x, y)
    found = xp.floor_divide(x, y)
    apart = xp.logical_or(
        xp.logical_and(xp.less(x, 0), xp.equal(y, float("inf"))),
        xp.logical_and(xp.greater(x, 0), xp.equal(y, float("-inf"))),
    )
    found = xp.where(apart, xp.full_like(found, -1.0), found)
    has_no_rest = xp.logical_and(xp.isinf(x), xp.not_equal(y, 0))
    return xp.where(has_no_rest, xp.full_like(found, float("nan")), found)


def compared_with_nan(x: Array, y: Array, /, *, by: str) -> Any:
    """`x < y`, `x <= y` or `x == y` (by "less", "less_equal" or "equal"), where nan is larger than
    all other numbers and equal to itself.

    >>> import numpy as np
    >>> bool(compared_with_nan(np.array(1.0), np.array(np.nan), by="less"))
    True
    """
    xp = xp_of_all(x, y)
    plain = {"less": xp.less, "less_equal": xp.less_equal, "equal": xp.equal}[by](x, y)
    if "float" not in name_of((x if hasattr(x, "dtype") else y).dtype):
        return plain
    is_nan, other = [xp.isnan(z) if hasattr(z, "dtype") else z != z for z in (y, x)]
    if by != "less_equal":
        is_nan = xp.logical_and(is_nan, other if by == "equal" else xp.logical_not(other))
    return xp.logical_or(plain, is_nan)


def limits_of(dtype: str) -> tuple[Any, Any]:
    """The lowest and the highest number of a type, which change no maximum and no minimum.

    >>> limits_of("int8"), limits_of("float32")
    ((-128, 127), (-inf, inf))
    """
    if dtype == "bool":
        return False, True
    if "int" not in dtype:
        return float("-inf"), float("inf")
    bits = int(dtype.lstrip("uint"))
    return (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def accumulate(x: Array, /, *, axis: int, by: str) -> Any:
    """The "max", "min" or "logsumexp" of all elements up to each one, in log2(n) steps.

    >>> import numpy as np
    >>> accumulate(np.array([1.0, 3.0, 2.0]), axis=0, by="max")
    array([1., 3., 3.])
    """
    xp = xp_of(x)
    join = {"max": xp.maximum, "min": xp.minimum, "logsumexp": xp.logaddexp}[by]
    n, step = x.shape[axis], 1
    before = (slice(None),) * axis
    while step < n:
        joined = join(x[(*before, slice(step, None))], x[(*before, slice(None, n - step))])
        x = xp.concat([x[(*before, slice(None, step))], joined], axis=axis)
        step *= 2
    return x


def bitcast(x: Array, dtype: str, /) -> Any:
    """The bits of numbers read as another type of the same width.

    Between integers of one width, and from 32-bit integers to float32 and back.

    >>> import numpy as np
    >>> bitcast(np.array([1065353216], dtype="uint32"), "float32")
    array([1.], dtype=float32)
    """
    xp = xp_of(x)
    have = name_of(x.dtype)
    if have == dtype:
        return x
    if "int" in have and "int" in dtype and have.lstrip("uint") == dtype.lstrip("uint"):
        return xp.astype(x, xp.as_dtype(dtype))
    if dtype == "float32" and have in ("uint32", "int32"):
        return _float_of_bits(xp, xp.astype(x, xp.as_dtype("uint32"), copy=False))
    if have == "float32" and dtype in ("uint32", "int32"):
        return xp.astype(_bits_of_float(xp, x), xp.as_dtype(dtype), copy=False)
    raise NotSupportedError(f"The bits of {have} cannot be read as {dtype} here.")


def has_bitcast(have: str, dtype: str) -> bool:
    """Whether `bitcast` knows the two types.

    >>> has_bitcast("float32", "uint16")
    False
    """
    is_width = have.lstrip("uint") == dtype.lstrip("uint") and "int" in have and "int" in dtype
    words = ("uint32", "int32")
    to_float = (dtype == "float32" and have in words) or (have == "float32" and dtype in words)
    return have == dtype or is_width or to_float


def _powers(xp: Backend, x: Array) -> Any:
    """The value of the last place but the fraction, for each exponent of float32."""
    exponents = [max(e, 1) - 127 for e in range(255)]
    powers = [2.0**e for e in exponents] + [float("inf")]
    return xp.asarray(powers, dtype=xp.as_dtype("float32"), device=xp.device(x))


def _float_of_bits(xp: Backend, bits: Array) -> Any:
    float32, int32 = xp.as_dtype("float32"), xp.as_dtype("int32")
    fraction = xp.astype(xp.bitwise_and(bits, 0x7FFFFF), float32) * 2.0**-23
    shifted = xp.bitwise_and(xp.bitwise_right_shift(bits, 23), 0xFF)
    exponent = xp.astype(shifted, int32)
    size = fraction + xp.where(exponent > 0, xp.ones_like(fraction), 0.0)
    value = xp.take(_powers(xp, bits), exponent, axis=0) * size
    value = xp.where(xp.logical_and(exponent == 255, fraction > 0), float("nan"), value)
    sign = xp.bitwise_right_shift(bits, 31)
    return xp.where(xp.not_equal(sign, 0), -value, value)


def _bits_of_float(xp: Backend, x: Array) -> Any:
    uint32, int32 = xp.as_dtype("uint32"), xp.as_dtype("int32")
    powers = _powers(xp, x)
    size = xp.abs(x)
    finite = xp.where(xp.isfinite(size), size, 0.0)
    flat = xp.reshape(finite, (-1,))
    place = xp.reshape(xp.searchsorted(powers[1:], flat, side="right"), tuple(x.shape))
    exponent = xp.astype(place, int32)
    scale = xp.take(powers, exponent, axis=0)
    fraction = (finite / scale - xp.where(exponent > 0, xp.ones_like(finite), 0.0)) * 2.0**23
    upper = xp.bitwise_left_shift(xp.astype(exponent, uint32), 23)
    bits = xp.bitwise_or(upper, xp.astype(xp.astype(fraction, int32), uint32))
    bits = xp.where(xp.isinf(x), xp.full_like(bits, 0x7F800000), bits)
    bits = xp.where(xp.isnan(x), xp.full_like(bits, 0x7FC00000), bits)
    sign = xp.astype(xp.signbit(x), uint32)
    return xp.bitwise_or(bits, xp.bitwise_left_shift(sign, 31))


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry_2x32(key_1: Array, key_2: Array, x_1: Array, x_2: Array, /) -> tuple[Any, Any]:
    """The hash that random bits of JAX come from, of a key and a counter of two words each.

    >>> import numpy as np
    >>> zero = np.zeros((), "uint32")
    >>> [hex(word) for word in threefry_2x32(zero, zero, zero, zero)]
    ['0x6b200159', '0x99ba4efe']
    """
    xp = xp_of_all(key_1, key_2, x_1, x_2)

    def plus(x: Array, y: Array) -> Any:
        """Sums of 32 bits, whatever a framework does with larger ones."""
        low = xp.add(xp.bitwise_and(x, 0xFFFF), xp.bitwise_and(y, 0xFFFF))
        high = xp.add(xp.bitwise_right_shift(x, 16), xp.bitwise_right_shift(y, 16))
        high = xp.bitwise_and(xp.add(high, xp.bitwise_right_shift(low, 16)), 0xFFFF)
        return xp.bitwise_or(xp.bitwise_left_shift(high, 16), xp.bitwise_and(low, 0xFFFF))

    def turned(x: Array, n: int) -> Any:
        return xp.bitwise_or(xp.bitwise_left_shift(x, n), xp.bitwise_right_shift(x, 32 - n))

    parity = xp.bitwise_xor(xp.bitwise_xor(key_1, key_2), 0x1BD11BDA)
    keys = (key_1, key_2, parity)
    x_1, x_2 = plus(x_1, key_1), plus(x_2, key_2)
    for i in range(5):
        for n in _ROTATIONS[i % 2]:
            x_1 = plus(x_1, x_2)
            x_2 = xp.bitwise_xor(turned(x_2, n), x_1)
        x_1 = plus(x_1, keys[(i + 1) % 3])
        x_2 = plus(plus(x_2, keys[(i + 2) % 3]), xp.full_like(x_2, i + 1))
    return x_1, x_2
