"""Random numbers on NumPy: Threefry-2x32 with the counters and the layout of `jax.random`.

A key is a uint32 array of shape (2,).
"""

from math import prod
from typing import Any

import numpy as np

from ..._core.threefry import MASK, PARITY
from ..shared import rejection
from ..shared import threefry_blocks as blocks
from . import _scipy
from ._tape import differentiable, stop
from .casting import check_device

_U32, _U64 = np.uint32, np.uint64

erfinv = blocks.erfinv

# Keys
# ------------------------------------------------------------------------------------------------


def make_key(upper: int, lower: int, device: Any = None) -> Any:
    check_device(device)
    return np.array([upper, lower], _U32)


def key_of_seed(seed: Any) -> Any:
    value = int(seed) & (2**64 - 1)
    return make_key(value >> 32, value & MASK)


def as_raw_key(key: Any) -> Any:
    return key


def key_device(x: Any) -> Any:
    """The device for the key of a draw that is used with `x`: the framework decides."""
    return None


def split(key: Any, shape: tuple[int, ...]) -> Any:
    return blocks.pairs(_words_of(key), prod(shape)).reshape(*shape, 2)


def fold_in(key: Any, data: Any) -> Any:
    x0, x1 = _hash(key[..., 0], key[..., 1], 0, np.asarray(data).astype(_U32))
    return np.stack([x0, x1], axis=-1)


def _words_of(key: Any) -> tuple[int, int]:
    return int(key[0]), int(key[1])


def _hash(k0: Any, k1: Any, c0: Any, c1: Any) -> tuple[Any, Any]:
    """The hash of arrays of keys and counters, which broadcast."""
    k0, k1, c0, c1 = np.broadcast_arrays(*[np.asarray(x, _U32) for x in (k0, k1, c0, c1)])
    shape = k0.shape
    k0, k1 = k0.reshape(-1), k1.reshape(-1)
    x1 = c1.reshape(-1) + k1
    x0 = c0.reshape(-1) + k0 + x1  # the first addition of the first round
    schedule = (k0, k1, k0 ^ k1 ^ _U32(PARITY))
    injected = [(schedule[(i + 1) % 3], schedule[(i + 2) % 3] + _U32(i + 1)) for i in range(5)]
    blocks.rounds(x0, x1, np.empty_like(x0), injected)
    return x0.reshape(shape), x1.reshape(shape)


# Bits, uniforms, normals
# -----------------------------------------------------------------------------


