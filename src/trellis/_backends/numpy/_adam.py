"""Adam's step, block by block: what one block needs stays in the processor's cache."""

import math
from typing import Any

import numpy as np

_BLOCK = 1 << 14
_FLOATS = (np.dtype("float32"), np.dtype("float64"))


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
    if not _is_number(step) or not _is_number(lr):
        return None
    t, rate = float(step), float(lr)
    # A rate as small as this would be lost in what follows, which divides by it.
    if not 1e-30 < abs(rate) < math.inf:
        return None
    for leaf in zip(ws, gs, ms, vs, strict=True):
        if not _fits(*leaf):
            return None
    rest = _one_minus_power(beta1, t)
    # w - rate * (m / rest) / (sqrt(v / c) + epsilon) = w - m / (sqrt(v) * slope + shift)
    slope = rest / math.sqrt(_one_minus_power(beta2, t)) / rate
    numbers = (1 - beta1, 1 - beta2, slope, epsilon * rest / rate, 1 - rate * weight_decay)
    room = np.empty(2 * _BLOCK, "float32")
    new: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for w, g, m, v in zip(ws, gs, ms, vs, strict=True):
        targets = (np.empty_like(w), *((m, v) if reuse else (np.empty_like(m), np.empty_like(v))))
        _update((w, np.ascontiguousarray(g), m, v), targets, numbers, room.view(w.dtype))
        for column, target in zip(new, targets, strict=True):
            column.append(target)
    return new


def _update(arrays: Any, targets: Any, numbers: tuple[float, ...], room: Any) -> None:
    flat = [x.reshape(-1) for x in (*arrays, *targets)]
    size, block = flat[0].size, room.size
    if size <= block:
        _update_block(flat, room[:size], numbers)
        return
    for i in range(0, size, block):
        parts = [x[i : i + block] for x in flat]
        _update_block(parts, room[: parts[0].size], numbers)


def _update_block(arrays: list[Any], room: Any, numbers: tuple[float, ...]) -> None:
    w, g, m, v, new_w, new_m, new_v = arrays
    share1, share2, slope, shift, kept = numbers
    np.subtract(g, m, out=room)
    np.multiply(room, share1, out=room)
    np.add(m, room, out=new_m)
    np.multiply(g, g, out=room)
    np.subtract(room, v, out=room)
    np.multiply(room, share2, out=room)
    np.add(v, room, out=new_v)
    np.sqrt(new_v, out=room)
    np.multiply(room, slope, out=room)
    np.add(room, shift, out=room)
    np.divide(new_m, room, out=room)
    if kept == 1:
        np.subtract(w, room, out=new_w)
    else:
        np.multiply(w, kept, out=new_w)
        np.subtract(new_w, room, out=new_w)


def _one_minus_power(beta: float, t: float) -> float:
    """1 - beta**t without the loss of digits near 1."""
    return 1.0 if beta == 0 else -math.expm1(t * math.log(beta))


def _is_number(x: Any) -> bool:
    if isinstance(x, (int, float)):
        return True
    return (type(x) is np.ndarray and x.ndim == 0) or isinstance(x, np.generic)


def _fits(w: Any, g: Any, m: Any, v: Any) -> bool:
    dtype, shape = w.dtype, w.shape
    for x in (w, g, m, v):
        if type(x) is not np.ndarray or x.dtype != dtype or x.shape != shape:
            return False
    is_in_order = w.flags.c_contiguous and m.flags.c_contiguous and v.flags.c_contiguous
    return dtype in _FLOATS and is_in_order
