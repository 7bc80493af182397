"""The learning rate of a run: what it is, and a factor that callbacks change while it lasts.

A compiled step has the rate of its optimizer built in. A factor that goes into it as an array, and
by which every step is multiplied, changes the rate of any optimizer without another compilation.
"""

from typing import Any

import numpy as np

from .._array.creation import asarray
from .._array.interchange import to_numpy
from .._core.container import Container

RATE = "rate"  # the name of the factor beside the loss scale


def with_rate(scale: Container, factor: float, backend: str, device: Any) -> Container:
    """The state of the loss scale with the factor of the learning rate."""
    value = asarray(np.float32(factor), backend=backend, device=device)
    return Container(**{**scale, RATE: value})


def rate_of(optimizer: Any, state: Any) -> float:
    """The learning rate of the next step; nan for optimizers without one that is a number."""
    rate: Any = getattr(optimizer, "lr", None)
    if callable(rate):
        step = state["step"] if hasattr(state, "keys") and "step" in state else None
        if step is None:
            return float("nan")
        rate = rate(int(to_numpy(step)))
    if hasattr(rate, "dtype"):
        rate = to_numpy(rate)
    try:
        return float(rate)
    except (TypeError, ValueError):
        return float("nan")
