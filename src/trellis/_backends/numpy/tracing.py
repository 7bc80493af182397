"""Whether a function is being compiled: NumPy has no compiler, but `trellis.compile` raises where
others would.
"""

from typing import Any

import numpy as np

from ..._core.tracing import is_pretended
from ._tape import TracedArray
from ._unreadable import UnreadableArray


def is_tracing() -> bool:
    """Whether a function of `trellis.compile` is running."""
    return is_pretended("numpy")


def is_concrete(x: Any) -> bool:
    """Whether the values of `x` can be read now."""
    return isinstance(x, (np.ndarray, np.generic)) and not isinstance(x, UnreadableArray)


def lasts(x: Any) -> bool:
    """Whether `x` is still valid after the running function ends."""
    return not is_tracing() and not isinstance(x, (TracedArray, UnreadableArray))
