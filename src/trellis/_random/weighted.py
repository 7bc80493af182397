"""Draws that must come out equal to the last index: integers, and indices by weight, in exact
arithmetic.

Floating-point sums and logarithms differ in the last bit between frameworks, compilers and
processors, and a drawn index would differ with them. So weights become integers once, exactly, and
everything after that is integer arithmetic in 32-bit words (`multiply_words` and `add_words` of the
backends), which also works on JAX without 64-bit types and does not depend on the order of a sum.
"""

from typing import TYPE_CHECKING, Any

from .._core.typing import Array, Backend, DTypeLike

if TYPE_CHECKING:
    from .._backends.interface import Random

Pair = tuple[Any, Any]  # a 64-bit number: upper and lower word

# Weights count in units of 2**-40 of the largest; cumulative sums of 11-bit digits stay below
# 2**31.
MOST_CATEGORIES = 2**20


def multiply_high(random: "Random", x: list[Any], y: list[Any]) -> list[Any]:
    """The upper words of a product: floor(x * y / 2**(32 * len(x))), most significant word
    first."""
    zero = random.to_words(0)[1]
    total = [zero] * (len(x) + len(y))
    for i in range(len(x)):
        for j in range(len(y)):
            upper, lower = random.multiply_words(x[i], y[j])
            carry = zero
            at = i + j + 1
            for digit in (lower, upper):
                first, partial = random.add_words(total[at], digit)
                second, total[at] = random.add_words(partial, carry)
                carry = first + second
                at = at - 1
            while at >= 0:
                carry, total[at] = random.add_words(total[at], carry)
                at = at - 1
    return total[: len(y)]


def add_pairs(random: "Random", x: Pair, y: Pair) -> Pair:
    carry, lower = random.add_words(x[1], y[1])
    upper = random.add_words(random.add_words(x[0], y[0])[1], carry)[1]
    return upper, lower


def _is_less(x: Pair, y: Pair) -> Any:
    return (x[0] < y[0]) | ((x[0] == y[0]) & (x[1] < y[1]))


# Integers in a range
# ---------------------------------------------------------------------------------


def integers(xp: Backend, key: Array, low: Array | int, high: Array | int, shape: tuple[int, ...],
             dtype: DTypeLike | None) -> Any:  # fmt: skip
    """Integers in [low, high), the same on every backend and for every dtype that holds them.

    64 random bits are scaled to a span below 2**32, 128 bits to a wider one, so no range shows a
    bias.
    """
    random = xp.random
    low_pair, high_pair = random.to_words(low), random.to_words(high)
    mask = random.to_words(0xFFFFFFFF)[1]
    minus_low = add_pairs(random, (low_pair[0] ^ mask, low_pair[1] ^ mask), random.to_words(1))
    span = add_pairs(random, high_pair, minus_low)
    upper, lower = random.words(key, shape)
    narrow = multiply_high(random, [upper, lower], [span[1]])[0]
    if isinstance(low, int) and isinstance(high, int) and high - low < 2**32:
        offset = (random.to_words(0)[1], narrow)
    elif isinstance(low, int) and isinstance(high, int) and high - low == 2**64:
        offset = (upper, lower)
    else:
        more = random.words(random.fold_in(key, 1), shape)
        wide = multiply_high(random, [upper, lower, *more], [span[0], span[1]])
        is_narrow = span[0] == random.to_words(0)[1]
        offset = (xp.where(is_narrow, span[0], wide[0]), xp.where(is_narrow, narrow, wide[1]))
    result = add_pairs(random, low_pair, offset)
    return random.from_words(result[0], result[1], dtype)


# Weights
# ---------------------------------------------------------------------------------------------


def _relative_to_largest(xp: Backend, weights: Array) -> Any:
    """The weights of each row in float32, times the power of two that brings the largest into [1,
    2).

    Powers of two, found by comparisons: nothing is rounded but once, to float32.
    """
    is_wide = xp.dtype_name(weights.dtype) == "float64"
    # Some processors and frameworks take subnormal numbers for zero; so do we, everywhere.
    weights = xp.where(
        weights < (2.0**-1022 if is_wide else 2.0**-126), xp.zeros_like(weights), weights
    )
    scaled, largest = weights, xp.max(weights, axis=-1, keepdims=True)
    for k in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)[0 if is_wide else 3 :]:
        one = xp.ones_like(largest)
        factor = xp.where(
            largest < 2.0 ** (1 - k), one * 2.0**k, xp.where(largest >= 2.0**k, one * 2.0**-k, one)
        )
        scaled, largest = scaled * factor, largest * factor
    scaled = xp.astype(scaled, xp.float32)
    # A weight that underflows next to a far larger one is still not zero.
    return xp.where((weights > 0) & (scaled < 2.0**-126), 2.0**-126 + xp.zeros_like(scaled), scaled)


