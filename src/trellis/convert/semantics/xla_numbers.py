"""Numbers as XLA treats them: rounding, division by zero, bits, and an order of all of them."""

from typing import Any

from ..._core.dispatch import xp_of, xp_of_all
from ..._core.dtypes import name_of
from ..._core.typing import Array, Backend
from .numbers import bitcast, limits_of


def rounded_from_zero(x: Array, /) -> Any:
    """The nearest whole numbers; halves go away from zero.

    >>> import numpy as np
    >>> rounded_from_zero(np.array([0.5, -2.5, 0.49999999999999994]))
    array([ 1., -3.,  0.])
    """
    xp = xp_of(x)
    whole = xp.trunc(x)
    rest = xp.where(xp.isinf(x), 0.0, x - whole)
    return whole + xp.where(xp.abs(rest) >= 0.5, xp.sign(x), 0.0)


def scaled_by_two(x: Array, exponent: Array, /) -> Any:
    """`x * 2 ** exponent`, without overflow on the way.

    >>> import numpy as np
    >>> scaled_by_two(np.array([3.0]), np.array([-2]))
    array([0.75])
    """
    xp = xp_of_all(x, exponent)
    first = xp.floor_divide(exponent, 2)
    for part in (first, exponent - first):
        x = x * xp.pow(xp.full_like(x, 2.0), xp.astype(part, x.dtype))
    return x


def with_fewer_bits(x: Array, bits: int, /) -> Any:
    """Numbers of float32 rounded to so many bits after the point of their fraction, halves to even.

    >>> import numpy as np
    >>> with_fewer_bits(np.array([1.01], "float32"), 7)
    array([1.0078125], dtype=float32)
    """
    xp = xp_of(x)
    lost = 23 - bits
    before = bitcast(xp.stop_gradient(x), "int32")
    odd = xp.bitwise_and(xp.bitwise_right_shift(before, lost), 1)
    # The sum of a half, less one step for an even last bit, carries into the kept ones.
    high, low = xp.bitwise_right_shift(before, lost), xp.bitwise_and(before, 2**lost - 1)
    half = 2 ** (lost - 1)
    is_up = xp.logical_or(low > half, xp.logical_and(low == half, odd == 1))
    high = high + xp.astype(is_up, high.dtype)
    after = bitcast(xp.bitwise_left_shift(high, lost), "float32")
    # The derivative is that of `x`.
    return xp.where(xp.isfinite(x), after + (x - xp.stop_gradient(x)), x)


def divided_whole(x: Array | int, y: Array | int, /) -> Any:
    """The quotient of integers, rounded towards zero; as XLA does, -1 for y = 0, and without
    overflow the lowest number by -1 is itself.

    >>> import numpy as np
    >>> divided_whole(np.array([7, -7, 7]), np.array([2, 2, 0]))
    array([ 3, -3, -1])
    """
    xp = xp_of_all(x, y)
    quotient = xp.truncate_divide(x, _safe_divisor(xp, x, y))
    kind = (x if hasattr(x, "dtype") else y).dtype  # type: ignore[union-attr]
    is_signed = name_of(kind).startswith("int")
    ones = xp.full_like(quotient, -1 if is_signed else limits_of(name_of(kind))[1])
    return xp.where(xp.equal(y, 0), ones, xp.where(_is_overflow(xp, x, y), x, quotient))


def remainder_whole(x: Array | int, y: Array | int, /) -> Any:
    """The remainder of `divided_whole`, which has the sign of `x`: `x` itself for y = 0."""
    xp = xp_of_all(x, y)
    rest = xp.fmod(x, _safe_divisor(xp, x, y))
    rest = xp.where(_is_overflow(xp, x, y), xp.zeros_like(rest), rest)
    return xp.where(xp.equal(y, 0), x, rest)


def _is_overflow(xp: Backend, x: Any, y: Any) -> Any:
    name = name_of((x if hasattr(x, "dtype") else y).dtype)
    if name.startswith("u"):
        return xp.not_equal(x, x)
    return xp.logical_and(xp.equal(x, limits_of(name)[0]), xp.equal(y, -1))


def _safe_divisor(xp: Backend, x: Any, y: Any) -> Any:
    is_bad = xp.logical_or(xp.equal(y, 0), _is_overflow(xp, x, y))
    return xp.where(is_bad, 1, y)


