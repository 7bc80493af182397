"""Makes the backend known: to the dispatch table, and its derivatives to the tape."""

import sys

import numpy as np

from ..._core.dispatch import register
from ._rules import elementwise, fft, indexing, linalg, reduction, shape  # noqa: F401
from ._tape import TracedArray

ARRAY_TYPES: tuple[type, ...] = (np.ndarray, TracedArray, *np.sctypeDict.values())
register(sys.modules[__package__], ARRAY_TYPES)
