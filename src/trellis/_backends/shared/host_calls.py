"""What the backends share for functions that a compiled program calls on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.announced import Shapes, check_count, check_result
from ..._core.dispatch import load
from ..._core.errors import NotSupportedError


def checked(ys: list[Any], shapes: Shapes, names: Sequence[str]) -> list[Any]:
    """The results as NumPy arrays, if they are what was announced; what has no data type of its own
    gets the announced one."""
    check_count(len(ys), len(shapes))
    types = load("numpy").TYPES
    found = []
    for y, shape, name in zip(ys, shapes, names, strict=True):
        array = np.asarray(y) if hasattr(y, "dtype") else np.asarray(y, types[name])
        check_result(array.shape, array.dtype.name, shape, name)
        found.append(array)
    return found


def no_derivative(*args: Any) -> Any:
    """The rule of such a call: its derivative would be silently missing."""
    raise NotSupportedError(
        "lazy_apply() calls a function that the framework does not see, so it has no derivative. "
        "Write trellis.bind_custom_gradient_function(fn, gradient) around it, or "
        "trellis.stop_gradient(...) around its arguments."
    )
