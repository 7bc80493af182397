"""Random numbers on PyTorch: Threefry-2x32 with the counters and the layout of `jax.random`.

A key is a uint32 tensor of shape (2,). PyTorch has few kernels for uint32, so the hash works on the
same bits as int32: additions wrap in the same way, and only the shift to the right needs a mask.
Eager calls
on the CPU use the library's blockwise kernel; under `torch.compile` and on other devices it is one
expression, which the compiler fuses. Keys and the masks of dropout are the exception:
compiled for the CPU they call that same kernel, since the compiler would repeat the hash at each
use of a mask, forward and backward, and take seconds for every copy.
"""

from math import prod
from typing import Any

import numpy as np
import torch

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
from ._helpers import as_device
from ._private import gamma_slope
from ._types import Tensor
from .tracing import is_concrete

_SQRT2 = 2.0**0.5


# Types that the blockwise kernel supports; NumPy itself has no bfloat16.
_NUMPY = {
    getattr(torch, name): np.dtype(name)
    for name in ("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
}


def _signed(value: int) -> int:
    """The int32 with the bits of a 32-bit word."""
    return ((value & MASK) ^ 0x80000000) - 0x80000000


# Keys
# ------------------------------------------------------------------------------------------------


def make_key(upper: int, lower: int, device: Any = None) -> Any:
    return torch.tensor([upper, lower], dtype=torch.uint32, device=as_device(device))


def key_of_seed(seed: Any) -> Any:
    wide = seed.to(torch.int64)
    return torch.stack([wide >> 32, wide], dim=-1).to(torch.int32).view(torch.uint32)


def as_raw_key(key: Tensor) -> Any:
    return key


def key_device(x: Tensor) -> Any:
    """The device for the key of a draw that is used with `x`."""
    return x.device


def split(key: Tensor, shape: tuple[int, ...]) -> Any:
    known = _words_of(key)
    if known is not None:
        return torch.from_numpy(blocks.pairs(known, prod(shape))).reshape(*shape, 2)
    if _is_called(key):
        return _split_key(key, prod(shape)).reshape(*shape, 2)
    x0, x1 = _hashed(key, shape)
    return torch.stack([x0, x1], dim=-1).view(torch.uint32)


def fold_in(key: Tensor, data: Any) -> Any:
    if isinstance(data, int):
        count = torch.full((), _signed(data), dtype=torch.int32, device=key.device)
    else:
        count = data.to(torch.int64).to(torch.int32)
    return _fold_key(key, count) if _is_called(key) and count.ndim == 0 else _folded(key, count)


def _folded(key: Tensor, count: Any) -> Any:
    k = key.view(torch.int32)
    x0, x1 = _hash(k[..., 0], k[..., 1], torch.zeros_like(count), count)
    return torch.stack([x0, x1], dim=-1).view(torch.uint32)


def _is_called(key: Tensor) -> bool:
    """Whether compiled code should call the kernel for this key instead of containing the hash."""
    return torch.compiler.is_compiling() and key.device.type == "cpu" and key.ndim == 1


# The hash
# --------------------------------------------------------------------------------------------


def _hash(k0: Any, k1: Any, c0: Any, c1: Any) -> tuple[Any, Any]:
    """The hash of int32 tensors of keys and counters, which broadcast."""
    schedule = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = c0 + k0, c1 + k1
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = (x1 << r | (x1 >> (32 - r) & ((1 << r) - 1))) ^ x0
        x0 = x0 + schedule[(i + 1) % 3]
        x1 = x1 + (schedule[(i + 2) % 3] + (i + 1))
    return x0, x1


# An operator of its own, so that the compiled loop reads int32: torch.compile does not vectorise
# uint32.
@torch.library.custom_op("trellis::key_words", mutates_args=())
def _key_words(key: torch.Tensor) -> torch.Tensor:
    return key.view(torch.int32).clone()


@_key_words.register_fake
def _key_words_shape(key: Tensor) -> Any:
    return torch.empty_like(key, dtype=torch.int32)


@_key_words.register_vmap
def _key_words_of_many(info: Any, in_dims: Any, key: Tensor) -> Any:
    return _key_words(key), in_dims[0]


# Operators that compiled code calls; each gives its shape and handles several keys at once.


@torch.library.custom_op("trellis::split_key", mutates_args=())
def _split_key(key: torch.Tensor, count: int) -> torch.Tensor:
    return split(key, (count,))


@_split_key.register_fake
def _split_key_shape(key: Tensor, count: int) -> Any:
    return key.new_empty((count, 2))


@_split_key.register_vmap
def _split_keys(info: Any, in_dims: Any, keys: Tensor, count: int) -> Any:
    return torch.stack([_split_key(key, count) for key in keys.unbind(in_dims[0])]), 0


@torch.library.custom_op("trellis::fold_key", mutates_args=())
def _fold_key(key: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    return _folded(key, count)


@_fold_key.register_fake
def _fold_key_shape(key: Tensor, count: Any) -> Any:
    return torch.empty_like(key)


@_fold_key.register_vmap
def _fold_keys(info: Any, in_dims: Any, keys: Tensor, counts: Any) -> Any:
    keys = keys if in_dims[0] is None else keys.movedim(in_dims[0], 0)
    return _folded(keys, counts if in_dims[1] is None else counts.movedim(in_dims[1], 0)), 0


@torch.library.custom_op("trellis::mask", mutates_args=())
def _mask(key: torch.Tensor, size: int, threshold: int) -> torch.Tensor:
    return keep(key, (size,), threshold, key)


@_mask.register_fake
def _mask_shape(key: Tensor, size: int, threshold: int) -> Any:
    return key.new_empty((size,), dtype=torch.bool)


@_mask.register_vmap
def _masks(info: Any, in_dims: Any, keys: Tensor, size: int, threshold: int) -> Any:
    return torch.stack([_mask(key, size, threshold) for key in keys.unbind(in_dims[0])]), 0


def _hashed(key: Tensor, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The two words of the counters 0, 1, ... as one expression."""
    size = prod(shape)
    k = _key_words(key) if torch.compiler.is_compiling() else key.view(torch.int32)
    if size < 2**31:
        low = torch.arange(size, dtype=torch.int32, device=key.device)
        high = torch.zeros_like(low)
    else:
        wide = torch.arange(size, dtype=torch.int64, device=key.device)
        high, low = (wide >> 32).to(torch.int32), wide.to(torch.int32)
    x0, x1 = _hash(k[..., 0], k[..., 1], high, low)
    return x0.reshape(shape), x1.reshape(shape)


def _words_of(key: Tensor) -> tuple[int, int] | None:
    """The key's words, if they can be read and the blockwise kernel supports the key's device."""
    if key.device.type != "cpu" or not is_concrete(key):
        return None
    upper, lower = key.view(torch.int32).tolist()
    return upper & MASK, lower & MASK


# Bits, uniforms, normals
# -----------------------------------------------------------------------------


def bits(key: Tensor, shape: tuple[int, ...], dtype: Any) -> Any:
    known = _words_of(key)
    if known is not None:
        return torch.from_numpy(blocks.bits(known, prod(shape), _NUMPY[dtype])).reshape(shape)
    x0, x1 = _hashed(key, shape)
    if dtype == torch.uint64:
        return (x0.to(torch.int64) << 32 | x1.to(torch.int64) & MASK).view(torch.uint64)
    if dtype == torch.uint32:
        return (x0 ^ x1).view(torch.uint32)
    return ((x0 ^ x1) & torch.iinfo(dtype).max).to(dtype)


def keep(key: Tensor, shape: tuple[Any, ...], threshold: int, like: Any) -> Any:
    """A random mask: True with the probability 1 - threshold / 2**32."""
    known, size = _words_of(key), prod(shape)
    if known is not None:
        return torch.from_numpy(blocks.keep(known, size, threshold)).reshape(shape)
    if _is_called(key):
        return _mask(key, size, threshold).reshape(shape)
    words = torch.cat(_hashed(key, ((size + 1) // 2,)))[:size].reshape(shape)
    # With the first bit inverted, words compare as signed numbers as they do as unsigned ones.
    return (words ^ -(2**31)) >= threshold - 2**31


def uniform(key: Tensor, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniforms in [0, 1): random bits become the fraction of a number in [1, 2)."""
    known = _words_of(key)
    if known is None or dtype not in _NUMPY:
        return _fractions(*_hashed(key, shape), dtype)
    return torch.from_numpy(blocks.uniform(known, prod(shape), _NUMPY[dtype])).reshape(shape)


def _fractions(x0: Any, x1: Any, dtype: Any) -> Any:
    if dtype == torch.float32:
        return ((x0 ^ x1) >> 9 & 0x7FFFFF | 0x3F800000).view(torch.float32) - 1
    if dtype == torch.float64:
        wide = x0.to(torch.int64) << 32 | x1.to(torch.int64) & MASK
        return (wide >> 12 & (2**52 - 1) | 0x3FF0000000000000).view(torch.float64) - 1
    shift, mask, one = (6, 0xFFFF, 0x3C00) if dtype == torch.float16 else (1, 0xFF, 0x3F80)
    return (((x0 ^ x1) & mask) >> shift | one).to(torch.int16).view(dtype) - 1


def normal(key: Tensor, shape: tuple[int, ...], dtype: Any) -> Any:
    """Standard normals: the inverse error function of a uniform in (-1, 1)."""
    known = _words_of(key)
    if known is None or dtype not in _NUMPY:
        return (
            _erfinv_inside(_symmetric(_fractions(*_hashed(key, shape), dtype))) * _SQRT2_OF[dtype]
        )
    return torch.from_numpy(blocks.normal(known, prod(shape), _NUMPY[dtype])).reshape(shape)


_HALF_ULP = {
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
    torch.float32: 2.0**-24,
    torch.float64: 2.0**-53,
}
_SQRT2_OF = {dtype: torch.tensor(_SQRT2, dtype=dtype).item() for dtype in _HALF_ULP}


def _symmetric(u: Any) -> Any:
    """From [0, 1) to (-1, 1); exact in every dtype but for the last addition."""
    return u * 2 + (_HALF_ULP[u.dtype] - 1)


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Any:
    total = coefficients[0] * x + coefficients[1]
    for c in coefficients[2:]:
        total = total * x + c
    return total


def erfinv(x: Tensor) -> Any:
    """The inverse error function with JAX's polynomials; half precision goes through float32."""
    return torch.where(torch.abs(x) == 1, x * torch.inf, _erfinv_inside(x))


def _erfinv_inside(x: Tensor) -> Any:
    """The same for numbers strictly between -1 and 1."""
    if x.dtype in (torch.float16, torch.bfloat16):
        return _erfinv_inside(x.to(torch.float32)).to(x.dtype)
    w = -torch.log1p(-x * x)
    root = torch.sqrt(torch.clamp(w, min=1))
    if x.dtype == torch.float32:
        p = torch.where(
            w < 5, _polynomial(ERFINV_CENTRE_32, w - 2.5), _polynomial(ERFINV_TAIL_32, root - 3)
        )
    else:
        tail, far = (
            _polynomial(ERFINV_TAIL_64, root - 3.25),
            _polynomial(ERFINV_FAR_TAIL_64, root - 5),
        )
        p = torch.where(
            w < 6.25, _polynomial(ERFINV_CENTRE_64, w - 3.125), torch.where(w < 16, tail, far)
        )
    return p * x


# Integers
# --------------------------------------------------------------------------------------------


def randint(
    key: Tensor, shape: tuple[int, ...], minval: Any, maxval: Any, beyond: bool, dtype: Any
) -> Any:
    """JAX's integers in [minval, maxval); if `beyond`, maxval itself is the last one."""
    keys = split(key, (2,))
    wide = torch.iinfo(dtype).bits == 64
    unsigned = torch.uint64 if wide else torch.uint32
    upper, lower = [bits(k, shape, unsigned) for k in (keys[0], keys[1])]
    upper, lower = (
        (upper.view(torch.int64), lower.view(torch.int64))
        if wide
        else (_unsign(upper), _unsign(lower))
    )
    low, high = _as_int64(minval, key), _as_int64(maxval, key)
    mask = -1 if wide else MASK
    rest = _unsigned_remainder if wide else _remainder
    span = torch.where(high <= low, 1, high - low + int(beyond)) & mask
    multiplier = rest(torch.full_like(span, 1 << (32 if wide else 16)), span)
    multiplier = rest(multiplier * multiplier & mask, span)
    offset = rest(upper, span) * multiplier + rest(lower, span) & mask
    return (low + rest(offset, span)).to(dtype)


def _unsign(x: Tensor) -> Any:
    return x.view(torch.int32).to(torch.int64) & MASK


def _as_int64(x: Tensor, key: Tensor) -> Any:
    return (
        torch.full((), x, dtype=torch.int64, device=key.device)
        if isinstance(x, int)
        else x.to(torch.int64)
    )


def _remainder(x: Tensor, span: Any) -> Any:
    # A span of zero means 2**bits: the remainder is x itself.
    return torch.where(span == 0, x, x % torch.where(span == 0, 1, span))


def _unsigned_remainder(x: Tensor, span: Any) -> Any:
    """The remainder of 64-bit patterns read as unsigned numbers (Hacker's Delight, 9-3)."""
    small = torch.where(span > 0, span, 1)
    quotient = ((x >> 1 & (2**63 - 1)) // small) << 1
    rest = x - quotient * small
    rest = torch.where(_is_below(rest, small), rest, rest - small)
    large = torch.where(_is_below(x, span), x, x - span)
    return torch.where(span == 0, x, torch.where(span > 0, rest, large))


def _is_below(x: Tensor, y: Tensor) -> Any:
    return (x ^ -(2**63)) < (y ^ -(2**63))


def permutation(key: Tensor, length: int) -> Any:
    known = _words_of(key)
    if known is not None:
        return torch.from_numpy(blocks.permutation(known, length))
    order = torch.arange(length, device=key.device)
    for _ in range(sorting_rounds(length)):
        keys = split(key, (2,))
        key = keys[0]
        sort_keys = bits(keys[1], (length,), torch.uint32).view(torch.int32) ^ -(2**31)
        order = order[torch.argsort(sort_keys, stable=True)]
    return order


# Words: 32-bit digits of wide integers, held in int64
# --------------------------------------------------


def words(key: Tensor, shape: tuple[int, ...]) -> tuple[Any, Any]:
    x0, x1 = _hashed(key, shape)
    return x0.to(torch.int64) & MASK, x1.to(torch.int64) & MASK


def _split_words(x: Tensor) -> tuple[Any, Any]:
    return x >> 32 & MASK, x & MASK


def multiply_words(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    return _split_words(x * y)


def add_words(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    return _split_words(x + y)


def log2_fraction(y: Tensor) -> Any:
    """log2(y / 2**30) of words in [2**30, 2**31), times 2**23; each squaring gives one binary
    digit."""
    fraction = torch.zeros_like(y)
    for _ in range(23):
        y = y * y >> 30
        digit = y >> 31
        y = y >> digit
        fraction = fraction * 2 + digit
    return fraction.to(torch.int32)


def to_words(x: Tensor) -> tuple[Any, Any]:
    """The two's complement of integers in 64 bits, as an upper and a lower word."""
    if isinstance(x, int):
        return torch.tensor(x >> 32 & MASK), torch.tensor(x & MASK)
    return _split_words(x.to(torch.int64))


def from_words(upper: Any, lower: Any, dtype: Any) -> Any:
    return (upper << 32 | lower).to(dtype)


# Rejection samplers
# ----------------------------------------------------------------------------------


class _Ops:
    """What the shared rejection samplers need of PyTorch."""

    where, any, log, log1p = torch.where, torch.any, torch.log, torch.log1p
    sqrt, floor, abs, lgamma = torch.sqrt, torch.floor, torch.abs, torch.lgamma

    @staticmethod
    def split_keys(keys: Tensor, number: int) -> list[Any]:
        k = keys.view(torch.int32)
        zero = torch.zeros_like(k[:, 0])
        pairs = [_hash(k[:, 0], k[:, 1], zero, zero + i) for i in range(number)]
        return [torch.stack(pair, dim=-1).view(torch.uint32) for pair in pairs]

    @staticmethod
    def where_key(condition: Tensor, keys: Tensor, others: Any) -> Any:
        chosen = torch.where(condition[:, None], keys.view(torch.int32), others.view(torch.int32))
        return chosen.view(torch.uint32)

    @staticmethod
    def uniform_of(keys: Tensor, like: Any) -> Any:
        k = keys.view(torch.int32)
        zero = torch.zeros_like(k[:, 0])
        return _fractions(*_hash(k[:, 0], k[:, 1], zero, zero), like.dtype)

    @staticmethod
    def normal_of(keys: Tensor, like: Any) -> Any:
        return _erfinv_inside(_symmetric(_Ops.uniform_of(keys, like))) * _SQRT2_OF[like.dtype]

    @staticmethod
    def split_key(key: Tensor, number: int) -> Any:
        return split(key, (number,))

    @staticmethod
    def uniform(key: Tensor, shape: tuple[int, ...]) -> Any:
        return uniform(key, shape, torch.float32)

    @staticmethod
    def while_loop(condition: Tensor, body: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        while condition(*state):
            state = body(*state)
        return state


# Registered operators: how often the loops run depends on values, which torch.compile cannot trace.


@torch.library.custom_op("trellis::gamma", mutates_args=())
def _gamma(key: torch.Tensor, a: torch.Tensor, log_space: bool) -> torch.Tensor:
    flat = a.detach().reshape(-1)
    draws = rejection.gamma(_Ops, split(key, (flat.shape[0],)), flat, log_space)
    return draws.reshape(a.shape).clone()


@_gamma.register_fake
def _gamma_shape(key: Tensor, a: Any, log_space: bool) -> Any:
    return torch.empty_like(a)


class _Gamma(torch.autograd.Function):
    """The operator with its derivative: torch.func takes none that is registered with it."""

    @staticmethod
    def forward(key: Tensor, a: Any, log_space: bool) -> Any:
        return _gamma(key, a, log_space)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[1], output)
        ctx.log_space = inputs[2]

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> tuple[Any, ...]:
        a, draws = ctx.saved_tensors
        x = torch.exp(draws) if ctx.log_space else draws
        x = torch.clamp(x, min=torch.finfo(x.dtype).tiny)
        slope = gamma_slope(a, x)
        return None, gs[0] * (slope / x if ctx.log_space else slope), None


@torch.library.custom_op("trellis::poisson", mutates_args=())
def _poisson(key: torch.Tensor, lam: torch.Tensor) -> torch.Tensor:
    return rejection.poisson(_Ops, key, lam.detach(), tuple(lam.shape)).clone()


@_poisson.register_fake
def _poisson_shape(key: Tensor, lam: Any) -> Any:
    return torch.empty_like(lam)


def gamma(key: Tensor, a: Any, log_space: bool) -> Any:
    """Gamma draws of the shape of `a`; differentiable in `a`."""
    # The view is needed: Dynamo assumes that a tensor straight from torch.func needs no gradient.
    return _Gamma.apply(key, a.view_as(a), log_space)


def poisson(key: Tensor, lam: Any, dtype: Any) -> Any:
    """Poisson draws of the shape of the rates `lam`."""
    rate = lam.to(torch.float32)
    whole = torch.where((rate >= 0) & (rate < torch.inf), torch.floor(rate), 0)
    return whole.to(dtype) + _poisson(key, rate).to(dtype)
