"""Recurrent layers as ONNX and Keras describe them: gates with chosen activations, both
directions, sequences of several lengths.

All arrays are time first: x (T, N, I), weights (directions, gates * H, I) and
(directions, gates * H, H), biases (directions, 2 * gates * H), states (directions, N, H); results
(T, directions, N, H) and the last states.
"""

from collections.abc import Callable, Sequence
from typing import Any

import trellis as t
from trellis import functional as F

from ..._core.dispatch import xp_of
from ..._core.errors import ArgumentError
from ..._core.typing import Array

Names = Sequence[str]


def rnn(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    h: Array | None = None,
    /,
    *,
    direction: str = "forward",
    activations: Names = ("Tanh",),
    clip: float | None = None,
) -> tuple[Any, Any]:
    """A plain recurrent layer: h = activation(x W + h R + b)."""

    def step(
        gates: Array, state: tuple[Any], r: Array, rb: Array, acts: Sequence[Any]
    ) -> tuple[Any]:
        y = gates + t.matmul(state[0], t.matrix_transpose(r)) + rb
        return (acts[0](_clipped(y, clip)),)

    y, last = _layer(step, 1, x, w, r, b, lengths, (h,), direction, activations, 1)
    return y, last[0]


def gru(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    h: Array | None = None,
    /,
    *,
    direction: str = "forward",
    activations: Names = ("Sigmoid", "Tanh"),
    clip: float | None = None,
    reset_after: bool = False,
) -> tuple[Any, Any]:
    """A gated recurrent layer with gates in the order update, reset, new; with `reset_after` the
    reset gate scales what comes from the state after its product (torch, cuDNN)."""

    def step(
        gates: Array, state: tuple[Any], r: Array, rb: Array, acts: Sequence[Any]
    ) -> tuple[Any]:
        h = state[0]
        n = h.shape[-1]
        z_r = gates[:, : 2 * n] + t.matmul(h, t.matrix_transpose(r[: 2 * n])) + rb[: 2 * n]
        z_r = acts[0](_clipped(z_r, clip))
        z, reset = z_r[:, :n], z_r[:, n:]
        own = t.matrix_transpose(r[2 * n :])
        if reset_after:
            inner = reset * (t.matmul(h, own) + rb[2 * n :])
        else:
            inner = t.matmul(reset * h, own) + rb[2 * n :]
        new = acts[1](_clipped(gates[:, 2 * n :] + inner, clip))
        return ((1 - z) * new + z * h,)

    y, last = _layer(step, 3, x, w, r, b, lengths, (h,), direction, activations, 2)
    return y, last[0]


def lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    h: Array | None = None,
    c: Array | None = None,
    p: Array | None = None,
    /,
    *,
    direction: str = "forward",
    activations: Names = ("Sigmoid", "Tanh", "Tanh"),
    clip: float | None = None,
    coupled: bool = False,
) -> tuple[Any, Any, Any]:
    """A layer of long short-term memory with gates in the order input, output, forget, cell.

    `p` (directions, 3 * H) lets the gates see the cell; with `coupled` the forget gate is one
    minus the input gate.
    """

    def step(gates: Any, state: Any, r: Any, rb: Any, acts: Any, p: Any = None) -> Any:
        h, c = state
        n = h.shape[-1]
        y = gates + t.matmul(h, t.matrix_transpose(r)) + rb
        i, o, f, new = y[:, :n], y[:, n : 2 * n], y[:, 2 * n : 3 * n], y[:, 3 * n :]
        if p is not None:
            i, f = i + p[:n] * c, f + p[2 * n :] * c
        i = acts[0](_clipped(i, clip))
        f = 1 - i if coupled else acts[0](_clipped(f, clip))
        c = f * c + i * acts[1](_clipped(new, clip))
        o = o if p is None else o + p[n : 2 * n] * c
        return acts[0](_clipped(o, clip)) * acts[2](c), c

    y, last = _layer(step, 4, x, w, r, b, lengths, (h, c), direction, activations, 3, p)
    return y, last[0], last[1]


