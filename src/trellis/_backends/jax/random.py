"""Random numbers on JAX: `jax.random` itself, held to its default stream.

A key is a uint32 array of shape (2,); new-style typed keys are taken too. The words at the end are
32-bit digits of wide integers, so that nothing here needs 64-bit types.
"""

import contextlib
from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from ..._core.threefry import MASK
from ..shared import rejection
from ._private import counter_words
from ._types import Array
from .device import as_device

_HALF = 0xFFFF


def _stream_layout() -> Any:
    # The numbers depend on this setting of the user; Trellis promises the default's.
    if jax.config.jax_threefry_partitionable:
        return contextlib.nullcontext()
    return jax.threefry_partitionable(True)


def _typed(key: Array) -> Any:
    """A typed Threefry key, whatever generator is the user's default."""
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return key
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def _like(keys: Array, key: Array) -> Any:
    return keys if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.key_data(keys)


# Keys
# ------------------------------------------------------------------------------------------------


def make_key(upper: int, lower: int, device: Any = None) -> Any:
    import numpy  # what jax.device_put takes without tracing anything

    words = numpy.array([upper, lower], numpy.uint32)
    return jnp.asarray(words) if device is None else jax.device_put(words, as_device(device))


def key_of_seed(seed: Any) -> Any:
    seed = jnp.asarray(seed)
    wide = seed.dtype.itemsize == 8
    upper = (seed >> 32 if wide else jnp.zeros_like(seed)).astype(jnp.uint32)
    return jnp.stack([upper, (seed & MASK if wide else seed).astype(jnp.uint32)], axis=-1)


def as_raw_key(key: Array) -> Any:
    return jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key


def key_device(x: Array) -> Any:
    """Where the key of a draw beside `x` belongs: the framework itself brings arrays together."""
    return None


def split(key: Array, shape: tuple[int, ...]) -> Any:
    with _stream_layout():
        return _like(jax.random.split(_typed(key), shape), key)


def fold_in(key: Array, data: Any) -> Any:
    return _like(jax.random.fold_in(_typed(key), jnp.uint32(data)), key)


# Bits, uniforms, normals
# -----------------------------------------------------------------------------


def bits(key: Array, shape: tuple[int, ...], dtype: Any) -> Any:
    with _stream_layout():
        return jax.random.bits(_typed(key), shape, dtype)


def keep(key: Array, shape: tuple[Any, ...], threshold: int, like: Any) -> Any:
    """A random mask: True with the probability 1 - threshold / 2**32."""
    return _keep(as_raw_key(key), jnp.uint32(threshold), shape)


