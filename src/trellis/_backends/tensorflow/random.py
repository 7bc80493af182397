"""Random numbers on TensorFlow: Threefry-2x32 with the counters and the layout of `jax.random`.

A key is a uint32 tensor of shape (2,). One after the other, TensorFlow's kernels would need some
120 passes over memory, so larger draws are one XLA-compiled function each, for eager calls and
inside `tf.function`. Small eager draws use the library's blockwise kernel, which has nothing to
compile.
"""

from math import prod
from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.threefry import (
    ERFINV_CENTRE_32,
    ERFINV_CENTRE_64,
    ERFINV_FAR_TAIL_64,
    ERFINV_TAIL_32,
    ERFINV_TAIL_64,
    MASK,
    PARITY,
    ROTATIONS,
    sorting_rounds,
)
from ..shared import rejection
from ..shared import threefry_blocks as blocks
from ._helpers import on, sizes
from ._private import Symbolic
from ._types import Tensor
from .tracing import is_concrete

_SQRT2 = 2.0**0.5
_SMALL = 2**17  # below this, an eager draw costs less by the blockwise kernel than by compiling
_left, _right = tf.bitwise.left_shift, tf.bitwise.right_shift
_and, _or, _xor = tf.bitwise.bitwise_and, tf.bitwise.bitwise_or, tf.bitwise.bitwise_xor


def _u32(value: int) -> Any:
    return tf.constant(value & MASK, tf.uint32)


def _u64(value: int) -> Any:
    return tf.constant(value, tf.uint64)


# Keys
# ------------------------------------------------------------------------------------------------


def make_key(upper: int, lower: int, device: Any = None) -> Any:
    if device is None:
        return tf.constant([upper, lower], tf.uint32)
    with on(device):
        return tf.identity(tf.constant([upper, lower], tf.uint32))


def key_of_seed(seed: Any) -> Any:
    wide = tf.cast(tf.cast(seed, tf.int64), tf.uint64)
    return tf.cast(tf.stack([_right(wide, _u64(32)), _and(wide, _u64(MASK))], axis=-1), tf.uint32)


def as_raw_key(key: Tensor) -> Any:
    return key


def key_device(x: Tensor) -> Any:
    """Where the key of a draw beside `x` belongs: the framework itself brings arrays together."""
    return None


def split(key: Tensor, shape: tuple[int, ...]) -> Any:
    known = _words_of(key)
    if known is not None:
        return tf.reshape(tf.constant(blocks.pairs(known, prod(shape))), (*shape, 2))
    x0, x1 = _hash_counters(key, prod(shape))
    keys = tf.reshape(tf.stack([x0, x1], axis=-1), (*shape, 2))
    if isinstance(keys, Symbolic):
        keys.__class__ = _Keys
    return keys


class _Keys(Symbolic):  # type: ignore[misc]
    """A symbolic tensor that can be taken apart: `k1, k2 = split(key)`, as every other array of
    keys.

    TensorFlow refuses to iterate while it traces, though the number of keys is known.
    """

    def __iter__(self) -> Any:
        return iter(tf.unstack(self))


def fold_in(key: Tensor, data: Any) -> Any:
    # As an array: TensorFlow keeps a tensor of every Python number that it is ever given.
    count = tf.constant(np.uint32(data)) if isinstance(data, int) else tf.cast(data, tf.uint32)
    x0, x1 = _hash(key[..., 0], key[..., 1], tf.zeros_like(count), count)
    return tf.stack([x0, x1], axis=-1)


# The hash
# --------------------------------------------------------------------------------------------


def _hash(k0: Any, k1: Any, c0: Any, c1: Any) -> tuple[Any, Any]:
    """The hash of uint32 tensors of keys and counters, which broadcast."""
    schedule = (k0, k1, _xor(_xor(k0, k1), _u32(PARITY)))
    x0, x1 = c0 + k0, c1 + k1
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = _xor(_or(_left(x1, _u32(r)), _right(x1, _u32(32 - r))), x0)
        x0 = x0 + schedule[(i + 1) % 3]
        x1 = x1 + (schedule[(i + 2) % 3] + _u32(i + 1))
    return x0, x1


def _hash_counters(key: Tensor, size: int) -> tuple[Any, Any]:
    counters = tf.range(size, dtype=tf.int64)
    low = tf.cast(counters, tf.uint32)
    high = (
        tf.cast(_right(counters, tf.constant(32, tf.int64)), tf.uint32)
        if size > MASK
        else tf.zeros_like(low)
    )
    return _hash(key[..., 0], key[..., 1], high, low)


def _words_of(key: Tensor) -> tuple[int, int] | None:
    """The words of a key that can be looked at now; None while a function is traced."""
    if not is_concrete(key):
        return None
    upper, lower = key.numpy().tolist()
    return upper, lower


