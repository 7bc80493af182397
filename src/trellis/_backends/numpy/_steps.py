"""Whole optimizer steps, leaf by leaf. If instead each operation ran over all of hundreds of
leaves, no leaf would still be in the cache at the next operation.

The last of an update's numbers is the learning rate. Intermediate results are kept in the memory of
the new variable.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..shared.foreach import Step, StepKernel
from ._adam import adam
from ._blocks import are_alike, as_number, stepped


def _step(
    update: Callable[[Any, Any], None],
    ws: list[Any],
    gs: list[Any],
    slots: tuple[list[Any], ...],
    step: Any,
    rate: Any,
    numbers: tuple[float, ...],
    reuse: bool,
) -> Step:
    """The new variables and the new state; None if the transformations must compute them."""
    rate = as_number(rate)
    if rate is None or not are_alike(ws, gs, *slots):
        return None
    return stepped(update, (*numbers, rate), ws, gs, slots, reuse)


def _momentum(arrays: Any, numbers: Any) -> None:
    """m = decay * m + g; w - lr * m."""
    (w, g, m, new_w, new_m), (decay, rate) = arrays, numbers
    np.multiply(m, decay, new_m)
    np.add(new_m, g, new_m)
    np.multiply(new_m, rate, new_w)
    np.subtract(w, new_w, new_w)


def _nesterov(arrays: Any, numbers: Any) -> None:
    """m = decay * m + g; w - lr * (g + decay * m)."""
    (w, g, m, new_w, new_m), (decay, rate) = arrays, numbers
    np.multiply(m, decay, new_m)
    np.add(new_m, g, new_m)
    np.multiply(new_m, decay, new_w)
    np.add(new_w, g, new_w)
    np.multiply(new_w, rate, new_w)
    np.subtract(w, new_w, new_w)


def _rms(arrays: Any, numbers: Any) -> None:
    """v = decay * v + (1 - decay) * g**2; w - lr * g / (sqrt(v) + epsilon)."""
    (w, g, v, new_w, new_v), (decay, share, epsilon, rate) = arrays, numbers
    np.multiply(g, g, new_w)
    np.multiply(new_w, share, new_w)
    np.multiply(v, decay, new_v)
    np.add(new_v, new_w, new_v)
    _over_root(w, g, new_v, new_w, epsilon, rate)


def _adagrad(arrays: Any, numbers: Any) -> None:
    """s = s + g**2; w - lr * g / (sqrt(s) + epsilon)."""
    (w, g, s, new_w, new_s), (epsilon, rate) = arrays, numbers
    np.multiply(g, g, new_w)
    np.add(s, new_w, new_s)
    _over_root(w, g, new_s, new_w, epsilon, rate)


def _over_root(w: Any, g: Any, v: Any, new_w: Any, epsilon: Any, rate: Any) -> None:
    np.sqrt(v, new_w)
    np.add(new_w, epsilon, new_w)
    np.divide(g, new_w, new_w)
    np.multiply(new_w, rate, new_w)
    np.subtract(w, new_w, new_w)


def _adamax(arrays: Any, numbers: Any) -> None:
    """m = m + (1 - beta1) * (g - m); u = max(beta2 * u, abs(g) + epsilon); w - lr * m / u."""
    (w, g, m, u, new_w, new_m, new_u), (share, beta2, epsilon, rate) = arrays, numbers
    np.subtract(g, m, new_w)
    np.multiply(new_w, share, new_w)
    np.add(m, new_w, new_m)
    np.absolute(g, new_w)
    np.add(new_w, epsilon, new_w)
    np.multiply(u, beta2, new_u)
    np.maximum(new_u, new_w, out=new_u)  # NumPy needs the keyword here
    np.divide(new_m, new_u, new_w)
    np.multiply(new_w, rate, new_w)
    np.subtract(w, new_w, new_w)


STEP_KERNELS: dict[str, StepKernel] = {
    "adam": adam,
    "momentum": partial(_step, _momentum),
    "nesterov": partial(_step, _nesterov),
    "rms": partial(_step, _rms),
    "adagrad": partial(_step, _adagrad),
    "adamax": partial(_step, _adamax),
}
