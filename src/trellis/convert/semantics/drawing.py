"""Random numbers of a shape and type, on a framework."""

from collections.abc import Sequence
from typing import Any

import trellis as t

from ..._core.typing import Array


def shape(x: Array, /) -> tuple[int, ...]:
    """The shape as a tuple."""
    return tuple(x.shape)


def random_uniform(
    sizes: Sequence[int], low: float, high: float, /, *, dtype: str, backend: str
) -> Any:
    """Numbers between two limits."""
    with t.using_backend(backend):
        return t.random_uniform(low=low, high=high, shape=tuple(sizes), dtype=dtype)


def random_normal(
    sizes: Sequence[int], mean: float, std: float, /, *, dtype: str, backend: str
) -> Any:
    """Numbers around a mean."""
    with t.using_backend(backend):
        return t.random_normal(mean=mean, std=std, shape=tuple(sizes), dtype=dtype)


def random_categories(x: Array, count: int, /, *, dtype: str, backend: str) -> Any:
    """So many categories for each row of logarithms of weights, drawn with replacement."""
    noise = random_uniform((x.shape[0], count, x.shape[1]), 1e-12, 1.0, dtype="float32",
                           backend=backend)  # fmt: skip
    # The largest of logarithms with Gumbel noise is a draw.
    best = t.astype(t.expand_dims(x, 1), "float32") - t.log(-t.log(noise))
    return t.astype(t.argmax(best, axis=2), dtype)