def _roomy(size: int) -> int:
    """A size with three leading binary digits, so that few different sizes are ever compiled."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


# Bits, uniforms, normals
# -----------------------------------------------------------------------------


def bits(key: Tensor, shape: tuple[int, ...], dtype: Any) -> Any:
    return _draw(_bits, blocks.bits, key, shape, dtype)


def keep(key: Tensor, shape: tuple[Any, ...], threshold: int, like: Any) -> Any:
    """A random mask: True with the probability 1 - threshold / 2**32.

    While tf.function traces with an open batch, a size of `shape` may be None: that of `like`.
    """
    if None in shape:
        return _keep_open(key, shape, threshold, like)
    size = prod(shape)
    half = (size + 1) // 2
    known = _words_of(key)
    if known is not None and (half < _SMALL or _is_rare(_keep, None, half)):
        return tf.reshape(tf.constant(blocks.keep(known, size, threshold)), shape)
    length = half if known is None else _roomy(half)
    sampler = _keep if known is None and size < 4096 else _compiled(_keep, None)
    mask = sampler(key, length, _u32(threshold))
    if length != half:
        mask = tf.concat([mask[:half], mask[length : length + size - half]], 0)
    return tf.reshape(mask[:size] if size % 2 and length == half else mask, shape)


def _keep_open(key: Tensor, shape: tuple[Any, ...], threshold: int, like: Any) -> Any:
    known = [n if m is None else m for m, n in zip(shape, sizes(like), strict=True)]
    size = tf.reduce_prod(tf.stack([tf.cast(n, tf.int64) for n in known]))
    # A batch has fewer than 2**33 elements, so the upper words of the counters are zeros.
    low = tf.cast(tf.range((size + 1) // 2, dtype=tf.int64), tf.uint32)
    words = tf.concat(_hash(key[0], key[1], tf.zeros_like(low), low), 0)
    return tf.reshape(words[:size] >= _u32(threshold), known)


def _keep(key: Tensor, size: int, threshold: Any, dtype: Any = None) -> Any:
    return tf.concat(_hash_counters(key, size), 0) >= threshold


def uniform(key: Tensor, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniforms in [0, 1): random bits become the fraction of a number in [1, 2)."""
    return _draw(_uniform, blocks.uniform, key, shape, dtype)


def normal(key: Tensor, shape: tuple[int, ...], dtype: Any) -> Any:
    """Standard normals: the inverse error function of a uniform in (-1, 1)."""
    return _draw(_normal, blocks.normal, key, shape, dtype)


def _draw(sampler: Any, by_blocks: Any, key: Tensor, shape: tuple[int, ...], dtype: Any) -> Any:
    size = prod(shape)
    known = _words_of(key)
    if known is None:
        draws = _compiled(sampler, dtype)(key, size) if size >= 4096 else sampler(key, size, dtype)
    elif size < _SMALL or (sampler is not _normal and _is_rare(sampler, dtype, size)):
        draws = tf.constant(by_blocks(known, size, dtype.as_numpy_dtype))
    else:
        draws = _compiled(sampler, dtype)(key, _roomy(size))[:size]
    return tf.reshape(draws, shape)


# How often a kind of draw has come up, of those that both ways give alike to the last bit (the
# others, normals, must not change from one call to the next).
_seen: dict[Any, int] = {}


def _is_rare(sampler: Any, dtype: Any, size: int) -> bool:
    """Whether compiling would not pay yet: first weights are drawn once for each shape."""
    kind = (sampler, dtype, _roomy(size))
    _seen[kind] = _seen.get(kind, 0) + 1
    return _seen[kind] < 3


_compiled_samplers: dict[Any, Any] = {}


def _compiled(sampler: Any, dtype: Any) -> Any:
    found = _compiled_samplers.get((sampler, dtype))
    if found is None:
        found = tf.function(
            lambda key, size, *more: sampler(key, size, *more, dtype),
            jit_compile=True,
            autograph=False,
        )
        _compiled_samplers[sampler, dtype] = found
    return found


def _bits(key: Tensor, size: int, dtype: Any) -> Any:
    return _joined(*_hash_counters(key, size), dtype)


def _joined(x0: Any, x1: Any, dtype: Any) -> Any:
    if dtype == tf.uint64:
        return _or(_left(tf.cast(x0, tf.uint64), _u64(32)), tf.cast(x1, tf.uint64))
    return tf.cast(_and(_xor(x0, x1), _u32(dtype.max)), dtype)


def _uniform(key: Tensor, size: int, dtype: Any) -> Any:
    return _fractions(*_hash_counters(key, size), dtype)


