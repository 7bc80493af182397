"""What the backends share for functions that a compiled program calls on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.errors import DtypeError, NotSupportedError, ShapeError

Shapes = Sequence[tuple[int | None, ...]]


def checked(ys: list[Any], shapes: Shapes, names: Sequence[str]) -> list[Any]:
    """The results as NumPy arrays, if they are what was announced; what has no data type of its own
    gets the announced one. A compiled program has memory for nothing else."""
    if len(ys) != len(shapes):
        raise ShapeError(
            f"The function of lazy_apply() returned {len(ys)} results; shape= announced "
            f"{len(shapes)}."
        )
    return [_checked(y, *expected) for y, *expected in zip(ys, shapes, names, strict=True)]


def _checked(y: Any, shape: tuple[int | None, ...], name: str) -> Any:
    if not hasattr(y, "dtype"):
        from ..numpy import TYPES

        y = np.asarray(y, TYPES[name])
    y = np.asarray(y)
    fits = len(y.shape) == len(shape) and all(
        [size is None or size == found for size, found in zip(shape, y.shape, strict=True)]
    )
    if not fits:
        raise ShapeError(
            f"The function of lazy_apply() returned an array of shape {y.shape}, where {shape} was "
            "announced. Pass the shape of its result as shape=."
        )
    if y.dtype.name != name:
        raise DtypeError(
            f"The function of lazy_apply() returned {y.dtype.name}, where {name} was announced. "
            "Pass the data type of its result as dtype=, or convert the result in the function."
        )
    return y


def no_derivative(*args: Any) -> Any:
    """The rule of such a call: its derivative would be silently missing."""
    raise NotSupportedError(
        "lazy_apply() calls a function that the framework does not see, so it has no derivative. "
        "Write trellis.bind_custom_gradient_function(fn, gradient) around it, or "
        "trellis.stop_gradient(...) around its arguments."
    )


def known(shapes: Shapes, framework: str) -> list[tuple[int, ...]]:
    """The shapes, for a compiler that must know them."""
    found = [tuple([size for size in shape if size is not None]) for shape in shapes]
    if any([len(short) != len(shape) for short, shape in zip(found, shapes, strict=True)]):
        raise ShapeError(
            f"{framework} needs the whole shape of what lazy_apply() returns while it compiles; "
            "shape= has None."
        )
    return found
