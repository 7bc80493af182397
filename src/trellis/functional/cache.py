"""Cached keys and values, so that a decoder processes each token once.

A cache holds up to `length` tokens, and its arrays keep their shapes: one
compiled step serves a whole generation. In an attention layer, in this order:

    positions = cache_positions(cache, T)       # of the new tokens, for rotary or learned positions
    mask = cache_mask(cache, T)                 # (batch, 1, T, length): which places they may see
    cache = extend_cache(cache, keys, values)   # keys rotated already
    y = scaled_dot_product_attention(queries, cache.keys, cache.values, mask=mask)

Call `cache_positions` and `cache_mask` before the new keys are written. They depend on
`position` and `start` alone, which are the same in all layers of a model: a model may ask the cache
of its first layer once and hand the answers to all. A layer that extends its cache moves its own
`position`.

Prompts of different lengths are padded on the left: all rows then write their next token to the
same place, and `start` says where each row begins.
"""

from typing import Any, NamedTuple

from .._core.dispatch import named_xp, xp_of, xp_of_all
from .._core.errors import DtypeError, ShapeError
from .._core.explain import explain
from .._core.tracing import is_followed, lasts
from .._core.typing import Array, Backend, Device, DTypeLike
from ._arguments import shapes_differ, whole_number


class KVCache(NamedTuple):
    """Keys and values of the tokens so far; a pytree of arrays, made by `init_cache`.

    `keys` and `values` are (batch, kv_heads, length, head_dim). `position`, an int32 without axes,
    is the number of tokens so far. `start` (batch,) of int32 is the position of the first real
    token of each sequence: positions before it are padding, which is never attended to.

    >>> from trellis import functional as F
    >>> F.init_cache(2, 4, 16, 8)._fields
    ('keys', 'values', 'position', 'start')
    """

    keys: Any
    values: Any
    position: Any
    start: Any


def init_cache(
    batch: int,
    kv_heads: int,
    length: int,
    head_dim: int,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> KVCache:
    """An empty cache for up to `length` tokens. For prompts that are padded on the left:
    `init_cache(...)._replace(start=paddings)`.

    >>> from trellis import functional as F
    >>> cache = F.init_cache(2, 4, 16, 8)
    >>> cache.keys.shape, int(cache.position)
    ((2, 4, 16, 8), 0)
    """
    try:
        sizes = {"batch": batch, "kv_heads": kv_heads, "length": length, "head_dim": head_dim}
        shape = tuple([whole_number("init_cache", what, n, 0) for what, n in sizes.items()])
        xp = named_xp(backend)
        keys, values = [xp.zeros(shape, dtype=dtype, device=device) for _ in range(2)]
        position = xp.zeros((), dtype="int32", device=device)
        return KVCache(keys, values, position, xp.zeros(shape[:1], dtype="int32", device=device))
    except Exception as error:
        return explain(error, init_cache)


def extend_cache(cache: KVCache, keys: Array, values: Array, /) -> KVCache:
    """The cache with the keys and values (batch, kv_heads, T, head_dim) of T more tokens.

    Differentiable. Raises if the cache is full; in a compiled function, where `position` has no
    value yet, the last tokens are overwritten instead.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> cache = F.extend_cache(F.init_cache(1, 1, 4, 1), *np.ones((2, 1, 1, 3, 1), "float32"))
    >>> int(cache.position), cache.keys[0, 0, :, 0]
    (3, array([1., 1., 1., 0.], dtype=float32))
    """
    try:
        xp = xp_of_all(*cache, keys, values)
        steps = keys.shape[-2]
        for what, new, old in (("keys", keys, cache.keys), ("values", values, cache.values)):
            _check_new("extend_cache", what, new, old, steps)
        _check_room(cache, steps)
        kept = [
            xp.update_slice(old, xp.astype(x, old.dtype, copy=False), cache.position, axis=2)
            for old, x in ((cache.keys, keys), (cache.values, values))
        ]
        return KVCache(kept[0], kept[1], cache.position + steps, cache.start)
    except Exception as error:
        return explain(error, extend_cache)


def cache_mask(cache: KVCache, queries: int, /, *, window: int | None = None) -> Array:
    """Which positions the next `queries` tokens attend to, as bools (batch, 1, queries, length).
    Call it before their keys are written. A token attends to itself and to those before it, except
    padding; with `window` only to the last `window` positions, including its own.

    >>> from trellis import functional as F
    >>> F.cache_mask(F.init_cache(1, 1, 4, 1), 2)
    array([[[[ True, False, False, False],
             [ True,  True, False, False]]]])
    """
    try:
        xp = xp_of(cache.keys)
        device = xp.device(cache.keys)
        queries = whole_number("cache_mask", "queries", queries, 0)
        keys = xp.arange(cache.keys.shape[2], dtype="int32", device=device)
        own = xp.expand_dims(_places(xp, cache, queries), axis=-1)
        seen = keys <= own
        if window is not None:
            seen = xp.logical_and(
                seen, keys > own - whole_number("cache_mask", "window", window, 1)
            )
        real = keys >= xp.expand_dims(cache.start, axis=-1)
        seen = xp.logical_and(xp.expand_dims(real, axis=1), seen)
        return xp.expand_dims(seen, axis=1)
    except Exception as error:
        return explain(error, cache_mask)


def cache_positions(cache: KVCache, queries: int, /) -> Array:
    """The positions of the next `queries` tokens in their sequences, as int32 (batch, queries).
    Call it before their keys are written. Padding counts as position 0.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> cache = F.init_cache(2, 1, 4, 1)._replace(start=np.array([0, 2], "int32"))
    >>> F.cache_positions(cache, 3)
    array([[0, 1, 2],
           [0, 0, 0]], dtype=int32)
    """
    try:
        xp = xp_of(cache.start)
        queries = whole_number("cache_positions", "queries", queries, 0)
        places = _places(xp, cache, queries) - xp.expand_dims(cache.start, axis=-1)
        return xp.clip(places, 0, None)
    except Exception as error:
        return explain(error, cache_positions)


def _places(xp: Backend, cache: KVCache, queries: int) -> Any:
    """The places of the next tokens, the same in all rows."""
    counted = xp.arange(queries, dtype="int32", device=xp.device(cache.start))
    return cache.position + counted


def _check_new(name: str, what: str, new: Array, old: Array, steps: int | None) -> None:
    shape, wanted = tuple(new.shape), tuple(old.shape)
    wanted = (*wanted[:2], steps, *wanted[3:])
    if len(shape) != 4 or shapes_differ(shape, wanted):
        raise ShapeError(
            f"{name}() expects {what} of shape {wanted} for a cache of {tuple(old.shape)}, "
            f"got {shape}."
        )
    if "complex" in str(new.dtype):
        raise DtypeError(f"{name}() keeps real numbers, got {what} of {new.dtype}.")


def _check_room(cache: KVCache, steps: int) -> None:
    length = cache.keys.shape[2]
    if steps > length:
        raise ShapeError(f"extend_cache() got {steps} tokens for a cache of {length} places.")
    # A compiler cannot look.
    if is_followed() or not lasts(cache.position) or int(cache.position) + steps <= length:
        return
    raise ShapeError(
        f"extend_cache() got {steps} tokens for a cache of {length} places, "
        f"{int(cache.position)} of them filled. Make a longer one: init_cache(..., length, ...)."
    )
