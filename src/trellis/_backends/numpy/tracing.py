"""Whether a compiler is at work: NumPy has none, but `trellis.compile` refuses what others
refuse.
"""

from typing import Any

import numpy as np

from ..._core.tracing import is_pretended
from ._tape import TracedArray
from ._unreadable import UnreadableArray


def is_tracing() -> bool:
    """Whether a function runs that `trellis.compile` was asked to compile."""
    return is_pretended("numpy")


def is_concrete(x: Any) -> bool:
    """Whether the values of `x` can be looked at now."""
    return isinstance(x, (np.ndarray, np.generic)) and not isinstance(x, UnreadableArray)


def lasts(x: Any) -> bool:
    """Whether `x` can be kept when the running function has ended."""
    return not is_tracing() and not isinstance(x, (TracedArray, UnreadableArray))
