"""Random masks: one seed drops the same elements on every backend."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from .._core.dispatch import xp_of
from .._core.leafwise import call_leafwise
from .._core.threefry import fold_in_words
from .._core.typing import Array, Backend, Seed
from .._random.stream import as_key, key_words


def keep_mask(xp: Backend, like: Array, shape: tuple[Any, ...], prob: float, seed: Seed) -> Any:
    """A bool array on the framework of `like`: True ("keep") where a uniform draw is not below
    `prob`.

    The draws are 32-bit words, compared as integers whatever the dtype of the layer: a seed gives
    one mask everywhere. Both words of each hashed counter are used, which halves the work that a
    mask consists of. Sizes that are not known while tracing are None, and those of `like`.
    """
    key = as_key(seed, xp, xp.device(like))
    threshold = min(ceil(prob * 2**32), 2**32 - 1)
    return xp.random.keep(key, shape, threshold, like)


def call_seeded_leafwise(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    seed: Seed,
    is_drawing: bool,
) -> Any:
    """`call_leafwise` where leaf number i draws from a stream derived from (seed, i)."""
    numbers: list[int] = []

    def on_leaf(*leaf_args: Any, **leaf_kwargs: Any) -> Any:
        numbers.append(len(numbers))
        leaf_seed = _seed_of_leaf(seed, numbers[-1]) if is_drawing else seed
        return fn(*leaf_args, **leaf_kwargs, seed=leaf_seed)

    return call_leafwise(on_leaf, args, kwargs)


def _seed_of_leaf(seed: Seed, number: int) -> Any:
    if seed is None:
        return None
    words = key_words(seed)
    if words is not None:
        return fold_in_words(words, number)
    xp = xp_of(seed)
    return xp.random.fold_in(as_key(seed, xp), number)
