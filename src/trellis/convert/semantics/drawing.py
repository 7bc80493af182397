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


def random_places(weights: Array, count: int, /, *, replacement: bool) -> Any:
    """So many places along the last axis, drawn by their weights."""
    shape = tuple(weights.shape)
    noise = random_uniform(
        (*shape[:-1], count, shape[-1]) if replacement else shape, 1e-12, 1.0, dtype="float32",
        backend=t.backend_of(weights),
    )  # fmt: skip
    logs = t.astype(t.log(weights), "float32")
    # The largest of logarithms with Gumbel noise is a draw, the largest few are one of each.
    if replacement:
        return t.argmax(t.expand_dims(logs, axis=-2) - t.log(-t.log(noise)), axis=-1)
    return t.topk(logs - t.log(-t.log(noise)), count, axis=-1)[1]
