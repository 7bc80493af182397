"""Random numbers: Threefry-2x32 on MLX's devices, with the counters and the layout of the other
backends: the same seed gives the same bits."""

import math
from typing import Any

import mlx.core as mx
import numpy as np

from trellis.backend import (
    ERFINV_CENTRE_32,
    ERFINV_CENTRE_64,
    ERFINV_FAR_TAIL_64,
    ERFINV_TAIL_32,
    ERFINV_TAIL_64,
    PARITY,
    ROTATIONS,
    sorting_rounds,
)
from trellis.backend import poisson as _rejected_poisson

from .interchange import as_device, evaluate
from .types import F64, HALVES, NAMES, TYPES, as_dtype, number

U32, U64 = mx.uint32, mx.uint64
_MASK = 0xFFFFFFFF


def _word(value: int) -> Any:
    return mx.array(value & _MASK, dtype=U32)


# Keys ---------------------------------------------------------------------------------------------


def make_key(upper: int, lower: int, device: Any = None) -> Any:
    if device is not None:
        as_device(device)
    return mx.array([upper, lower], dtype=U32)


def key_of_seed(seed: Any) -> Any:
    upper, lower = to_words(seed)
    return mx.stack([upper.astype(U32), lower.astype(U32)], axis=-1)


def as_raw_key(key: Any) -> Any:
    return key


def key_device(x: Any) -> Any:
    return None


def split(key: Any, shape: tuple[int, ...]) -> Any:
    x0, x1 = _hashed(key, math.prod(shape))
    return mx.reshape(mx.stack([x0, x1], axis=-1), (*shape, 2))


def fold_in(key: Any, data: Any) -> Any:
    number = _word(data) if isinstance(data, int) else data.astype(U32)
    x0, x1 = _hash(key[..., 0], key[..., 1], _word(0), number)
    return mx.stack([x0, x1], axis=-1)


def _hash(k0: Any, k1: Any, c0: Any, c1: Any) -> tuple[Any, Any]:
    """The twenty rounds of arrays of keys and counters, which broadcast."""
    schedule = (k0, k1, k0 ^ k1 ^ _word(PARITY))
    x0, x1 = c0 + k0, c1 + k1
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = (mx.left_shift(x1, _word(r)) | mx.right_shift(x1, _word(32 - r))) ^ x0
        x0 = x0 + schedule[(i + 1) % 3]
        x1 = x1 + (schedule[(i + 2) % 3] + _word(i + 1))
    return x0, x1


def _hashed(key: Any, size: int) -> tuple[Any, Any]:
    """The two words of each of the counters 0, 1, ... size - 1."""
    return _hash(key[0], key[1], _word(0), mx.arange(size, dtype=U32))


# Bits, uniforms, normals --------------------------------------------------------------------------


