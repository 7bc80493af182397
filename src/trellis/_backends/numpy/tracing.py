"""Whether a compiler is at work: NumPy has none."""

from typing import Any

import numpy as np

from ._tape import TracedArray

__all__ = [
    "is_concrete",
    "is_tracing",
    "lasts",
]


def is_tracing() -> bool:
    """Whether a compiled function is being traced: NumPy has no compiler."""
    return False


def is_concrete(x: Any) -> bool:
    """Whether the values of `x` can be looked at now."""
    return isinstance(x, (np.ndarray, np.generic))


def lasts(x: Any) -> bool:
    """Whether `x` can be kept when the running function has ended."""
    return not isinstance(x, TracedArray)
