"""Numbers that a model reads from its arrays while it runs: axes, shapes, counts."""

from typing import Any

from ..._array.interchange import to_numpy
from ..._core.dispatch import xp_of
from ..._core.errors import TracingError
from ..._core.typing import Array


def integers(x: Array, /) -> tuple[int, ...]:
    """The numbers of an integer array as Python's, for shapes and axes that are inputs of a model.

    >>> import numpy as np
    >>> integers(np.array([2, -1]))
    (2, -1)
    """
    return tuple([int(n) for n in _read(x).ravel()])


def integer(x: Array, /) -> int:
    """The one number of an integer array."""
    return int(_read(x).reshape(()))


def number(x: Array, /) -> Any:
    """The one number of an array, as a Python number."""
    found = _read(x).reshape(()).item()
    return found if type(found) in (bool, int, float, complex) else float(found)


def axes_of(x: Array, /) -> tuple[int, ...] | None:
    """Axes to reduce; none named means all of them."""
    return integers(x) or None


def _read(x: Array) -> Any:
    if not xp_of(x).is_concrete(x):
        raise TracingError(
            "This model takes a shape, an axis or a count from an array, which a compiled function "
            "does not know. Convert it with that array as a constant, or call it uncompiled."
        )
    return to_numpy(x)
