"""The learning rate of a run: what it is, and a factor that callbacks change while it lasts.

A compiled step has the rate of its optimizer built in. A factor that goes into it as an array, and
by which every step is multiplied, changes the rate of any optimizer without another compilation.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def lent(optimizer: Any) -> Iterator[None]:
    """The steps compiled inside are not used afterwards: the learning rate can be set then."""
    give_back = optimizer._lend() if hasattr(optimizer, "_lend") else None
    try:
        yield
    finally:
        if give_back is not None:
            give_back()


def rates_of(optimizer: Any, state: Any) -> dict[str, float]:
    """The learning rates of the next step that are numbers: one, named "", or one for each group,
    by its pattern."""
    parts = getattr(optimizer, "parts", None)
    if parts is None:
        found = {"": rate_of(optimizer, state)}
    else:
        rows = enumerate(parts.items())
        found = {pattern: rate_of(part, state[f"group{i}"]) for i, (pattern, part) in rows}
    return {name: rate for name, rate in found.items() if not math.isnan(rate)}


def rate_of(optimizer: Any, state: Any) -> float:
    """The learning rate of the next step, the largest of several groups; nan for optimizers without
    one that is a number."""
    if hasattr(optimizer, "parts"):
        return max(rates_of(optimizer, state).values(), default=math.nan)
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
