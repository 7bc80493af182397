"""Whether a compiler is at work: NumPy has none."""

from typing import Any

import numpy as np

__all__ = [
    "is_concrete",
    "is_tracing",
]


def is_tracing() -> bool:
    """Whether a compiled function is being traced: NumPy has no compiler."""
    return False


def is_concrete(x: Any) -> bool:
    """Whether the values of `x` can be looked at now."""
    return isinstance(x, (np.ndarray, np.generic))