@partial(jax.jit, static_argnums=2)
def _keep(key: Array, threshold: Any, shape: tuple[int, ...]) -> Any:
    size = prod(shape)
    words = counter_words(key, (size + 1) // 2)
    return (words[:size] >= threshold).reshape(shape)


def uniform(key: Array, shape: tuple[int, ...], dtype: Any) -> Any:
    with _stream_layout():
        return jax.random.uniform(_typed(key), shape, dtype)


def normal(key: Array, shape: tuple[int, ...], dtype: Any) -> Any:
    with _stream_layout():
        return jax.random.normal(_typed(key), shape, dtype)


def erfinv(x: Array) -> Any:
    return jax.lax.erf_inv(x)


# Integers
# --------------------------------------------------------------------------------------------


def randint(
    key: Array, shape: tuple[int, ...], minval: Any, maxval: Any, beyond: bool, dtype: Any
) -> Any:
    """JAX's integers in [minval, maxval); if `beyond`, maxval itself is the last one."""
    if beyond:
        maxval = jnp.asarray(jnp.iinfo(dtype).max + 1, f"uint{jnp.iinfo(dtype).bits}")
    with _stream_layout():
        return jax.random.randint(_typed(key), shape, minval, maxval, dtype)


def permutation(key: Array, length: int) -> Any:
    with _stream_layout():
        return jax.random.permutation(_typed(key), length)


# Words: 32-bit digits of wide integers
# -----------------------------------------------------------------


def words(key: Array, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The words of 64 random bits, as `bits` of uint64 would have them."""
    size = 1
    for n in shape:
        size *= n
    with _stream_layout():
        pairs = jax.random.key_data(jax.random.split(_typed(key), (size,)))
    return pairs[:, 0].reshape(shape), pairs[:, 1].reshape(shape)


def multiply_words(x: Array, y: Array) -> tuple[Any, Any]:
    x1, x0, y1, y0 = x >> 16, x & _HALF, y >> 16, y & _HALF
    low = x0 * y0
    middle = x1 * y0 + (low >> 16)
    other = x0 * y1 + (middle & _HALF)
    return x1 * y1 + (middle >> 16) + (other >> 16), x * y


def add_words(x: Array, y: Array) -> tuple[Any, Any]:
    total = x + y
    return (total < x).astype(jnp.uint32), total


def log2_fraction(y: Array) -> Any:
    """log2(y / 2**30) of words in [2**30, 2**31), times 2**23; each squaring gives one binary
    digit."""

    def square(_: Any, state: Any) -> Any:
        y, fraction = state
        upper, lower = multiply_words(y, y)
        y = upper << 2 | lower >> 30
        digit = y >> 31
        return y >> digit, fraction * 2 + digit.astype(jnp.int32)

    return jax.lax.fori_loop(0, 23, square, (y, jnp.zeros(y.shape, jnp.int32)))[1]


def to_words(x: Array) -> tuple[Any, Any]:
    """The two's complement of integers in 64 bits, as an upper and a lower word."""
    if isinstance(x, int):
        return jnp.uint32(x >> 32 & MASK), jnp.uint32(x & MASK)
    if x.dtype.itemsize == 8:
        return (x >> 32 & MASK).astype(jnp.uint32), (x & MASK).astype(jnp.uint32)
    return (x.astype(jnp.int32) >> 31).astype(jnp.uint32), x.astype(jnp.int32).astype(jnp.uint32)


def from_words(upper: Any, lower: Any, dtype: Any) -> Any:
    if jnp.dtype(dtype).itemsize == 8:
        return (upper.astype(jnp.uint64) << 32 | lower).astype(dtype)
    return lower.astype(jnp.int32).astype(dtype)


# Rejection samplers
# ----------------------------------------------------------------------------------


def gamma(key: Array, a: Any, log_space: bool) -> Any:
    sampler = jax.random.loggamma if log_space else jax.random.gamma
    with _stream_layout():
        return sampler(_typed(key), a, dtype=a.dtype)


class _Ops:
    """What the shared rejection samplers need of JAX."""

    where, any, log, log1p = jnp.where, jnp.any, jnp.log, jnp.log1p
    sqrt, floor, abs, lgamma = jnp.sqrt, jnp.floor, jnp.abs, jax.lax.lgamma

    @staticmethod
    def split_key(key: Array, number: int) -> Any:
        return split(key, (number,))

    @staticmethod
    def uniform(key: Array, shape: tuple[int, ...]) -> Any:
        return uniform(key, shape, jnp.float32)

    @staticmethod
    def while_loop(condition: Array, body: Any, state: tuple[Any, ...]) -> Any:
        return jax.lax.while_loop(lambda s: condition(*s), lambda s: body(*s), state)


@partial(jax.jit, static_argnames="dtype")
def _poisson(key: Array, lam: Any, dtype: Any) -> Any:
    rate = lam.astype(jnp.float32)
    whole = jnp.where((rate >= 0) & (rate < jnp.inf), jnp.floor(rate), 0)
    offset = rejection.poisson(_Ops, key, rate, rate.shape)
    return whole.astype(dtype) + offset.astype(dtype)


def poisson(key: Array, lam: Any, dtype: Any) -> Any:
    """Poisson draws of the shape of the rates `lam`; those of jax.random are rounded away from
    10**5 on."""
    with _stream_layout():
        return _poisson(as_raw_key(key), lam, dtype)
