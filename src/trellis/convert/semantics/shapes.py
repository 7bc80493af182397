"""Sizes and shapes that are known only when a model runs."""

import math
from collections.abc import Sequence
from typing import Any

import trellis

from ..._core.typing import Array


def size(x: Array, axis: int, /) -> int:
    """How long an axis is, for models that keep it open."""
    return x.shape[axis]  # type: ignore[no-any-return]


def count(x: Array, /) -> int:
    """How many elements an array has."""
    return math.prod(x.shape)


def strided(x: Array, shape: Sequence[int], strides: Sequence[int], /, *, offset: int = 0) -> Any:
    """Elements of `x`, in their order in memory, `strides` steps apart along each axis."""
    flat = trellis.reshape(x, (-1,))
    places: Any = offset
    for axis, (n, step) in enumerate(zip(shape, strides)):
        steps = [i * step for i in range(n)]
        line = trellis.asarray(steps, dtype="int32", backend=trellis.backend_of(x))
        places = trellis.add(trellis.reshape(line, (n,) + (1,) * (len(shape) - axis - 1)), places)
    return trellis.take(flat, places, axis=0)
