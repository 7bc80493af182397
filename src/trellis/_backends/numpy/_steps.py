"""Whole steps of optimizers besides Adam, leaf by leaf: where hundreds of leaves go through one
operation after another, none is in the cache when the next one needs it.
"""

from typing import Any

import numpy as np

from ._blocks import Blocks, are_alike, as_number, places

Step = tuple[list[Any], tuple[list[Any], ...]] | None


def momentum_step(
    ws: list[Any], gs: list[Any], slots: Any, lr: Any, numbers: Any, reuse: bool
) -> Step:
    """m = decay * m + g; w - lr * m, or w - lr * (g + decay * m)."""
    (ms,), (decay, nesterov) = slots, numbers
    rate = as_number(lr)
    if rate is None or not are_alike(ws, gs, ms):
        return None
    blocks = Blocks(_nesterov if nesterov else _momentum, (decay, rate))
    new_ws, new_ms = places(ws), places(ms, reuse)
    for arrays in zip(ws, gs, ms, new_ws, new_ms, strict=True):
        blocks.run(arrays)
    return new_ws, (new_ms,)


def _momentum(arrays: Any, numbers: Any) -> None:
    (w, g, m, new_w, new_m), (decay, rate) = arrays, numbers
    np.multiply(m, decay, new_m)
    np.add(new_m, g, new_m)
    np.multiply(new_m, rate, new_w)
    np.subtract(w, new_w, new_w)


def _nesterov(arrays: Any, numbers: Any) -> None:
    (w, g, m, new_w, new_m), (decay, rate) = arrays, numbers
    np.multiply(m, decay, new_m)
    np.add(new_m, g, new_m)
    np.multiply(new_m, decay, new_w)
    np.add(new_w, g, new_w)
    np.multiply(new_w, rate, new_w)
    np.subtract(w, new_w, new_w)


def rms_step(ws: list[Any], gs: list[Any], slots: Any, lr: Any, numbers: Any, reuse: bool) -> Step:
    """v = decay * v + (1 - decay) * g**2; w - lr * g / (sqrt(v) + epsilon)."""
    (vs,), (decay, epsilon) = slots, numbers
    rate = as_number(lr)
    if rate is None or not are_alike(ws, gs, vs):
        return None
    blocks = Blocks(_rms, (decay, 1 - decay, epsilon, rate))
    new_ws, new_vs = places(ws), places(vs, reuse)
    for arrays in zip(ws, gs, vs, new_ws, new_vs, strict=True):
        blocks.run(arrays)
    return new_ws, (new_vs,)


def _rms(arrays: Any, numbers: Any) -> None:
    (w, g, v, new_w, new_v), (decay, share, epsilon, rate) = arrays, numbers
    np.multiply(g, g, new_w)
    np.multiply(new_w, share, new_w)
    np.multiply(v, decay, new_v)
    np.add(new_v, new_w, new_v)
    np.sqrt(new_v, new_w)
    np.add(new_w, epsilon, new_w)
    np.divide(g, new_w, new_w)
    np.multiply(new_w, rate, new_w)
    np.subtract(w, new_w, new_w)


STEP_KERNELS = {"momentum": momentum_step, "rms": rms_step}
