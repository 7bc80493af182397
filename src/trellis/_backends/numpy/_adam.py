"""Adam's step, block by block."""

import math
from typing import Any

import numpy as np

from ..shared.foreach import Step
from ._blocks import are_alike, as_number, stepped


def adam(
    ws: list[Any],
    gs: list[Any],
    slots: tuple[list[Any], ...],
    step: Any,
    rate: Any,
    numbers: tuple[float, ...],
    reuse: bool,
) -> Step:
    """Adam with decoupled decay; None where arrays are traced, scalars, of half types or mixed.

    With `reuse`, the moments are overwritten.
    """
    beta1, beta2, epsilon, weight_decay = numbers
    t, rate = as_number(step), as_number(rate)
    # The formula below divides by the rate: with one as small as this it would lose all digits.
    if t is None or rate is None or not 1e-30 < abs(rate) < math.inf:
        return None
    if not are_alike(ws, gs, *slots):
        return None
    rest, kept = _one_minus_power(beta1, t), 1 - rate * weight_decay
    if (
        kept < 0.5
    ):  # the formula below divides by the rest of the weight, which must not be this small
        return None
    # w - rate * (m / rest) / (sqrt(v / c) + epsilon) = w - m / (sqrt(v) * slope + shift)
    # and decay comes last, as a factor: kept * w - d = kept * (w - d / kept).
    slope = rest / math.sqrt(_one_minus_power(beta2, t)) / rate * kept
    shift = epsilon * rest / rate * kept
    update = _plain if kept == 1 else _decayed
    given = (1 - beta1, 1 - beta2, slope, shift, kept)
    return stepped(update, given, ws, gs, slots, reuse)


def _plain(arrays: Any, numbers: Any) -> None:
    w, g, m, v, new_w, new_m, new_v = arrays
    share1, share2, slope, shift, _ = numbers
    np.subtract(g, m, new_w)
    np.multiply(new_w, share1, new_w)
    np.add(m, new_w, new_m)
    np.multiply(g, g, new_w)
    np.subtract(new_w, v, new_w)
    np.multiply(new_w, share2, new_w)
    np.add(v, new_w, new_v)
    np.sqrt(new_v, new_w)
    np.multiply(new_w, slope, new_w)
    np.add(new_w, shift, new_w)
    np.divide(new_m, new_w, new_w)
    np.subtract(w, new_w, new_w)


def _decayed(arrays: Any, numbers: Any) -> None:
    _plain(arrays, numbers)
    np.multiply(arrays[4], numbers[4], arrays[4])


def _one_minus_power(beta: float, t: float) -> float:
    """1 - beta**t without cancellation for beta near 1."""
    return 1.0 if beta == 0 else -math.expm1(t * math.log(beta))