def bits(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return blocks.bits(_words_of(key), prod(shape), dtype).reshape(shape)


def keep(key: Any, shape: tuple[Any, ...], threshold: int, like: Any) -> Any:
    """A random mask: True with the probability 1 - threshold / 2**32."""
    return blocks.keep(_words_of(key), prod(shape), threshold).reshape(shape)


def uniform(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return blocks.uniform(_words_of(key), prod(shape), dtype).reshape(shape)


def normal(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return blocks.normal(_words_of(key), prod(shape), dtype).reshape(shape)


# Integers
# --------------------------------------------------------------------------------------------


def randint(
    key: Any, shape: tuple[int, ...], minval: Any, maxval: Any, beyond: bool, dtype: Any
) -> Any:
    """JAX's integers in [minval, maxval); if `beyond`, maxval itself is the last one."""
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    low, high = np.asarray(minval, dtype), np.asarray(maxval, dtype)
    keys = split(key, (2,))
    upper, lower = bits(keys[0], shape, unsigned), bits(keys[1], shape, unsigned)
    with np.errstate(over="ignore"):
        span = high.astype(unsigned) - low.astype(unsigned)
        span = np.where(high <= low, unsigned.type(1), span)
        span = span + (high > low).astype(unsigned) * unsigned.type(beyond)
        multiplier = _remainder(unsigned.type(1 << (unsigned.itemsize * 4)), span)
        multiplier = _remainder(multiplier * multiplier, span)
        offset = _remainder(upper, span) * multiplier + _remainder(lower, span)
        return (low.astype(unsigned) + _remainder(offset, span)).astype(dtype)


def _remainder(x: Any, span: Any) -> Any:
    # A span of zero means 2**bits: the remainder is x itself.
    return np.where(span == 0, x, np.remainder(x, np.maximum(span, span.dtype.type(1))))


def permutation(key: Any, length: int) -> Any:
    return blocks.permutation(_words_of(key), length)


# Words: 32-bit digits of wide integers, held so that a product of two fits
# ----------------------------


def words(key: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    return _split_words(bits(key, shape, _U64))


def _split_words(x: Any) -> tuple[Any, Any]:
    return x >> _U64(32), x & _U64(MASK)


def multiply_words(x: Any, y: Any) -> tuple[Any, Any]:
    return _split_words(x * y)


def add_words(x: Any, y: Any) -> tuple[Any, Any]:
    return _split_words(x + y)


def log2_fraction(y: Any) -> Any:
    """log2(y / 2**30) of words in [2**30, 2**31), times 2**23; each squaring gives one binary
    digit."""
    fraction = np.zeros(y.shape, np.int32)
    for _ in range(23):
        y = y * y >> _U64(30)
        digit = y >> _U64(31)
        y = y >> digit
        fraction = fraction * np.int32(2) + digit.astype(np.int32)
    return fraction


def to_words(x: Any) -> tuple[Any, Any]:
    """The two's complement of integers in 64 bits, as an upper and a lower word."""
    if isinstance(x, int):
        return _split_words(np.array(x & (2**64 - 1), _U64))
    return _split_words(np.asarray(x).astype(np.int64).astype(_U64))


def from_words(upper: Any, lower: Any, dtype: Any) -> Any:
    return np.asarray(upper << _U64(32) | lower).view(np.int64).astype(dtype)


# Rejection samplers
# ----------------------------------------------------------------------------------


class _Ops:
    """What the shared rejection samplers need of NumPy."""

    where, any, log, log1p, sqrt, floor, abs = (
        np.where,
        np.any,
        np.log,
        np.log1p,
        np.sqrt,
        np.floor,
        np.abs,
    )

    @staticmethod
    def lgamma(x: Any) -> Any:
        return _scipy.special.gammaln(x)

    @staticmethod
    def split_keys(keys: Any, number: int) -> list[Any]:
        return [np.stack(_hash(keys[:, 0], keys[:, 1], 0, i), axis=-1) for i in range(number)]

    @staticmethod
    def where_key(condition: Any, keys: Any, others: Any) -> Any:
        return np.where(condition[:, None], keys, others)

    @staticmethod
    def uniform_of(keys: Any, like: Any) -> Any:
        return blocks.fractions(*_hash(keys[:, 0], keys[:, 1], 0, 0), np.empty_like(like))

    @staticmethod
    def normal_of(keys: Any, like: Any) -> Any:
        return blocks.normals_of(_Ops.uniform_of(keys, like))

    @staticmethod
    def split_key(key: Any, number: int) -> Any:
        return split(key, (number,))

    @staticmethod
    def uniform(key: Any, shape: tuple[int, ...]) -> Any:
        return uniform(key, shape, np.dtype("float32"))

    @staticmethod
    def while_loop(condition: Any, body: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        while condition(*state):
            state = body(*state)
        return state


def gamma(key: Any, a: Any, log_space: bool) -> Any:
    """Gamma draws of the shape of `a`; differentiable in `a`."""
    return np.reshape(_gamma(np.reshape(a, -1), key, log_space), a.shape)


def _draw_gamma(a: Any, key: Any, log_space: bool) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return rejection.gamma(_Ops, split(key, a.shape), a, log_space).astype(a.dtype)


def _gamma_vjp(ans: Any, a: Any, key: Any, log_space: bool) -> Any:
    # The implicit derivative: a draw keeps its quantile, so dx/da = -(dF/da) / (dF/dx).
    alpha, x = [np.asarray(stop(v), np.float64) for v in (a, ans)]
    x = np.maximum(np.exp(x) if log_space else x, 1e-300)
    step = 1e-4 * np.maximum(alpha, 1e-2)
    by_a = (
        8 * (_scipy.special.gammainc(alpha + step, x) - _scipy.special.gammainc(alpha - step, x))
        - (
            _scipy.special.gammainc(alpha + 2 * step, x)
            - _scipy.special.gammainc(alpha - 2 * step, x)
        )
    ) / (12 * step)
    density = np.exp((alpha - 1) * np.log(x) - x - _scipy.special.gammaln(alpha))
    slope = -by_a / density / (x if log_space else 1.0)
    return lambda g: g * slope.astype(stop(a).dtype)


_gamma = differentiable(_draw_gamma, _gamma_vjp)


def poisson(key: Any, lam: Any, dtype: Any) -> Any:
    """Poisson draws of the shape of the rates `lam`."""
    rate = lam.astype(np.float32)
    # A uniform draw at the edge is divided by almost 0, and rejected.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        offset = rejection.poisson(_Ops, key, rate, rate.shape)
        return _whole(rate).astype(dtype) + offset.astype(dtype)


def _whole(rate: Any) -> Any:
    return np.where((rate >= 0) & (rate < np.inf), np.floor(rate), 0)