def weighted_draws(xp: Backend, key: Array, weights: Array, num_samples: int) -> Any:
    """Indices in proportion to the weights, shape (rows, num_samples), as int32."""
    random = xp.random
    relative = _relative_to_largest(xp, weights)
    coarse = xp.floor(relative * 2.0**20)
    fine = xp.floor((relative * 2.0**20 - coarse) * 2.0**20)
    # A weight too small to count still counts one unit: only zero means never.
    is_lost = (relative > 0) & (coarse == 0) & (fine == 0)
    fine = xp.where(is_lost, xp.ones_like(fine), fine)
    total: Pair | None = None
    for part, shift in ((coarse, 20), (fine, 0)):
        upper = xp.floor(part * 2.0**-10)
        for digit, power in ((upper, shift + 10), (part - upper * 2.0**10, shift)):
            sums = xp.cumulative_sum(xp.astype(digit, xp.int32), axis=-1, dtype=xp.int32)
            term = random.multiply_words(random.to_words(sums)[1], random.to_words(2**power)[1])
            total = term if total is None else add_pairs(random, total, term)
    assert total is not None
    last = (total[0][:, -1:], total[1][:, -1:])
    draw = random.words(key, (weights.shape[0], num_samples))
    threshold = multiply_high(random, [draw[0], draw[1]], [last[0], last[1]])
    return _count_up_to(xp, total, (threshold[0], threshold[1]), weights.shape[-1])


def _count_up_to(xp: Backend, sums: Pair, thresholds: Pair, length: int) -> Any:
    """How many of the ascending sums are at or below each threshold: a binary search in all rows at
    once."""
    found = xp.zeros(tuple(thresholds[0].shape), dtype=xp.int32)
    for power in range(length.bit_length() - 1, -1, -1):
        candidate = found + 2**power
        at = xp.where(candidate <= length, candidate - 1, length - 1 + xp.zeros_like(candidate))
        here = (xp.take_along_axis(sums[0], at, axis=-1), xp.take_along_axis(sums[1], at, axis=-1))
        is_right = (candidate <= length) & ~_is_less(thresholds, here)
        found = xp.where(is_right, candidate, found)
    return found


def weighted_order(xp: Backend, key: Array, weights: Array) -> Any:
    """A random order of the categories of each row, as if drawn one by one without replacement.

    A race: category i arrives at time E / weight, E exponential. Arrival times are compared by
    logarithms in fixed point with 23 binary digits.
    """
    random = xp.random
    draw = random.words(key, tuple(weights.shape))[0]
    relative = _relative_to_largest(xp, weights)
    is_never = relative <= 0
    arrival = _log2_exponential(xp, draw) - _log2_float(
        xp, xp.where(is_never, xp.ones_like(relative), relative)
    )
    never = 2**31 - 1 + xp.zeros_like(arrival)
    return xp.argsort(xp.where(is_never, never, arrival), axis=-1)


def uniform_order(xp: Backend, key: Array, shape: tuple[int, ...]) -> Any:
    """A random order of the last axis for each row."""
    return xp.argsort(xp.random.words(key, shape)[0], axis=-1)


# Logarithms to base 2, times 2**23, as int32
# -----------------------------------------------------------


def _log2_float(xp: Backend, x: Array) -> Any:
    """Of float32 numbers in [2**-126, 2]."""
    exponent = xp.zeros(tuple(x.shape), dtype=xp.int32)
    is_two = x >= 2
    x = xp.where(is_two, x / 2, x)
    exponent = exponent + xp.astype(is_two, xp.int32)
    for k in (64, 32, 16, 8, 4, 2, 1):
        is_small = x < 2.0 ** (1 - k)
        x = xp.where(is_small, x * 2.0**k, x)
        exponent = xp.where(is_small, exponent - k, exponent)
    mantissa = xp.random.to_words(xp.astype(x * 2.0**23, xp.int32))[1]
    return exponent * 2**23 + xp.random.log2_fraction(mantissa * 2**7)


def _log2(xp: Backend, x: Any) -> Any:
    """Of words from 1 up."""
    exponent = 30 + xp.zeros(tuple(x.shape), dtype=xp.int32)
    is_large = x >= xp.random.to_words(2**31)[1]
    x = xp.where(is_large, x // 2, x)
    exponent = exponent + xp.astype(is_large, xp.int32)
    for k in (16, 8, 4, 2, 1):
        is_small = x < 2 ** (31 - k)
        x = xp.where(is_small, x * 2**k, x)
        exponent = xp.where(is_small, exponent - k, exponent)
    return exponent * 2**23 + xp.random.log2_fraction(x)


def _log2_exponential(xp: Backend, draw: Array) -> Any:
    """Of -log2(1 - v) for v = draw / 2**32.

    Near zero -log2(1 - v) has few digits left, and the first arrivals are decided there; so below
    1/16 it is v times a short series.
    """
    random = xp.random
    one, mask = random.to_words(1)[1], random.to_words(0xFFFFFFFF)[1]
    draw = xp.where(draw == 0, one + xp.zeros_like(draw), draw)
    is_near = draw < 2**28
    complement = random.add_words(draw ^ mask, one)[1]
    first = _log2(xp, xp.where(is_near, draw, complement))
    # 1 + v/2 + v**2/3 + v**3/4 + ... in steps of 2**-30
    v = xp.where(is_near, draw, one + xp.zeros_like(draw)) // 4
    series = 2**30 // 8 + xp.zeros_like(v)
    for n in (7, 6, 5, 4, 3, 2, 1):
        upper, lower = random.multiply_words(series, v)
        series = 2**30 // n + upper * 4 + lower // 2**30
    distance = random.to_words(xp.where(is_near, xp.ones_like(first), 32 * 2**23 - first))[1]
    second = _log2(xp, xp.where(is_near, series, distance))
    near = first + second + round((0.5287663729448977 - 32 - 30) * 2**23)
    return xp.where(is_near, near, second - 23 * 2**23)