_ONES_OF_FOUR_BITS = [bin(n).count("1") for n in range(16)]
_LENGTHS_OF_FOUR_BITS = [n.bit_length() for n in range(16)]


def count_of_bits(x: Array, /, *, dtype: str | None = None) -> Any:
    """How many bits of each integer are one.

    >>> import numpy as np
    >>> count_of_bits(np.array([7, -1], "int32"))
    array([ 3, 32], dtype=int32)
    """
    xp = xp_of(x)
    table = xp.asarray(_ONES_OF_FOUR_BITS, dtype=x.dtype, device=xp.device(x))
    total = xp.zeros_like(x)
    for part in _fours(xp, x):
        total = total + xp.take(table, part, axis=0)
    return total if dtype is None else xp.astype(total, xp.as_dtype(dtype))


def leading_zeros(x: Array, /) -> Any:
    """How many bits of each integer are zero before the first one.

    >>> import numpy as np
    >>> leading_zeros(np.array([1, 0, -1], "int32"))
    array([31, 32,  0], dtype=int32)
    """
    xp = xp_of(x)
    table = xp.asarray(_LENGTHS_OF_FOUR_BITS, dtype=x.dtype, device=xp.device(x))
    length = xp.zeros_like(x)
    for i, part in enumerate(_fours(xp, x)):
        length = xp.where(part > 0, xp.take(table, part, axis=0) + 4 * i, length)
    return _width(x) - length


def _width(x: Array) -> int:
    return int(name_of(x.dtype).lstrip("uint"))


def _fours(xp: Backend, x: Array) -> list[Any]:
    """The bits of integers by fours, the lowest first, as indices."""
    parts = [xp.bitwise_and(xp.bitwise_right_shift(x, 4 * i), 15) for i in range(_width(x) // 4)]
    return [xp.astype(part, xp.as_dtype("int32"), copy=False) for part in parts]


def reduced_by_bits(x: Array, /, *, axis: tuple[int, ...], by: str) -> Any:
    """All integers along some axes joined by "and", "or" or "xor", bit by bit.

    >>> import numpy as np
    >>> reduced_by_bits(np.array([[6, 3, 2]]), axis=(1,), by="and")
    array([2])
    """
    xp = xp_of(x)
    join = {"and": xp.bitwise_and, "or": xp.bitwise_or, "xor": xp.bitwise_xor}[by]
    for i in sorted(axis, reverse=True):
        if x.shape[i] == 0:
            shape = [n for j, n in enumerate(x.shape) if j != i]
            neutral = limits_of(name_of(x.dtype))[1] if name_of(x.dtype)[0] == "u" else -1
            value = neutral if by == "and" else 0
            x = xp.full(tuple(shape), value, dtype=x.dtype, device=xp.device(x))
            continue
        parts = xp.unstack(x, axis=i)
        x = parts[0]
        for part in parts[1:]:
            x = join(x, part)
    return x


def top_of_all(x: Array, k: int, /, *, axis: int = -1, dtype: str = "int32") -> tuple[Any, Any]:
    """The largest numbers and their places, in the order of all numbers: -nan below -inf, -0
    below 0 and nan above inf, as XLA has it.

    >>> import numpy as np
    >>> top_of_all(np.array([-0.0, 0.0, np.nan]), 2)[1]
    array([2, 1], dtype=int32)
    """
    xp = xp_of(x)
    is_nan, is_negative = xp.isnan(x), xp.signbit(x)
    end = xp.where(is_negative, xp.full_like(x, float("-inf")), float("inf"))
    value = xp.where(is_nan, end, x)
    lower = xp.logical_and(is_negative, xp.logical_or(is_nan, x == 0))
    minor = xp.where(lower, -1, xp.where(is_nan, 1, xp.zeros_like(x, dtype=xp.as_dtype("int32"))))
    order = xp.argsort(minor, axis=axis, descending=True)
    seen = xp.take_along_axis(value, order, axis=axis)
    order = xp.take_along_axis(order, xp.argsort(seen, axis=axis, descending=True), axis=axis)
    axis = axis % len(x.shape)
    order = order[(slice(None),) * axis + (slice(0, k),)]
    return xp.take_along_axis(x, order, axis=axis), xp.astype(order, xp.as_dtype(dtype))
