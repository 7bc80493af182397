"""Registers the backend in the dispatch table, and its derivatives with the tape."""

import sys

import numpy as np

from ..._core.dispatch import register
from ._helpers import BFLOAT16
from ._rules import elementwise, fft, formulas, indexing, linalg, reduction, shape  # noqa: F401
from ._tape import TracedArray

ARRAY_TYPES: tuple[type, ...] = (
    np.ndarray,
    TracedArray,
    BFLOAT16.type,
    *np.sctypeDict.values(),
)


def make_known() -> None:
    """Called at the end of each import of the package; a second call changes nothing."""
    register(sys.modules[__package__], ARRAY_TYPES)
