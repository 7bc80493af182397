"""Adam's step, block by block."""

import math
from typing import Any

import numpy as np

from ._blocks import Scratch, are_alike, as_number, places


def fused_adam(
    ws: list[Any],
    gs: list[Any],
    ms: list[Any],
    vs: list[Any],
    step: Any,
    lr: Any,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float,
    *,
    reuse: bool = False,
) -> tuple[list[Any], list[Any], list[Any]] | None:
    """Adam with decoupled decay; None where arrays are traced, scalars, of half types or mixed.

    With `reuse`, the moments are overwritten.
    """
    t, rate = as_number(step), as_number(lr)
    # A rate as small as this would be lost in what follows, which divides by it.
    if t is None or rate is None or not 1e-30 < abs(rate) < math.inf:
        return None
    if not are_alike(ws, gs, ms, vs):
        return None
    rest = _one_minus_power(beta1, t)
    # w - rate * (m / rest) / (sqrt(v / c) + epsilon) = w - m / (sqrt(v) * slope + shift)
    slope = rest / math.sqrt(_one_minus_power(beta2, t)) / rate
    numbers = (1 - beta1, 1 - beta2, slope, epsilon * rest / rate, 1 - rate * weight_decay)
    scratch, update = Scratch(numbers), _decayed if weight_decay != 0 else _plain
    new = (places(ws), places(ms, reuse), places(vs, reuse))
    for arrays in zip(ws, gs, ms, vs, *new, strict=True):
        scratch.run(update, arrays)
    return new


def _plain(arrays: Any, room: Any, numbers: Any) -> None:
    w, g, m, v, new_w, new_m, new_v = arrays
    share1, share2, slope, shift, _ = numbers
    np.subtract(g, m, room)
    np.multiply(room, share1, room)
    np.add(m, room, new_m)
    np.multiply(g, g, room)
    np.subtract(room, v, room)
    np.multiply(room, share2, room)
    np.add(v, room, new_v)
    np.sqrt(new_v, room)
    np.multiply(room, slope, room)
    np.add(room, shift, room)
    np.divide(new_m, room, room)
    np.subtract(w, room, new_w)


def _decayed(arrays: Any, room: Any, numbers: Any) -> None:
    np.multiply(arrays[0], numbers[4], arrays[4])
    _plain((arrays[4], *arrays[1:]), room, numbers)


def _one_minus_power(beta: float, t: float) -> float:
    """1 - beta**t without the loss of digits near 1."""
    return 1.0 if beta == 0 else -math.expm1(t * math.log(beta))
