"""Operations on the cache of a whole model, whatever its layers keep in it.

A cache is a pytree of arrays. Those without axes are the same for all rows; all others have the
rows of the batch first.
"""

from collections.abc import Sequence
from typing import Any

from .._core import tree
from .._core.typing import Array, Backend, Device
from ..functional.cache import KVCache


def with_starts(
    xp: Backend, cache: Sequence[Any], starts: Array, device: Device
) -> tuple[Any, int]:
    """The cache for rows that begin at `starts` (numbers), and how many parts could be told so."""
    if isinstance(cache, KVCache):
        # A separate array for each: a shared one could not be overwritten.
        return cache._replace(start=xp.asarray(starts, dtype="int32", device=device)), 1
    if isinstance(cache, dict):
        found = {key: with_starts(xp, part, starts, device) for key, part in cache.items()}
        told: Any = type(cache)({key: part for key, (part, _) in found.items()})
        return told, sum([count for _, count in found.values()])
    if isinstance(cache, (list, tuple)):
        parts = [with_starts(xp, part, starts, device) for part in cache]
        new = [part for part, _ in parts]
        told = type(cache)(*new) if hasattr(cache, "_fields") else type(cache)(new)
        return told, sum([count for _, count in parts])
    return cache, 0


def rows_of(xp: Backend, cache: Sequence[Any], rows: Array) -> Any:
    """The cache of these rows, in this order."""
    return tree.map(lambda x: xp.take(x, rows, axis=0) if len(x.shape) > 0 else x, cache)
