"""Which keys a query may see, and the caches of decoders. True means seen, as everywhere."""

from typing import Any

from .._array.casting import astype, finfo
from .._array.casting import dtype as dtype_of
from .._array.creation import arange
from .._array.device import device as device_of
from .._array.elementwise import logical_and
from .._array.manipulation import expand_dims
from .._array.searching import where
from .._core.dispatch import backend_of
from .._core.errors import ShapeError
from .._core.typing import Array
from ..functional.cache import KVCache, init_cache


def real_keys(mask: Array) -> Any:
    """A mask of tokens (batch, T), 1 or True at real ones, for all queries: (batch, 1, 1, T)."""
    return expand_dims(expand_dims(astype(mask, "bool", copy=False), axis=1), axis=1)


def causal_mask(x: Array, length: int, mask: Array | None = None, window: int | None = None) -> Any:
    """Keys up to the query's own, among real tokens, the last `window` only.

    None if the mask is just causal, for which the frameworks have their own option.
    """
    if mask is None and window is None:
        return None
    places = arange(length, backend=backend_of(x), device=device_of(x))
    own = expand_dims(places, axis=1)
    seen = places <= own
    if window is not None:
        seen = logical_and(seen, places > own - window)
    return seen if mask is None else logical_and(seen, real_keys(mask))


def masked(bias: Array, seen: Array | None) -> Any:
    """A bias of the products, and the lowest number where a key is not seen.

    Not minus infinity: a query at padding sees nothing, and would become nan.
    """
    return bias if seen is None else where(seen, bias, float(finfo(dtype_of(bias)).min))


def check_length(owner: object, length: int, places: int) -> None:
    """Raise for more tokens than there are learned positions."""
    if length is not None and length > places:
        raise ShapeError(
            f"{type(owner).__name__} has {places} positions, and {length} tokens need more."
        )


def cache_for(weights: Any, layers: int, sizes: tuple[int, int, int, int]) -> tuple[KVCache, ...]:
    """One cache for each layer, in the framework, type and place of the weights."""
    options: dict[str, Any] = {
        "dtype": str(dtype_of(weights)),
        "device": device_of(weights),
        "backend": backend_of(weights),
    }
    return tuple([init_cache(*sizes, **options) for _ in range(layers)])
