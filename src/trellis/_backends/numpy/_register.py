"""Makes the backend known: to the dispatch table, and its derivatives to the tape."""

import sys

import numpy as np

from ..._core.dispatch import register
from ._helpers import BFLOAT16
from ._rules import elementwise, fft, indexing, linalg, reduction, shape  # noqa: F401
from ._tape import TracedArray

register(sys.modules[__package__], np.ndarray, TracedArray, BFLOAT16.type, *np.sctypeDict.values())
