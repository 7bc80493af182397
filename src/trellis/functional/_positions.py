"""Positions of tokens in attention: rotary angles, ALiBi's biases, windows, and caches."""

import math
from typing import Any, NamedTuple

from .._core.errors import ArgumentError, ShapeError
from .._core.shapes import one_of
from .._core.typing import Array, Backend
from ._arguments import whole_number
from ._masks import both_masks
from .cache import KVCache, cache_mask, cache_positions, extend_cache
from .position import rotary_embedding


class Placing(NamedTuple):
    """What depends on the places of tokens; None where it is not asked for."""

    positions: str | None
    window: int | None
    cache: Any


def check_positions(name: str, positions: str | None, window: int | None) -> None:
    if positions is not None:
        one_of(name, "positions", positions, ("rotary", "alibi"))
    if window is not None:
        whole_number(name, "window", window, 1)


def check_self_attention(name: str, is_self: bool, placing: Placing) -> None:
    if not is_self:
        what = "a cache" if placing.window is None else "window"
        what = what if placing.positions is None else "positions"
        raise ArgumentError(
            f"{name}() counts positions in one sequence: {what} goes with self-attention, where "
            "key and value are not given."
        )


def rotated(xp: Backend, q: Array, k: Array, cache: KVCache | None, base: float) -> tuple[Any, Any]:
    """Queries and keys (batch, heads, length, width) rotated by their positions."""
    if cache is None:
        return rotary_embedding(q, base=base), rotary_embedding(k, base=base)
    places = xp.expand_dims(cache_positions(cache, q.shape[2]), axis=1)
    return rotary_embedding(q, places, base=base), rotary_embedding(k, places, base=base)


def cached(
    name: str, xp: Backend, q: Array, k: Array, v: Array, mask: Any, placing: Placing
) -> tuple[Any, Any]:
    """The cache with the new keys and values, and the mask over all its places."""
    cache = placing.cache
    if not isinstance(cache, KVCache):
        raise ArgumentError(
            f"{name}() expects a KVCache for cache, as init_cache() makes it, got a "
            f"{type(cache).__name__}."
        )
    if k.shape[2] is None:
        raise ShapeError(f"{name}() needs to know how many tokens are new to a cache, got None.")
    keep = cache_mask(cache, k.shape[2], window=placing.window)
    mask = both_masks(xp, mask, keep)
    if placing.positions == "alibi":
        mask = both_masks(xp, alibi_bias(xp, q, cache.keys.shape[2], cache.position), mask)
    return extend_cache(cache, k, v), mask


def placed_mask(
    xp: Backend, q: Array, n_keys: int, mask: Any, is_causal: bool, placing: Placing
) -> tuple[Any, bool]:
    """The mask of a whole sequence with a window or biases; whether it is left to be causal."""
    window, is_alibi = placing.window, placing.positions == "alibi"
    if window is None and not is_alibi:
        return mask, is_causal
    if window is not None:
        away = _distances(xp, q, n_keys, 0)
        near = away < window
        near = xp.logical_and(near, away >= 0 if is_causal else away > -window)
        mask, is_causal = both_masks(xp, mask, near), False
    if is_alibi:
        mask = both_masks(xp, alibi_bias(xp, q, n_keys, 0), mask)
    return mask, is_causal


def alibi_bias(xp: Backend, q: Array, n_keys: int, first: int | Array) -> Any:
    """-slope * distance for each head, (heads, length, keys); queries begin at place `first`."""
    away = xp.abs(xp.astype(_distances(xp, q, n_keys, first), q.dtype))
    slopes = xp.asarray(alibi_slopes(q.shape[1]), dtype=q.dtype, device=xp.device(q))
    return -xp.reshape(slopes, (-1, 1, 1)) * away


def alibi_slopes(heads: int) -> list[float]:
    """2 ** (-8 i / heads), i from 1; between powers of two every other slope of the next one.

    >>> alibi_slopes(2)
    [0.0625, 0.00390625]
    """
    whole = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (i + 1) / whole) for i in range(whole)]
    return slopes + [2 ** (-4 * (2 * i + 1) / whole) for i in range(heads - whole)]


def _distances(xp: Backend, q: Array, n_keys: int, first: int | Array) -> Any:
    """How far each key lies behind each query, (length, keys)."""
    device = xp.device(q)
    own = xp.arange(q.shape[2], dtype="int32", device=device) + first
    keys = xp.arange(n_keys, dtype="int32", device=device)
    return xp.expand_dims(own, axis=1) - xp.expand_dims(keys, axis=0)
