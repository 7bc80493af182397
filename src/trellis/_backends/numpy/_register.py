"""Makes the backend known: to the dispatch table, and its derivatives to the tape."""

import sys

import numpy as np

from ..._core.dispatch import register
from ._rules import elementwise, fft, indexing, linalg, reduction, shape  # noqa: F401
from ._tape import TracedArray


def make_known() -> None:
    """Called at the end of each import of the package; a second call changes nothing."""
    register(sys.modules[__package__], np.ndarray, TracedArray, *np.sctypeDict.values())