def _fractions(x0: Any, x1: Any, dtype: Any) -> Any:
    if dtype == tf.float32:
        fraction = _or(_right(_xor(x0, x1), _u32(9)), _u32(0x3F800000))
    elif dtype == tf.float64:
        fraction = _or(_right(_joined(x0, x1, tf.uint64), _u64(12)), _u64(0x3FF0000000000000))
    else:
        shift, mask, one = (6, 0xFFFF, 0x3C00) if dtype == tf.float16 else (1, 0xFF, 0x3F80)
        half = _right(_and(_xor(x0, x1), _u32(mask)), _u32(shift))
        fraction = tf.cast(_or(half, _u32(one)), tf.uint16)
    return tf.bitcast(fraction, dtype) - tf.ones((), dtype)


_HALF_ULP = {tf.float16: 2.0**-11, tf.bfloat16: 2.0**-8, tf.float32: 2.0**-24, tf.float64: 2.0**-53}


def _normal(key: Tensor, size: int, dtype: Any) -> Any:
    return _normals_of(_uniform(key, size, dtype))


def _normals_of(u: Any) -> Any:
    # From [0, 1) to (-1, 1); exact in every dtype but for the last addition.
    x = u * tf.constant(2, u.dtype) + tf.constant(_HALF_ULP[u.dtype] - 1, u.dtype)
    return erfinv(x) * tf.constant(_SQRT2, u.dtype)


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Any:
    total = x * tf.constant(coefficients[0], x.dtype) + tf.constant(coefficients[1], x.dtype)
    for c in coefficients[2:]:
        total = total * x + tf.constant(c, x.dtype)
    return total


def erfinv(x: Tensor) -> Any:
    """The inverse error function with JAX's polynomials; half precision goes through float32."""
    if x.dtype in (tf.float16, tf.bfloat16):
        return tf.cast(erfinv(tf.cast(x, tf.float32)), x.dtype)
    w = -tf.math.log1p(-x * x)
    root = tf.sqrt(tf.maximum(w, tf.ones((), x.dtype)))
    if x.dtype == tf.float32:
        p = tf.where(
            w < 5, _polynomial(ERFINV_CENTRE_32, w - 2.5), _polynomial(ERFINV_TAIL_32, root - 3)
        )
    else:
        tail, far = (
            _polynomial(ERFINV_TAIL_64, root - 3.25),
            _polynomial(ERFINV_FAR_TAIL_64, root - 5),
        )
        p = tf.where(
            w < 6.25, _polynomial(ERFINV_CENTRE_64, w - 3.125), tf.where(w < 16, tail, far)
        )
    return tf.where(tf.abs(x) == 1, x * tf.constant(float("inf"), x.dtype), p * x)


# Integers
# --------------------------------------------------------------------------------------------


def randint(
    key: Tensor, shape: tuple[int, ...], minval: Any, maxval: Any, beyond: bool, dtype: Any
) -> Any:
    """JAX's integers in [minval, maxval); if `beyond`, maxval itself is the last one."""
    keys = split(key, (2,))
    unsigned = {1: tf.uint8, 2: tf.uint16, 4: tf.uint32, 8: tf.uint64}[dtype.size]
    upper, lower = bits(keys[0], shape, unsigned), bits(keys[1], shape, unsigned)
    low, high = [
        tf.cast(tf.convert_to_tensor(x, dtype) if isinstance(x, int) else x, dtype)
        for x in (minval, maxval)
    ]
    one = tf.ones((), unsigned)
    span = tf.cast(high, unsigned) - tf.cast(low, unsigned) + tf.cast(beyond, unsigned)
    span = tf.where(high <= low, one, span)
    multiplier = _remainder(tf.cast(1 << (dtype.size * 4), unsigned) * tf.ones_like(span), span)
    multiplier = _remainder(multiplier * multiplier, span)
    offset = _remainder(upper, span) * multiplier + _remainder(lower, span)
    return tf.cast(tf.cast(low, unsigned) + _remainder(offset, span), dtype)


def _remainder(x: Tensor, span: Any) -> Any:
    # A span of zero stands for 2**bits: the remainder is x itself.
    is_full = tf.equal(span, tf.zeros_like(span))
    return tf.where(is_full, x, tf.math.floormod(x, tf.where(is_full, tf.ones_like(span), span)))


def permutation(key: Tensor, length: int) -> Any:
    known = _words_of(key)
    if known is not None:
        return tf.constant(blocks.permutation(known, length), tf.int64)
    order = tf.range(length, dtype=tf.int64)
    for _ in range(sorting_rounds(length)):
        keys = split(key, (2,))
        key = keys[0]
        sort_keys = tf.cast(bits(keys[1], (length,), tf.uint32), tf.int64)
        order = tf.gather(order, tf.argsort(sort_keys, stable=True))
    return order