def activation(name: str, alpha: float | None = None, beta: float | None = None) -> Callable:
    """An activation by its name in ONNX."""
    a = {"LeakyRelu": 0.01, "Elu": 1.0, "HardSigmoid": 0.2, "ThresholdedRelu": 1.0}.get(name, 1.0)
    a = a if alpha is None else alpha
    s = 0.5 if beta is None else beta
    table: dict[str, Callable] = {
        "Sigmoid": F.sigmoid,
        "Tanh": t.tanh,
        "Relu": F.relu,
        "Softsign": F.softsign,
        "Softplus": F.softplus,
        "Elu": lambda x: F.elu(x, alpha=a),
        "LeakyRelu": lambda x: F.leaky_relu(x, negative_slope=a),
        "HardSigmoid": lambda x: t.clip(x * a + s, 0.0, 1.0),
        "ThresholdedRelu": lambda x: t.where(x > a, x, 0.0),
        "Affine": lambda x: x * a + (0.0 if beta is None else beta),
        "ScaledTanh": lambda x: t.tanh(x * (1.0 if beta is None else beta)) * a,
    }
    if name not in table:
        raise ArgumentError(f"Recurrent layers know the activations {list(table)}, got {name!r}.")
    return table[name]


def _layer(
    step: Callable,
    gates: int,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    lengths: Array | None,
    states: tuple[Any, ...],
    direction: str,
    activations: Names,
    per_direction: int,
    p: Array | None = None,
) -> tuple[Any, list[Any]]:
    xp = xp_of(x)
    count = 2 if direction == "bidirectional" else 1
    hidden = r.shape[-1]
    batch = x.shape[1]
    outs, lasts = [], []
    for d in range(count):
        acts = [_named(n) for n in activations[d * per_direction : (d + 1) * per_direction]]
        backwards = direction == "reverse" or d == 1
        given = [
            xp.zeros((batch, hidden), dtype=x.dtype, device=xp.device(x)) if s is None else s[d]
            for s in states
        ]
        xs = _reversed(x, lengths) if backwards else x
        # All inputs at once; only the product with the state waits for the step before.
        seen = t.matmul(xs, t.matrix_transpose(w[d]))
        rb: Any = 0.0
        if b is not None:
            seen = seen + b[d, : gates * hidden]
            rb = b[d, gates * hidden :]
        else:
            rb = xp.zeros((gates * hidden,), dtype=x.dtype, device=xp.device(x))
        more = () if p is None else (p[d],)
        y, last = _scanned(step, seen, given, r[d], rb, acts, more, lengths)
        outs.append(_reversed(y, lengths) if backwards else y)
        lasts.append(last)
    y = t.stack(outs, axis=1)
    return y, [t.stack([last[i] for last in lasts], axis=0) for i in range(len(states))]


def _scanned(step: Callable, seen: Any, given: list[Any], r: Any, rb: Any, acts: Any, more: Any,
             lengths: Array | None) -> tuple[Any, Any]:  # fmt: skip
    xp = xp_of(seen)
    if lengths is None:

        def plain(state: Any, gates: Any) -> Any:
            state = step(gates, state, r, rb, acts, *more)
            return state, state[0]

        last, y = t.scan(plain, tuple(given), seen)
        return y, last
    times = xp.arange(seen.shape[0], dtype=lengths.dtype, device=xp.device(seen))

    def masked(state: Any, item: Any) -> Any:
        gates, time = item
        new = step(gates, state, r, rb, acts, *more)
        goes_on = t.expand_dims(time < lengths, -1)
        y = t.where(goes_on, new[0], 0.0)
        return tuple([t.where(goes_on, a, s) for a, s in zip(new, state)]), y

    last, y = t.scan(masked, tuple(given), (seen, times))
    return y, last


def _reversed(x: Array, lengths: Array | None) -> Any:
    if lengths is None:
        return t.flip(x, axis=0)
    from .rearranging import reversed_starts

    return reversed_starts(x, lengths, batch_axis=1, time_axis=0)


def _named(name: Any) -> Callable:
    return activation(name) if isinstance(name, str) else activation(*name)


def _clipped(x: Array, clip: float | None) -> Any:
    return x if clip is None else t.clip(x, -clip, clip)
