"""Whole steps of optimizers besides Adam, leaf by leaf: where hundreds of leaves go through one
operation after another, none is in the cache when the next one needs it.
"""

from typing import Any

import numpy as np

from ._blocks import Scratch, are_alike, as_number, places

Step = tuple[list[Any], tuple[list[Any], ...]] | None


def momentum_step(
    ws: list[Any], gs: list[Any], slots: Any, lr: Any, numbers: Any, reuse: bool
) -> Step:
    """m = decay * m + g; w - lr * m, or w - lr * (g + decay * m)."""
    (ms,), (decay, nesterov) = slots, numbers
    rate = as_number(lr)
    if rate is None or not are_alike(ws, gs, ms):
        return None
    scratch, update = Scratch((decay, rate)), _nesterov if nesterov else _momentum
    new_ws, new_ms = places(ws), places(ms, reuse)
    for arrays in zip(ws, gs, ms, new_ws, new_ms, strict=True):
        scratch.run(update, arrays)
    return new_ws, (new_ms,)


def _momentum(arrays: Any, room: Any, numbers: Any) -> None:
    (w, g, m, new_w, new_m), (decay, rate) = arrays, numbers
    np.multiply(m, decay, new_m)
    np.add(new_m, g, new_m)
    np.multiply(new_m, rate, room)
    np.subtract(w, room, new_w)


def _nesterov(arrays: Any, room: Any, numbers: Any) -> None:
    (w, g, m, new_w, new_m), (decay, rate) = arrays, numbers
    np.multiply(m, decay, new_m)
    np.add(new_m, g, new_m)
    np.multiply(new_m, decay, room)
    np.add(room, g, room)
    np.multiply(room, rate, room)
    np.subtract(w, room, new_w)


def rms_step(ws: list[Any], gs: list[Any], slots: Any, lr: Any, numbers: Any, reuse: bool) -> Step:
    """v = decay * v + (1 - decay) * g**2; w - lr * g / (sqrt(v) + epsilon)."""
    (vs,), (decay, epsilon) = slots, numbers
    rate = as_number(lr)
    if rate is None or not are_alike(ws, gs, vs):
        return None
    scratch = Scratch((decay, 1 - decay, epsilon, rate))
    new_ws, new_vs = places(ws), places(vs, reuse)
    for arrays in zip(ws, gs, vs, new_ws, new_vs, strict=True):
        scratch.run(_rms, arrays)
    return new_ws, (new_vs,)


def _rms(arrays: Any, room: Any, numbers: Any) -> None:
    (w, g, v, new_w, new_v), (decay, share, epsilon, rate) = arrays, numbers
    np.multiply(g, g, room)
    np.multiply(room, share, room)
    np.multiply(v, decay, new_v)
    np.add(new_v, room, new_v)
    np.sqrt(new_v, room)
    np.add(room, epsilon, room)
    np.divide(g, room, room)
    np.multiply(room, rate, room)
    np.subtract(w, room, new_w)


STEP_KERNELS = {"momentum": momentum_step, "rms": rms_step}
