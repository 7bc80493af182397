"""Fresh inputs like an example, in other sizes too."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .signature import resized


def drawn(
    example: Sequence[Any],
    axes: Sequence[Mapping[int, str]],
    sizes: Mapping[str, int],
    *,
    seed: int,
) -> list[Any]:
    """Random arrays with the types of the example and numbers from its range, so that indices stay
    within what they index and pictures stay pictures."""
    rng = np.random.default_rng(seed)
    return [
        _like(x, resized(x.shape, each, sizes), rng) for x, each in zip(example, axes, strict=True)
    ]


def _like(x: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    kind = x.dtype.kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        low, high = (int(x.min()), int(x.max())) if x.size else (0, 1)
        return rng.integers(low, high, shape, dtype=x.dtype, endpoint=True)
    if kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(x.dtype)
    wide = x.astype("float64")
    finite = wide[np.isfinite(wide)]
    least, most = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    made = rng.uniform(least, most, shape) if least < most else rng.standard_normal(shape)
    return np.asarray(made).astype(x.dtype)


def for_tracing(
    example: Sequence[Any], axes: Sequence[Mapping[int, str]], sizes: Mapping[str, int]
) -> list[Any]:
    """The example, or one in which dynamic axes have different sizes of 2 and more: tracers take an
    axis of size 1, and axes of equal sizes, for a property of the program."""
    if len(set(sizes.values())) == len(sizes) and all([size > 1 for size in sizes.values()]):
        return list(example)
    apart: dict[str, int] = {}
    for name, size in sizes.items():
        size = max(size, 2)
        while size in apart.values():
            size += 1
        apart[name] = size
    return drawn(example, axes, apart, seed=0)
