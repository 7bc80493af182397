"""Threefry-2x32 on the CPU, eagerly: the counters 0, 1, 2, ... hashed into flat NumPy arrays.

The hash is some 110 passes over the data, so it runs block by block in buffers that stay in the
cache, in place, and in 32 bits. The torch and TensorFlow backends use it too for eager calls on the
CPU: without a compiler, none of their own operations do this as fast, and the arrays are converted
    without a copy.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..._core.threefry import (
    ERFINV_CENTRE_32,
    ERFINV_CENTRE_64,
    ERFINV_FAR_TAIL_64,
    ERFINV_TAIL_32,
    ERFINV_TAIL_64,
    MASK,
    PARITY,
    ROTATIONS,
    Words,
    sorting_rounds,
)

_BLOCK = 32768  # divides 2**32, so the low counter word never wraps inside a block
_THREADS = 4  # at most
_U32, _U64 = np.uint32, np.uint64
_SQRT2 = 2.0**0.5


def _u32(value: int) -> Any:
    # 0-d arrays: a ufunc takes them faster than Python or NumPy scalars.
    return np.array(value & MASK, _U32)


_NINE, _BITS_OF_ONE, _ONE = _u32(9), _u32(0x3F800000), np.array(1, np.float32)
# How far the two halves of a rotation go up and down, round by round, in five groups of four.
_SHIFTS = [[(_u32(r), _u32(32 - r)) for r in ROTATIONS[i % 2]] for i in range(5)]


def pairs(key: Words, size: int) -> Any:
    """The two words of each counter, in an array of shape (size, 2)."""
    out = np.empty((size, 2), _U32)

    def write(start: int, stop: int, x0: Any, x1: Any, scratch: Any) -> None:
        out[start:stop, 0], out[start:stop, 1] = x0, x1

    _hash_counters(key, size, write)
    return out


def bits(key: Words, size: int, dtype: Any) -> Any:
    """Random bits as unsigned integers."""
    out = np.empty(size, dtype)

    def write(start: int, stop: int, x0: Any, x1: Any, scratch: Any) -> None:
        if dtype == _U64:
            out[start:stop] = x0.astype(_U64) << _U64(32) | x1
        else:
            out[start:stop] = x0 ^ x1

    _hash_counters(key, size, write)
    return out


def keep(key: Words, size: int, threshold: int) -> Any:
    """Whether random words are at least `threshold`: first the upper words of half as many
    counters, then the lower.
    """
    half = (size + 1) // 2
    out = np.empty(2 * half, np.bool_)
    least = _u32(threshold)

    def write(start: int, stop: int, x0: Any, x1: Any, scratch: Any) -> None:
        np.greater_equal(x0, least, out[start:stop])
        np.greater_equal(x1, least, out[half + start : half + stop])

    _hash_counters(key, half, write)
    return out[:size]


def uniform(key: Words, size: int, dtype: Any) -> Any:
    """Uniforms in [0, 1): random bits become the fraction of a number in [1, 2)."""
    out = np.empty(size, dtype)

    def write(start: int, stop: int, x0: Any, x1: Any, scratch: Any) -> None:
        fractions(x0, x1, out[start:stop])

    _hash_counters(key, size, write)
    return out


def fractions(x0: Any, x1: Any, out: Any) -> Any:
    """Two words each as a number in [0, 1) of the dtype of `out`; the words are overwritten."""
    dtype = out.dtype
    if dtype == np.float32:  # looking up its name would take as long as a pass over a block
        np.bitwise_xor(x0, x1, x0)
        np.right_shift(x0, _NINE, x0)
        np.bitwise_or(x0, _BITS_OF_ONE, x0)
        return np.subtract(x0.view(np.float32), _ONE, out)
    if dtype == np.float64:
        wide = x0.astype(_U64) << _U64(32) | x1
        wide = wide >> _U64(12) | _U64(0x3FF0000000000000)
        return np.subtract(wide.view(np.float64), np.float64(1), out)
    shift, mask, one = (6, 0xFFFF, 0x3C00) if dtype == np.float16 else (1, 0xFF, 0x3F80)
    half = (((x0 ^ x1) & _U32(mask)) >> _U32(shift) | _U32(one)).astype(np.uint16)
    return np.subtract(half.view(dtype), np.ones((), dtype), out)


def normal(key: Words, size: int, dtype: Any) -> Any:
    """Standard normals: the inverse error function of a uniform in (-1, 1)."""
    out = np.empty(size, dtype)

    def write(start: int, stop: int, x0: Any, x1: Any, scratch: Any) -> None:
        u = fractions(x0, x1, out[start:stop])
        if u.dtype == np.float32:
            _normals_32(u, x0.view(np.float32), x1.view(np.float32))
        else:
            u[...] = normals_of(u)

    _hash_counters(key, size, write)
    return out


def _symmetric(u: Any) -> Any:
    """From [0, 1) to (-1, 1); exact in every dtype but for the last addition."""
    lowest = np.nextafter(np.array(-1, u.dtype), np.array(0, u.dtype))
    return u * u.dtype.type(2) + lowest


def normals_of(u: Any) -> Any:
    x = _symmetric(u)
    return erfinv(x) * x.dtype.type(_SQRT2)


_CENTRE_32 = [np.array(c, np.float32) for c in ERFINV_CENTRE_32]
_TAIL_32 = [np.array(c, np.float32) for c in ERFINV_TAIL_32]
_LOWEST_32 = np.nextafter(np.array(-1, np.float32), np.array(0, np.float32))


def _normals_32(u: Any, w: Any, p: Any) -> None:
    """Replace uniforms by normals in place; `w` and `p` are buffers of the same length."""
    np.multiply(u, np.float32(2), u)
    np.add(u, _LOWEST_32, u)
    np.multiply(u, u, w)
    np.subtract(np.float32(1), w, w)
    np.log(w, w)
    # w is minus that of the formula until here, so the few tails are those at or below -5.
    tails = np.flatnonzero(w <= -5)
    far = np.sqrt(-w[tails]) - np.float32(3)
    np.subtract(np.float32(-2.5), w, w)
    np.multiply(w, _CENTRE_32[0], p)
    for c in _CENTRE_32[1:-1]:
        np.add(p, c, p)
        np.multiply(p, w, p)
    np.add(p, _CENTRE_32[-1], p)
    p[tails] = _polynomial(_TAIL_32, far)
    np.multiply(u, p, u)
    np.multiply(u, np.float32(_SQRT2), u)


def _polynomial(coefficients: Any, x: Any) -> Any:
    total = coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


def erfinv(x: Any) -> Any:
    """The inverse error function; half precision goes through float32."""
    if x.dtype.name in ("float16", "bfloat16"):
        return erfinv(x.astype(np.float32)).astype(x.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        w = -np.log1p(-x * x)
        root = np.sqrt(np.where(w > 1, w, np.ones_like(w)))
        if x.dtype == np.float32:
            centre, tail = (
                _polynomial(_CENTRE_32, w - np.float32(2.5)),
                _polynomial(_TAIL_32, root - np.float32(3)),
            )
            p = np.where(w < 5, centre, tail)
        else:
            far = np.where(
                w < 16,
                _polynomial(ERFINV_TAIL_64, root - 3.25),
                _polynomial(ERFINV_FAR_TAIL_64, root - 5.0),
            )
            p = np.where(w < 6.25, _polynomial(ERFINV_CENTRE_64, w - 3.125), far)
        return np.where(np.abs(x) == 1, x * x.dtype.type(np.inf), p * x)


def permutation(key: Words, length: int) -> Any:
    """A random order of 0 ... length - 1: sorted by random keys, as often as ties make it
    necessary."""
    order = np.arange(length)
    for _ in range(sorting_rounds(length)):
        following, here = pairs(key, 2).tolist()
        key = (following[0], following[1])
        order = order[_stable_order(bits((here[0], here[1]), length, _U32))]
    return order


def _stable_order(draws: Any) -> Any:
    """np.argsort(draws, kind="stable") of 32-bit draws: each with its position below it, in one
    word, can be sorted as a number, for which NumPy uses vector instructions (10 to 25 times as
    fast)."""
    if draws.size > MASK:
        return np.argsort(draws, kind="stable")
    together = draws.astype(_U64) << _U64(32) | np.arange(draws.size, dtype=_U64)
    together.sort()
    return (together & _U64(MASK)).astype(np.int64)


# The hash -----------------------------------------------------------------------------------------


def _hash_counters(key: Words, size: int, write: Callable[..., None]) -> None:
    """Hash the counters 0, 1, ... size - 1; `write(start, stop, x0, x1, scratch)` takes each
    block.
    """
    k0, k1 = key
    schedule = (k0, k1, k0 ^ k1 ^ PARITY)
    injected = [
        (_u32(schedule[(i + 1) % 3]), _u32(schedule[(i + 2) % 3] + i + 1)) for i in range(5)
    ]

    def work(starts: range) -> None:
        width = min(size, _BLOCK)
        counters = np.arange(width, dtype=_U32)
        buffers = [np.empty(width, _U32) for _ in range(3)]
        for start in starts:
            stop = min(start + _BLOCK, size)
            x0, x1, scratch = [buffer[: stop - start] for buffer in buffers]
            np.add(counters[: stop - start], _u32(start + k1), x1)
            np.add(x1, _u32(k0 + (start >> 32)), x0)
            rounds(x0, x1, scratch, injected)
            write(start, stop, x0, x1, scratch)

    # NumPy releases the GIL inside each pass, so a few threads share the blocks of a large draw.
    starts = range(0, size, _BLOCK)
    number = min(_THREADS, len(starts) // 4, _cores()) if len(starts) >= 8 else 1
    if number < 2:
        work(starts)
        return
    with ThreadPoolExecutor(number) as pool:
        list(pool.map(work, [starts[i::number] for i in range(number)]))


def _cores() -> int:
    """How many cores this process may use: with fewer cores than threads, the threads only wait for
    each other.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def rounds(x0: Any, x1: Any, scratch: Any, injected: list[tuple[Any, Any]]) -> None:
    """The twenty rounds, in place; five pairs of key words are injected on the way.

    A round begins with x0 + x1. The caller does the first addition, which saves a pass: it computes
    x0 from x1 and one number.
    """
    add, left, right, xor = np.add, np.left_shift, np.right_shift, np.bitwise_xor
    is_added = True
    for shifts, (word0, word1) in zip(_SHIFTS, injected, strict=True):
        for up, down in shifts:
            if not is_added:
                add(x0, x1, x0)
            is_added = False
            left(x1, up, scratch)
            right(x1, down, x1)
            # The bits are disjoint, and `add` is faster here than `bitwise_or`.
            add(x1, scratch, x1)
            xor(x1, x0, x1)
        add(x0, word0, x0)
        add(x1, word1, x1)