def bits(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    x0, x1 = _hashed(key, math.prod(shape))
    native = as_dtype(dtype)
    found = _joined(x0, x1) if native == U64 else (x0 ^ x1).astype(native)
    return mx.reshape(found, shape)


def _joined(upper: Any, lower: Any) -> Any:
    wide = mx.left_shift(upper.astype(U64), mx.array(32, dtype=U64))
    return wide | lower.astype(U64)


def keep(key: Any, shape: tuple[Any, ...], threshold: int, like: Any) -> Any:
    sizes = tuple([like.shape[i] if n is None else n for i, n in enumerate(shape)])
    size = math.prod(sizes)
    x0, x1 = _hashed(key, (size + 1) // 2)
    least = _word(threshold)
    return mx.reshape(mx.concatenate([x0 >= least, x1 >= least])[:size], sizes)


def uniform(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return mx.reshape(_fractions(*_hashed(key, math.prod(shape)), as_dtype(dtype)), shape)


# For each half type: the bits that are drawn, how far they go down, and the bits of 1.
_HALF_BITS = {mx.float16: (0xFFFF, 6, 0x3C00), mx.bfloat16: (0xFF, 1, 0x3F80)}


def _fractions(x0: Any, x1: Any, dtype: Any) -> Any:
    """Two words each as a number in [0, 1): random bits become the fraction of one in [1, 2)."""
    if dtype == F64:
        wide = mx.right_shift(_joined(x0, x1), mx.array(12, dtype=U64))
        return (wide | mx.array(0x3FF0000000000000, dtype=U64)).view(F64) - 1
    drawn = x0 ^ x1
    if dtype not in HALVES:
        return (mx.right_shift(drawn, _word(9)) | _word(0x3F800000)).view(mx.float32) - 1
    mask, down, one = _HALF_BITS[dtype]
    half = mx.right_shift(drawn & _word(mask), _word(down)) | _word(one)
    return half.astype(mx.uint16).view(dtype) - mx.array(1, dtype=dtype)


def normal(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The inverse error function of a uniform in (-1, 1)."""
    native = as_dtype(dtype)
    u = uniform(key, shape, native)
    return erfinv(u * 2 + mx.array(_LOWEST[native], dtype=native)) * mx.array(
        math.sqrt(2), dtype=native
    )


# The number after -1.
_LOWEST = {
    mx.float16: -1 + 2.0**-11,
    mx.bfloat16: -1 + 2.0**-8,
    mx.float32: -1 + 2.0**-24,
    mx.float64: -1 + 2.0**-53,
}


def _polynomial(coefficients: Any, x: Any) -> Any:
    total = mx.array(coefficients[0], dtype=x.dtype)
    for c in coefficients[1:]:
        total = total * x + c
    return total


def erfinv(x: Any) -> Any:
    """The inverse error function; half precision goes through float32."""
    if x.dtype in HALVES:
        return erfinv(x.astype(mx.float32)).astype(x.dtype)
    w = -mx.log1p(-x * x)
    root = mx.sqrt(mx.where(w > 1, w, mx.ones_like(w)))
    if x.dtype == F64:
        far = mx.where(
            w < 16,
            _polynomial(ERFINV_TAIL_64, root - 3.25),
            _polynomial(ERFINV_FAR_TAIL_64, root - 5.0),
        )
        p = mx.where(w < 6.25, _polynomial(ERFINV_CENTRE_64, w - 3.125), far)
    else:
        centre = _polynomial(ERFINV_CENTRE_32, w - 2.5)
        p = mx.where(w < 5, centre, _polynomial(ERFINV_TAIL_32, root - 3.0))
    found = mx.where(mx.abs(x) == 1, x * math.inf, p * x)
    return mx.where(mx.abs(x) > 1, math.nan, found)


# Integers -----------------------------------------------------------------------------------------


def randint(
    key: Any, shape: tuple[int, ...], minval: Any, maxval: Any, beyond: bool, dtype: Any
) -> Any:
    """Integers in [minval, maxval); if `beyond`, maxval itself is the last one."""
    native = as_dtype(dtype)
    unsigned = TYPES[f"uint{native.size * 8}"]
    low, high = _whole(minval, native), _whole(maxval, native)
    keys = split(key, (2,))
    upper, lower = bits(keys[0], shape, unsigned), bits(keys[1], shape, unsigned)
    span = high.astype(unsigned) - low.astype(unsigned)
    span = mx.where(high <= low, mx.array(1, dtype=unsigned), span)
    span = span + (high > low).astype(unsigned) * mx.array(int(beyond), dtype=unsigned)
    multiplier = _remainder(mx.array(1 << (native.size * 4), dtype=unsigned), span)
    multiplier = _remainder(multiplier * multiplier, span)
    offset = _remainder(upper, span) * multiplier + _remainder(lower, span)
    found = low.astype(unsigned) + _remainder(offset, span)
    return mx.broadcast_to(found.astype(native), shape)


def _whole(x: Any, dtype: Any) -> Any:
    if isinstance(x, mx.array):
        return x.astype(dtype)
    return mx.array(np.array(x).astype(NAMES[dtype]), dtype=dtype)


def _remainder(x: Any, span: Any) -> Any:
    # A span of zero means all integers of the type: the remainder is x itself.
    one = mx.array(1, dtype=span.dtype)
    return mx.where(span == 0, x, mx.remainder(x, mx.maximum(span, one)))


def permutation(key: Any, length: int) -> Any:
    order = mx.arange(length, dtype=mx.int64)
    for _ in range(sorting_rounds(length)):
        keys = split(key, (2,))
        key = keys[0]
        order = mx.take(order, mx.argsort(bits(keys[1], (length,), U32)), axis=0)
    return order


# Words: 32-bit digits of wide integers, in 64 bits ------------------------------------------------


def _parted(x: Any) -> tuple[Any, Any]:
    return mx.right_shift(x, mx.array(32, dtype=U64)), x & mx.array(_MASK, dtype=U64)


def words(key: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    return _parted(bits(key, shape, U64))


def to_words(x: Any) -> tuple[Any, Any]:
    if isinstance(x, int):
        return _parted(number(x & (2**64 - 1), U64))
    return _parted(x.astype(mx.int64).view(U64))


def from_words(upper: Any, lower: Any, dtype: Any) -> Any:
    return _joined(upper, lower).view(mx.int64).astype(as_dtype(dtype))


def add_words(x: Any, y: Any) -> tuple[Any, Any]:
    return _parted(x + y)


def multiply_words(x: Any, y: Any) -> tuple[Any, Any]:
    return _parted(x * y)


def log2_fraction(y: Any) -> Any:
    """Each squaring gives one binary digit."""
    fraction = mx.zeros(y.shape, mx.int32)
    for _ in range(23):
        y = mx.right_shift(y * y, mx.array(30, dtype=U64))
        digit = mx.right_shift(y, mx.array(31, dtype=U64))
        y = mx.right_shift(y, digit)
        fraction = fraction * 2 + digit.astype(mx.int32)
    return fraction


# Rejection ----------------------------------------------------------------------------------------


class _Ops:
    """What the shared rejection sampler needs."""

    log, log1p, sqrt, floor, abs = mx.log, mx.log1p, mx.sqrt, mx.floor, mx.abs

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        return mx.where(condition, x, y)

    @staticmethod
    def any(x: Any) -> bool:
        return bool(evaluate(mx.any(x)).item())

    @staticmethod
    def lgamma(x: Any) -> Any:
        """Of the whole numbers 1 to 16, which is all that is asked for."""
        table = mx.array([0.0, *[math.lgamma(n) for n in range(1, 17)]], dtype=mx.float32)
        return mx.take(table, mx.clip(x, 0, 16).astype(mx.int32))

    @staticmethod
    def split_key(key: Any, number: int) -> Any:
        return split(key, (number,))

    @staticmethod
    def uniform(key: Any, shape: tuple[int, ...]) -> Any:
        return uniform(key, shape, mx.float32)

    @staticmethod
    def while_loop(condition: Any, body: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        while condition(*state):
            state = body(*state)
        return state


def poisson(key: Any, lam: Any, dtype: Any) -> Any:
    rate = mx.stop_gradient(lam).astype(mx.float32)
    whole = mx.where((rate >= 0) & (rate < math.inf), mx.floor(rate), mx.zeros_like(rate))
    offset = _rejected_poisson(_Ops, key, rate, tuple(rate.shape))
    native = as_dtype(dtype)
    return whole.astype(native) + offset.astype(native)
