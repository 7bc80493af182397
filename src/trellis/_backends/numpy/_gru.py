"""The GRU's recurrence as one entry on the tape.

In the backward pass, the factors of the gradients of the states are computed for all steps at once,
which leaves one matrix product and one multiplication for each step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _scipy
from ._fused import fused, is_plain
from ._tape import TracedArray

_KNOWN = (np.ndarray, TracedArray, type(None))


def gru_recurrence(a: Any, h: Any, kernel: Any, bias: Any) -> tuple[Any, Any] | None:
    """The last state and all states, from the inputs' share `a` (time, batch..., 3 * width).

    None if some arguments are not NumPy arrays.
    """
    args = (a, h, kernel, bias)
    if not all([type(arg) in _KNOWN for arg in args]):
        return None
    steps, width, batch = a.shape[0], h.shape[-1], h.shape[:-1]
    rows = int(np.prod(batch))
    args = (np.reshape(a, (steps, rows, 3 * width)), np.reshape(h, (rows, width)), kernel, bias)
    hs, last = _forward(*args)[0] if is_plain(args) else _traced(*args)
    return np.reshape(last, (*batch, width)), np.reshape(hs, (steps, *batch, width))


def _formula(a: Any, h: Any, kernel: Any, bias: Any) -> tuple[Any, Any]:
    width, hs = h.shape[-1], []
    for t in range(a.shape[0]):
        c = h @ kernel
        c = c if bias is None else c + bias
        gates = _scipy.special.expit(a[t, :, : 2 * width] + c[:, : 2 * width])
        new = np.tanh(a[t, :, 2 * width :] + gates[:, :width] * c[:, 2 * width :])
        h = new + gates[:, width:] * (h - new)
        hs.append(h)
    return np.stack(hs), h


def _forward(a: Any, h: Any, kernel: Any, bias: Any) -> tuple[tuple[Any, Any], Any]:
    steps, rows, width = a.shape[0], h.shape[0], h.shape[1]
    states = np.empty((steps + 1, rows, width), a.dtype)
    states[0] = h
    shares = np.empty((steps, rows, 3 * width), a.dtype)  # of the states
    gates, news = np.empty((steps, rows, 2 * width), a.dtype), np.empty_like(states[1:])
    for t in range(steps):
        share, gate, new, state = shares[t], gates[t], news[t], states[t + 1]
        np.matmul(states[t], kernel, out=share)
        if bias is not None:
            np.add(share, bias, out=share)
        np.add(a[t, :, : 2 * width], share[:, : 2 * width], out=gate)
        _scipy.special.expit(gate, out=gate)
        np.multiply(gate[:, :width], share[:, 2 * width :], out=new)
        np.add(new, a[t, :, 2 * width :], out=new)
        np.tanh(new, out=new)
        np.subtract(states[t], new, out=state)
        np.multiply(state, gate[:, width:], out=state)
        np.add(state, new, out=state)
    return (states[1:], states[-1].copy()), (states, shares, gates, news, kernel)


def _backward(gs: list[Any], kept: Any, places: list[int]) -> list[Any]:
    (from_hs, from_last), (states, shares, gates, news, kernel) = gs, kept
    steps, rows, width = news.shape
    reset, update = gates[..., :width], gates[..., width:]
    # The factors of the gradient of a state, for the three parts of the inputs' share.
    factors = np.empty((steps, rows, 3, width), news.dtype)
    into_new = (1 - update) * (1 - news * news)
    np.multiply(into_new, reset, out=factors[:, :, 2])
    np.multiply(factors[:, :, 2], shares[..., 2 * width :], out=factors[:, :, 0])
    factors[:, :, 0] *= 1 - reset
    np.subtract(states[:-1], news, out=factors[:, :, 1])
    factors[:, :, 1] *= update * (1 - update)
    back = np.ascontiguousarray(kernel.T)
    g = np.zeros((rows, width), news.dtype) if from_last is None else np.array(from_last)
    for t in range(steps - 1, -1, -1):
        if from_hs is not None:
            np.add(g, from_hs[t], out=g)
        # The factors become the gradients themselves.
        np.multiply(factors[t], g[:, None], out=factors[t])
        np.multiply(into_new[t], g, out=into_new[t])
        np.multiply(g, update[t], out=g)
        np.add(g, factors[t].reshape(rows, 3 * width) @ back, out=g)
    found: list[Any] = []
    for i in places:
        if i == 0:
            into = np.array(factors)
            into[:, :, 2] = into_new
            found.append(into.reshape(steps, rows, 3 * width))
        elif i == 1:
            found.append(g)
        else:
            flat = factors.reshape(steps * rows, 3 * width)
            before = states[:-1].reshape(steps * rows, width)
            found.append(before.T @ flat if i == 2 else np.add.reduce(flat, axis=0))
    return found


_traced = fused(_forward, _backward, _formula)
RECURRENCES: dict[str, Callable[..., Any]] = {"gru_update": gru_recurrence}