# Words: 32-bit digits of wide integers, held in int64
# --------------------------------------------------


def words(key: Tensor, shape: tuple[int, ...]) -> tuple[Any, Any]:
    return _split_words(tf.cast(bits(key, shape, tf.uint64), tf.int64))


def _split_words(x: Tensor) -> tuple[Any, Any]:
    mask = tf.constant(MASK, tf.int64)
    return _and(_right(x, tf.constant(32, tf.int64)), mask), _and(x, mask)


def multiply_words(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    return _split_words(x * y)


def add_words(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    return _split_words(x + y)


def log2_fraction(y: Tensor) -> Any:
    """log2(y / 2**30) of words in [2**30, 2**31), times 2**23; each squaring gives one binary
    digit."""
    fraction = tf.zeros_like(y)
    two, up, over = tf.constant(2, y.dtype), tf.constant(30, y.dtype), tf.constant(31, y.dtype)
    for _ in range(23):
        y = _right(y * y, up)
        digit = _right(y, over)
        y = _right(y, digit)
        fraction = fraction * two + digit
    return tf.cast(fraction, tf.int32)


def to_words(x: Tensor) -> tuple[Any, Any]:
    """The two's complement of integers in 64 bits, as an upper and a lower word."""
    if isinstance(x, int):
        return tf.constant(x >> 32 & MASK, tf.int64), tf.constant(x & MASK, tf.int64)
    return _split_words(tf.cast(x, tf.int64))


def from_words(upper: Any, lower: Any, dtype: Any) -> Any:
    return tf.cast(_or(_left(upper, tf.constant(32, tf.int64)), lower), dtype)


# Rejection samplers
# ----------------------------------------------------------------------------------


class _Ops:
    """What the shared rejection samplers need of TensorFlow."""

    where, any, log, log1p = tf.where, tf.reduce_any, tf.math.log, tf.math.log1p
    sqrt, floor, abs, lgamma = tf.sqrt, tf.floor, tf.abs, tf.math.lgamma

    @staticmethod
    def split_keys(keys: Tensor, number: int) -> list[Any]:
        zero = tf.zeros_like(keys[:, 0])
        return [
            tf.stack(_hash(keys[:, 0], keys[:, 1], zero, zero + _u32(i)), axis=-1)
            for i in range(number)
        ]

    @staticmethod
    def where_key(condition: Tensor, keys: Tensor, others: Any) -> Any:
        return tf.where(condition[:, None], keys, others)

    @staticmethod
    def uniform_of(keys: Tensor, like: Any) -> Any:
        zero = tf.zeros_like(keys[:, 0])
        return _fractions(*_hash(keys[:, 0], keys[:, 1], zero, zero), like.dtype)

    @staticmethod
    def normal_of(keys: Tensor, like: Any) -> Any:
        return _normals_of(_Ops.uniform_of(keys, like))

    @staticmethod
    def split_key(key: Tensor, number: int) -> Any:
        return tf.unstack(split(key, (number,)))

    @staticmethod
    def uniform(key: Tensor, shape: tuple[int, ...]) -> Any:
        return uniform(key, shape, tf.float32)

    @staticmethod
    def while_loop(condition: Tensor, body: Any, state: tuple[Any, ...]) -> Any:
        return tf.while_loop(condition, body, state)


def gamma(key: Tensor, a: Any, log_space: bool) -> Any:
    """Gamma draws of the shape of `a`; differentiable in `a`."""
    keys = split(key, (prod(a.shape),))

    @tf.custom_gradient
    def draw(alpha: Any) -> Any:
        draws = rejection.gamma(_Ops, keys, alpha, log_space)

        def pull_back(g: Tensor) -> Any:
            # In float64: the kernel's float32 is off by a tenth for large alpha.
            wide = tf.cast(draws, tf.float64)
            x = tf.maximum(tf.exp(wide) if log_space else wide, tf.constant(1e-300, tf.float64))
            slope = tf.raw_ops.RandomGammaGrad(alpha=tf.cast(alpha, tf.float64), sample=x)
            return g * tf.cast(slope / x if log_space else slope, g.dtype)

        return draws, pull_back

    return tf.reshape(draw(tf.reshape(a, (-1,))), a.shape)


def poisson(key: Tensor, lam: Any, dtype: Any) -> Any:
    """Poisson draws of the shape of the rates `lam`."""
    rate = tf.cast(lam, tf.float32)
    whole = tf.where((rate >= 0) & (rate < float("inf")), tf.floor(rate), tf.zeros_like(rate))
    offset = rejection.poisson(_Ops, key, rate, tuple(rate.shape))
    return tf.cast(whole, dtype) + tf.cast(offset, dtype)
