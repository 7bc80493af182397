"""What solvers return: pytrees of arrays, so that they leave compiled functions and `vmap`."""

from typing import Any, NamedTuple

import numpy as np

from .._core.typing import Array
from ..interchange import to_numpy

CONVERGED, EXHAUSTED, STALLED, NOT_FINITE = 0, 1, 2, 3
RUNNING = -1

_SENTENCES = (
    "converged",
    "max_steps reached",
    "no further progress: rounding errors, or derivatives that do not belong to the function",
    "a value or a derivative is not finite",
)


def _said(reason: Any) -> str:
    codes = np.unique(np.asarray(to_numpy(reason)))
    return "; ".join([_SENTENCES[int(code)] for code in codes])


class Minimum(NamedTuple):
    """The result of `minimize` and `least_squares`.

    Attributes:
        x: The unknowns, in the structure of `x0`.
        value: The function there; half the sum of squares of `least_squares`.
        gradient_norm: The largest absolute value in the gradient.
        steps: How many steps were made.
        converged: Whether `gradient_norm` is within the tolerance.
        reason: Why it ended, as a number; `message` is the same in words.
    """

    x: Any
    value: Array
    gradient_norm: Array
    steps: Array
    converged: Array
    reason: Array

    @property
    def message(self) -> str:
        """Why it ended, in words; outside of compiled functions."""
        return _said(self.reason)


class Root(NamedTuple):
    """The result of `root`, `fixed_point` and of the linear solvers.

    Attributes:
        x: The unknowns, in the structure of `x0`.
        residual_norm: How far the equations are from holding: the largest absolute value, for
            linear equations the Euclidean length.
        steps: How many steps were made.
        converged: Whether `residual_norm` is within the tolerance.
        reason: Why it ended, as a number; `message` is the same in words.
    """

    x: Any
    residual_norm: Array
    steps: Array
    converged: Array
    reason: Array

    @property
    def message(self) -> str:
        """Why it ended, in words; outside of compiled functions."""
        return _said(self.reason)
